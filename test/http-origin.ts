/** A plain web server over a directory, which can fail in the ways that object storage does. */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

/** Answers instead of the server. @param content what the server would send; null for 404. */
export type Fault = (response: ServerResponse, content: Buffer | null) => void;

export class HttpOrigin {
  readonly #server: Server;
  readonly #directory: string;
  /** Paths that were asked for, in order, with the status of the answer. */
  readonly requests: { path: string; status: number }[] = [];
  /** Decides by path who answers; undefined for the server itself. */
  fault: (path: string) => Fault | undefined = () => undefined;
  /** Asked for with every request when set. */
  token: string | null = null;

  private constructor(directory: string) {
    this.#directory = directory;
    this.#server = createServer((request, response) => void this.#answer(request, response));
  }

  /** @param port a free one by default */
  static async start(directory: string, port = 0): Promise<HttpOrigin> {
    const origin = new HttpOrigin(directory);
    origin.#server.listen(port, '127.0.0.1');
    await once(origin.#server, 'listening');
    return origin;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  async stop(): Promise<void> {
    if (!this.#server.listening) return;
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, 'close');
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
