/** Plain requests for the bench: the text the load generator sends, and one answer read whole and undecoded. */
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';

export interface Call {
  path: string;
  headers?: Record<string, string>;
  /** Each request asks for a URL that no other has asked for: it bears a parameter that nobody knows. The path has others. */
  isNewEachTime?: boolean;
}

export interface Answer {
  status: number;
  /** What describes the body and the caching; nothing that belongs to one connection or one call. */
  headers: Record<string, string>;
  body: Buffer;
}

const OF_ONE_CONNECTION = new Set(['date', 'connection', 'keep-alive', 'transfer-encoding']);

/** The request as it goes over the wire. */
export function requestText({ path, headers = {} }: Call): string {
  const lines = Object.entries({ host: '127.0.0.1', ...headers }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  );
  return `GET ${path} HTTP/1.1\r\n${lines.join('')}\r\n`;
}

/** More than a gateway remembers, so that the first is new again when all were sent. */
const NEW_URLS = 50_000;
let newUrls = 0;

/** What a load generator sends in turn for one call. */
export function requestTexts(call: Call): string[] {
  if (!call.isNewEachTime) return [requestText(call)];
  return Array.from({ length: NEW_URLS }, () =>
    requestText({ ...call, path: `${call.path}&new=${newUrls++}` }),
  );
}

export async function fetchWhole(port: number, { path, headers = {} }: Call): Promise<Answer> {
  const sent = request({ port, host: '127.0.0.1', path, headers, agent: false }).end();
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
