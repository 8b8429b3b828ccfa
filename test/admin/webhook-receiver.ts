/** An HTTP server that receives webhooks. It checks signatures by the definition of Standard Webhooks. */
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

export interface ReceivedWebhook {
  id: string;
  isSigned: boolean;
  body: { type: string; timestamp: string; data: Record<string, unknown> };
}

/** @param key the secret behind `whsec_`, decoded */
export async function startWebhookReceiver(key: Buffer) {
  const received: ReceivedWebhook[] = [];
  const state = { status: 204 };
  const server = createServer(async (request, response) => {
    const { 'webhook-id': id, 'webhook-timestamp': at, 'webhook-signature': signature } = request.headers;
    const body = await text(request);
    const expected = `v1,${createHmac('sha256', key).update(`${id}.${at}.${body}`).digest('base64')}`;
    if (state.status === 204)
      received.push({ id: String(id), isSigned: signature === expected, body: JSON.parse(body) });
    response.writeHead(state.status).end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    received,
    state,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/alerts?token=secret-part`,
    stop: () => server.close(),
  };
}
