/** An HTTP server that records the webhooks it gets and answers as a test decides. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { Webhook } from 'standardwebhooks';
import { listen } from '../../../listen.ts';

export interface ReceivedWebhook {
  path: string;
  headers: Record<string, string>;
  body: string;
  id: string;
  payload: { type: string; timestamp: string; data: Record<string, unknown> };
}

export interface Receiver extends AsyncDisposable {
  url: string;
  received: ReceivedWebhook[];
  at(path: string): ReceivedWebhook[];
  /** How it answers; 200 by default. */
  respond: (received: ReceivedWebhook, response: ServerResponse) => void;
  stop(): Promise<void>;
}

export async function startReceiver(): Promise<Receiver> {
  const server = createServer(async (request, response) => {
    const webhook = await read(request);
    receiver.received.push(webhook);
    receiver.respond(webhook, response);
  });
  const listening = await listen(server);
  const receiver: Receiver = {
    ...listening,
    received: [],
    at: (path) => receiver.received.filter((webhook) => webhook.path === path),
    respond: (_, response) => response.end('thank you'),
  };
  return receiver;
}

async function read(request: IncomingMessage): Promise<ReceivedWebhook> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part);
  const body = Buffer.concat(parts).toString();
  const headers = request.headers as Record<string, string>;
  const id = headers['webhook-id'] ?? '';
  return { path: request.url ?? '', headers, body, id, payload: JSON.parse(body) };
}

/** Whether the official library accepts a webhook with a secret. */
export function isSignedWith(secret: string, { body, headers }: ReceivedWebhook): boolean {
  try {
    new Webhook(secret).verify(body, headers);
    return true;
  } catch {
    return false;
  }
}

export const answers =
  (status: number, text = '') =>
  (_: ReceivedWebhook, response: ServerResponse): void => {
    response.writeHead(status, { location: '/redirected' }).end(text);
  };
