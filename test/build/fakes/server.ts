/**
 * A fake upstream server with routes and injectable faults.
 *
 * A route returns body, headers and status; the server adds ETag and Last-Modified and handles conditional requests. A
 * fault replaces or changes the responses of matching requests.
 */
import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { listen } from '../../listen.ts';

export interface FakeResponse {
  status?: number;
  headers?: Record<string, string>;
  body: string | Uint8Array;
}

/** Responds to a request, or returns null for another path. */
export type Route = (url: URL) => FakeResponse | null | Promise<FakeResponse | null>;

export interface Fault {
  /** Matched against path and query. */
  on: RegExp;
  /** How many requests it affects. Default: all. */
  times?: number;
  /**
   * `cut` sends half of the body and closes the connection; `shorten` sends half with a matching Content-Length; `loop`
   * redirects to itself. Anything else replaces the response.
   */
  do: 'cut' | 'shorten' | 'loop' | FakeResponse | ((answer: FakeResponse) => FakeResponse);
}

export interface FakeUpstream extends AsyncDisposable {
  /** Ends in `/`. */
  url: string;
  /** Path and query of every request, in order. */
  requests: string[];
  /** Injects a fault until the returned function is called. */
  fail(fault: Fault): () => void;
  stop(): Promise<void>;
}

const LAST_MODIFIED = 'Sat, 01 Nov 2025 00:00:00 GMT';

function send(request: IncomingMessage, response: ServerResponse, answer: FakeResponse, cut: boolean): void {
  const body = Buffer.from(answer.body);
  const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`;
  const headers = { etag, 'last-modified': LAST_MODIFIED, ...answer.headers };
  const status = answer.status ?? 200;
  if (status === 200 && request.headers['if-none-match'] === etag) {
    response.writeHead(304, headers).end();
    return;
  }
  response.writeHead(status, { 'content-length': body.length, ...headers });
  if (!cut) response.end(body);
  else response.write(body.subarray(0, body.length / 2), () => response.destroy());
}

/** Starts a server that tries the routes in order. */
export async function startFakeUpstream(routes: readonly Route[]): Promise<FakeUpstream> {
  const requests: string[] = [];
  const faults: { fault: Fault; left: number }[] = [];

  function takeFault(path: string): Fault['do'] | null {
    const found = faults.find(({ fault, left }) => left > 0 && fault.on.test(path));
    if (!found) return null;
    found.left -= 1;
    return found.fault.do;
  }

  async function answerTo(url: URL): Promise<FakeResponse> {
    for (const route of routes) {
      const answer = await route(url);
      if (answer) return answer;
    }
    return { status: 404, headers: { 'content-type': 'text/plain' }, body: 'not found' };
  }

  const server = createServer((request, response) => {
    const path = request.url ?? '/';
    requests.push(path);
    const effect = takeFault(path);
    if (effect === 'loop') return void response.writeHead(302, { location: path }).end();
    answerTo(new URL(path, 'http://upstream.invalid')).then(
      (answer) => {
        if (typeof effect === 'function') send(request, response, effect(answer), false);
        else if (effect === 'shorten') {
          const body = Buffer.from(answer.body);
          send(request, response, { ...answer, body: body.subarray(0, body.length / 2) }, false);
        } else if (effect === null || effect === 'cut') send(request, response, answer, effect === 'cut');
        else send(request, response, effect, false);
      },
      (error: unknown) => send(request, response, { status: 500, body: String(error) }, false),
    );
  });
  const listening = await listen(server);
  return {
    ...listening,
    url: `${listening.url}/`,
    requests,
    fail(fault) {
      const laid = { fault, left: fault.times ?? Number.POSITIVE_INFINITY };
      faults.push(laid);
      return () => void faults.splice(faults.indexOf(laid), 1);
    },
  };
}

export const json = (value: unknown, headers: Record<string, string> = {}): FakeResponse => ({
  headers: { 'content-type': 'application/json; charset=utf-8', ...headers },
  body: JSON.stringify(value),
});
