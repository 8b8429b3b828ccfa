/** A plain web server over a directory, which can fail in the ways that object storage does. */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { listen } from './listen.ts';

/** Answers instead of the server. @param content what the server would send; null for 404. */
export type Fault = (response: ServerResponse, content: Buffer | null) => void;

export class HttpOrigin {
  declare readonly port: number;
  declare readonly url: string;
  declare readonly stop: () => Promise<void>;
  readonly #directory: string;
  /** Paths that were asked for, in order, with the status of the answer. */
  readonly requests: { path: string; status: number }[] = [];
  /** Decides by path who answers; undefined for the server itself. */
  fault: (path: string) => Fault | undefined = () => undefined;
  /** Asked for with every request when set. */
  token: string | null = null;

  private constructor(directory: string) {
    this.#directory = directory;
  }

  /** @param port a free one by default */
  static async start(directory: string, port = 0): Promise<HttpOrigin> {
    const origin = new HttpOrigin(directory);
    const server = createServer((request, response) => void origin.#answer(request, response));
    return Object.assign(origin, await listen(server, port));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = (request.url ?? '').slice(1);
    response.once('close', () => this.requests.push({ path, status: response.statusCode }));
    if (this.token !== null && request.headers.authorization !== `Bearer ${this.token}`) {
      response.writeHead(403).end();
      return;
    }
    const content = await readFile(join(this.#directory, path)).catch(() => null);
    const fault = this.fault(path);
    if (fault) return fault(response, content);
    if (content === null) {
      response.writeHead(404).end();
      return;
    }
    const etag = `"${createHash('md5').update(content).digest('hex')}"`;
    if (request.headers['if-none-match'] === etag) response.writeHead(304, { etag }).end();
    else response.writeHead(200, { etag, 'content-length': content.length }).end(content);
  }
}

/** Closes the connection halfway through the body. */
export const cutInTheMiddle: Fault = (response, content) => {
  const bytes = content ?? Buffer.from('ab');
  response.writeHead(200, { 'content-length': bytes.length });
  response.write(bytes.subarray(0, Math.floor(bytes.length / 2)), () => response.destroy());
};

export const send =
  (content: string | Buffer, headers: Record<string, string> = {}): Fault =>
  (response) =>
    void response.writeHead(200, headers).end(content);

export const sendStatus =
  (status: number, headers: Record<string, string> = {}): Fault =>
  (response) =>
    void response.writeHead(status, headers).end();
