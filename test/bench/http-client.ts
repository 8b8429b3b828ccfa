/** Requests of the bench: texts for the load generator, and single undecoded responses. */
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';

export interface Call {
  path: string;
  headers?: Record<string, string>;
  /** The body of a POST. */
  body?: string;
}

export interface Answer {
  status: number;
  /** Without headers that belong to a connection or a single call. */
  headers: Record<string, string>;
  body: Buffer;
}

const OF_ONE_CONNECTION = new Set(['date', 'connection', 'keep-alive', 'transfer-encoding']);

const methodOf = (body: string | undefined): string => (body === undefined ? 'GET' : 'POST');

/** The complete request text. */
export function requestText({ path, headers = {}, body }: Call): string {
  const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
  const lines = Object.entries({ host: '127.0.0.1', ...headers, ...length }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  );
  return `${methodOf(body)} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body ?? ''}`;
}

export async function fetchWhole(
  port: number,
  { path, headers = {}, body: sentBody }: Call,
): Promise<Answer> {
  const method = methodOf(sentBody);
  const sent = request({ port, host: '127.0.0.1', path, method, headers, agent: false }).end(sentBody);
  const [message]: [IncomingMessage] = (await once(sent, 'response')) as [IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk);
  const body = Buffer.concat(chunks);
  const kept = Object.entries(message.headers).flatMap(([name, value]) =>
    OF_ONE_CONNECTION.has(name) || value === undefined ? [] : [[name, String(value)]],
  );
  const status = message.statusCode ?? 0;
  const length = status === 304 ? {} : { 'content-length': String(body.length) };
  return { status, headers: { ...Object.fromEntries(kept), ...length }, body };
}
