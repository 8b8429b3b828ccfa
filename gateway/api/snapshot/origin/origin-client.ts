/**
 * Reads files of an origin over HTTP: object storage or a web server.
 *
 * Every read is bounded in size and time. Redirects are refused, and so are encoded bodies: objects are compared by hash.
 */
import { Agent, type Dispatcher } from 'undici';

const CONNECT_TIMEOUT_MS = 10_000;
const CONNECTIONS = 8;

export interface OriginTimeouts {
  /** Without a byte. */
  idleMs: number;
  /** A body with a lower throughput is given up once `graceMs` are over. */
  slowestBytesPerS: number;
  graceMs: number;
}
const TIMEOUTS: OriginTimeouts = { idleMs: 15_000, slowestBytesPerS: 50_000, graceMs: 30_000 };

/** The origin does not answer as it should, or with something else than was published. The message is a sentence. */
export class OriginError extends Error {
  override name = 'OriginError';
  /** Whether the origin has no such file. Object storage may answer 403 for one to who cannot list its files. */
  readonly isAbsent: boolean;
  /** Whether the origin is not reached, breaks off or says that it is not there. */
  readonly isAway: boolean;

  constructor(
    message: string,
    { status = 0, isAway = false, ...options }: ErrorOptions & { status?: number; isAway?: boolean } = {},
  ) {
    super(message, options);
    this.isAbsent = status === 404 || status === 403;
    this.isAway = isAway || status >= 500;
  }
}

/** The origin that would have a file is not reached, which whoever follows it says once. */
export const isAway = (error: unknown): boolean => error instanceof OriginError && error.isAway;

export interface OriginOptions {
  /** Without a slash at its end. */
  url: string;
  /** Sent as `Authorization: Bearer`. */
  token?: string | undefined;
  timeouts?: OriginTimeouts;
}

/** Request headers that make the next read conditional. */
export type Validators = Readonly<Record<string, string>>;

export class OriginClient {
  readonly #base: URL;
  readonly #headers: Record<string, string>;
  readonly #timeouts: OriginTimeouts;
  readonly #agent: Agent;
  readonly #closing = new AbortController();

  constructor({ url, token, timeouts = TIMEOUTS }: OriginOptions) {
    this.#base = new URL(`${url}/`);
    this.#timeouts = timeouts;
    this.#agent = new Agent({
      connect: { timeout: CONNECT_TIMEOUT_MS },
      connections: CONNECTIONS,
      headersTimeout: timeouts.idleMs,
      bodyTimeout: timeouts.idleMs,
    });
    this.#headers = {
      'user-agent': 'Almanac/1.0',
      'accept-encoding': 'identity',
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    };
  }

  /**
   * Calls `use` with each block of a file.
   * @param most_bytes a longer file is refused.
   * @param validators of a copy: an unchanged file is not sent again.
   * @returns the validators of the file; null when it is unchanged.
   * @throws {OriginError}; what `use` throws.
   */
  async read(
    path: string,
    most_bytes: number,
    validators: Validators,
    use: (block: Buffer) => Promise<void> | void,
  ): Promise<Validators | null> {
    const { statusCode, headers, body } = await this.#request(path, validators);
    // A body that is left before its end reports that as an error.
    body.on('error', () => {});
    if (statusCode === 304 && Object.keys(validators).length > 0) {
      await body.dump();
      return null;
    }
    try {
      const refusal = describeRefusal(statusCode, headers);
      if (refusal !== null) throw new OriginError(`${path}: ${refusal}`, { status: statusCode });
      const { slowestBytesPerS, graceMs } = this.#timeouts;
      const started_ms = performance.now();
      let read_bytes = 0;
      for await (const block of failingAs(path, body)) {
        read_bytes += block.length;
        if (read_bytes > most_bytes) throw new OriginError(`${path}: longer than ${most_bytes} bytes`);
        const granted_ms = graceMs + (read_bytes / slowestBytesPerS) * 1_000;
        if (performance.now() - started_ms > granted_ms)
          throw new OriginError(`${path}: too slow`, { isAway: true });
        await use(block);
      }
      return readValidators(headers);
    } finally {
      body.destroy();
    }
  }

  async #request(path: string, validators: Validators): Promise<Dispatcher.ResponseData> {
    try {
      return await this.#agent.request({
        origin: this.#base.origin,
        path: this.#base.pathname + path,
        method: 'GET',
        headers: { ...this.#headers, ...validators },
        signal: this.#closing.signal,
      });
    } catch (error) {
      throw new OriginError(`${path}: ${describeError(error)}`, { cause: error, isAway: true });
    }
  }

  /** Ends what is being read. */
  async close(): Promise<void> {
    this.#closing.abort(new OriginError('the gateway stops'));
    await this.#agent.destroy();
  }
}

/** Faults of the connection, as opposed to those of the caller. */
async function* failingAs(path: string, body: Dispatcher.ResponseData['body']): AsyncGenerator<Buffer> {
  try {
    yield* body;
  } catch (error) {
    throw new OriginError(`${path}: ${describeError(error)}`, { cause: error, isAway: true });
  }
}

/** Why an answer is not read; null when it is. */
function describeRefusal(status: number, headers: Dispatcher.ResponseData['headers']): string | null {
  if (status !== 200) return `HTTP ${status}`;
  const encoding = headers['content-encoding'] ?? 'identity';
  return encoding === 'identity' ? null : `encoded as ${encoding}`;
}

function readValidators(headers: Dispatcher.ResponseData['headers']): Validators {
  const { etag, 'last-modified': date } = headers;
  return {
    ...(typeof etag === 'string' && { 'if-none-match': etag }),
    ...(typeof date === 'string' && { 'if-modified-since': date }),
  };
}

/** Node reports several failed attempts to connect as one error without a message. */
function describeError(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(describeError).join('; ');
  return error instanceof Error ? error.message || error.name : String(error);
}
