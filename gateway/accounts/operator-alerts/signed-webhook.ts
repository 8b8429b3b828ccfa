/** Posts an event as Standard Webhooks defines it: three headers, the body signed with HMAC-SHA-256. */
import { createHmac } from 'node:crypto';

const TIMEOUT_MS = 15_000;
const SECRET_PREFIX = 'whsec_';

export interface SignedEvent {
  /** The same each time that the event is sent. */
  id: string;
  body: string;
  now_ms: number;
}

/** @throws {Error} unless the receiver answers 2xx within 15 s. Follows no redirect. */
export async function postSigned(
  { url, secret }: { url: string; secret: string },
  { id, body, now_ms }: SignedEvent,
): Promise<void> {
  const timestamp = String(Math.floor(now_ms / 1_000));
  const key = Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64');
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64');
  const response = await fetch(url, {
    method: 'POST',
    redirect: 'manual',
    signal: AbortSignal.timeout(TIMEOUT_MS),
    headers: {
      'content-type': 'application/json',
      'webhook-id': id,
      'webhook-timestamp': timestamp,
      'webhook-signature': `v1,${signature}`,
    },
    body,
  });
  await response.body?.cancel();
  if (!response.ok) throw new Error(`the webhook answered ${response.status}`);
}
