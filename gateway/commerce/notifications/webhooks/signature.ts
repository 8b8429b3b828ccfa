/** Secrets and signatures of webhooks, after the Standard Webhooks specification: HMAC-SHA-256 over id, time and body. */
import { createHmac } from 'node:crypto';
import type { RandomBytes } from '../../../api/metering/metering.ts';

const PREFIX = 'whsec_';
const SECRET_BYTES = 32;

export const newSecret = (random: RandomBytes): string =>
  PREFIX + Buffer.from(random(SECRET_BYTES)).toString('base64');

export interface SignedMessage {
  /** Without a full stop, which separates the signed parts. */
  message_id: string;
  /** Unix seconds. */
  sent_at_s: number;
  body: string;
}

/** The headers of a message, with one signature for each secret that is valid. */
export function signedHeaders(
  { message_id, sent_at_s, body }: SignedMessage,
  secrets: readonly string[],
): Record<string, string> {
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(PREFIX.length), 'base64');
    return `v1,${createHmac('sha256', key).update(`${message_id}.${sent_at_s}.${body}`).digest('base64')}`;
  });
  return {
    'webhook-id': message_id,
    'webhook-timestamp': String(sent_at_s),
    'webhook-signature': signatures.join(' '),
  };
}
