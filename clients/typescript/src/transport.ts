/** HTTP: one call of the service, repeated where that cannot pay twice. */
import {
  type AlmanacError,
  ApiError,
  ConnectionFailed,
  type RefusalFacts,
  UnexpectedAnswer,
} from './errors.ts';
import type { Query } from './questions.ts';
import { type Bytes, joined } from './receipts/crypto.ts';
import type { ValidationDetail } from './records.ts';

const REPEATED_STATUSES: ReadonlySet<number> = new Set([429, 502, 503, 504]);
// The service repeats an answer for nothing five times within ten minutes. Beyond either, a repeat would be a new call.
const REPEATS_MAX = 5;
const REPEATABLE_MS = 540_000;
const LONGEST_WAIT_S = 60;
const FIRST_WAIT_MS = 500;

/** What a client takes from its surroundings; tests pass others. */
export interface Surroundings {
  fetch: typeof fetch;
  /** Milliseconds. */
  now(): number;
  sleep(ms: number): Promise<void>;
  /** From 0 up to 1. */
  random(): number;
  /** A key that nobody else chooses. */
  idempotencyKey(): string;
}

export const SYSTEM: Surroundings = {
  fetch: (input, init) => fetch(input, init),
  now: () => performance.now(),
  sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
  random: Math.random,
  idempotencyKey: () =>
    Array.from(crypto.getRandomValues(new Uint32Array(4)), (part) => part.toString(36)).join('-'),
};

export interface TransportOptions {
  baseUrl: string;
  key: string | null;
  /** Without a byte. */
  timeoutMs: number;
  /** Of a failed call. */
  retries: number;
}

/** An answer of the service whose body is read once: complete, or ConnectionFailed. */
export class Answer {
  readonly headers: Headers;
  readonly #pieces: AsyncGenerator<Bytes>;

  constructor(headers: Headers, pieces: AsyncGenerator<Bytes>) {
    this.headers = headers;
    this.#pieces = pieces;
  }

  pieces(): AsyncGenerator<Bytes> {
    return this.#pieces;
  }

  async bytes(): Promise<Bytes> {
    const pieces: Bytes[] = [];
    for await (const piece of this.#pieces) pieces.push(piece);
    return joined(...pieces);
  }

  async text(): Promise<string> {
    return new TextDecoder().decode(await this.bytes());
  }

  /** Shapes are those of the description of the service, which its own tests hold. */
  async json<Shape>(): Promise<Shape> {
    const text = await this.text();
    try {
      return JSON.parse(text);
    } catch {
      throw new UnexpectedAnswer('The answer is not JSON: is the address that of the service?');
    }
  }
}

/** What a call costs, and whom it is for: public files take no key, for which a browser would have to ask beforehand. */
export type CallKind = 'public' | 'free' | 'priced';

/** Default a GET. */
export interface Sent {
  method?: 'POST' | 'DELETE';
  body?: string;
}

export type Read<Result> = (answer: Answer) => Promise<Result>;

export class Transport {
  readonly baseUrl: string;
  readonly #options: TransportOptions;
  readonly #surroundings: Surroundings;

  constructor(options: TransportOptions, surroundings: Surroundings) {
    const { retries, baseUrl, timeoutMs } = options;
    if (!Number.isInteger(retries) || retries < 0 || retries > REPEATS_MAX)
      throw new TypeError(`retries must be 0 to ${REPEATS_MAX}, not ${retries}`);
    if (!/^https?:\/\//.test(baseUrl))
      throw new TypeError(`baseUrl must start with http:// or https://, not ${baseUrl}`);
    if (!(timeoutMs > 0)) throw new TypeError(`timeoutMs must be more than 0, not ${timeoutMs}`);
    this.baseUrl = baseUrl.replace(/\/+$/, '');
    this.#options = options;
    this.#surroundings = surroundings;
  }

  /**
   * Sends a call and reads its answer. A failed call is repeated from the start, with the same idempotency key: of a
   * priced one the repeat is free. What a body makes would be made twice: such a call is not repeated.
   * @param read is given each answer anew when the call is repeated
   * @throws {ApiError | ConnectionFailed | UnexpectedAnswer}
   */
  async call<Result>(
    path: string,
    query: Query,
    read: Read<Result>,
    kind: CallKind = 'free',
    request: Sent = {},
  ): Promise<Result> {
    const { now, sleep } = this.#surroundings;
    const headers = this.#headers(kind);
    const parameters = query.map((pair) => pair.map(encodeURIComponent).join('=')).join('&');
    const address = `${this.baseUrl}${path}${parameters === '' ? '' : `?${parameters}`}`;
    const started = now();
    const retries = request.body === undefined ? this.#options.retries : 0;
    if (request.body !== undefined) headers.set('Content-Type', 'application/json');
    for (let repeats = 0; ; repeats += 1) {
      try {
        return await this.#attempt(address, { ...request, headers }, read);
      } catch (error) {
        const wait = repeats < retries ? this.#waitMs(error, repeats) : null;
        const isTooLate = kind === 'priced' && now() + (wait ?? 0) - started > REPEATABLE_MS;
        if (wait === null || isTooLate) throw error;
        await sleep(wait);
      }
    }
  }

  #headers(kind: CallKind): Headers {
    const { key } = this.#options;
    const headers = new Headers();
    if (key !== null && kind !== 'public') headers.set('Authorization', `Bearer ${key}`);
    if (kind === 'priced') headers.set('Idempotency-Key', this.#surroundings.idempotencyKey());
    return headers;
  }

  /** Before a repeat; null where a repeat is of no use. */
  #waitMs(error: unknown, repeats: number): number | null {
    const isRefusal = error instanceof ApiError;
    if (isRefusal ? !REPEATED_STATUSES.has(error.status) : !(error instanceof ConnectionFailed)) return null;
    if (isRefusal && error.retryAfter !== null)
      return error.retryAfter <= LONGEST_WAIT_S ? error.retryAfter * 1000 : null;
    return FIRST_WAIT_MS * 2 ** repeats * (0.5 + this.#surroundings.random() / 2);
  }

  async #attempt<Result>(
    address: string,
    sent: Sent & { headers: Headers },
    read: Read<Result>,
  ): Promise<Result> {
    const watch = new Watch(this.baseUrl, this.#options.timeoutMs);
    const response = await watch.within(
      this.#surroundings.fetch(address, {
        ...sent,
        signal: watch.signal,
        cache: 'no-store',
        credentials: 'omit',
        // A redirect would carry the key to another host.
        redirect: 'manual',
      }),
    );
    const answer = new Answer(response.headers, piecesOf(response, watch));
    if (response.ok) return await read(answer);
    throw await refusalOf(response, answer, this.#options.key !== null);
  }
}

/** Ends a request that sends nothing for too long. */
class Watch {
  readonly #controller = new AbortController();
  readonly #host: string;
  readonly #timeoutMs: number;

  constructor(host: string, timeoutMs: number) {
    this.#host = host;
    this.#timeoutMs = timeoutMs;
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  async within<Result>(step: Promise<Result>): Promise<Result> {
    const timer = setTimeout(() => this.#controller.abort(), this.#timeoutMs);
    try {
      return await step;
    } catch (error) {
      const isLate = this.#controller.signal.aborted;
      const reason = isLate ? `sent nothing for ${this.#timeoutMs} ms` : 'cannot be reached, or broke off';
      const where = '`baseUrl` says where the service is';
      throw new ConnectionFailed(`${this.#host} ${reason}: ${detailOf(error)}; ${where}`, { cause: error });
    } finally {
      clearTimeout(timer);
    }
  }
}

/** Node.js says only `fetch failed`, and why in the cause; browsers never say why. */
const detailOf = (error: unknown): string =>
  error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error);

async function* piecesOf(response: Response, watch: Watch): AsyncGenerator<Bytes> {
  const reader = response.body?.getReader();
  if (reader === undefined) return;
  try {
    for (;;) {
      const { value, done } = await watch.within(reader.read());
      if (done) return;
      yield value;
    }
  } finally {
    await reader.cancel().catch(() => {}); // already broken off
  }
}

interface RefusalDocument {
  detail?: ValidationDetail[];
  error?: { code: string; message: string };
}

/** A place that may be meant. */
interface Candidate {
  name: string;
  iso3?: string;
  group?: string;
}

/** A parameter at fault, with the places that may be meant instead. */
function faultText({ loc, msg, ctx }: ValidationDetail): string {
  const candidates = (ctx?.candidates ?? []) as readonly Candidate[];
  const meant = candidates.map(({ name, iso3, group }) => `${name} (${iso3 ?? group})`).join(', ');
  return `${loc.slice(1).join('.')}: ${msg}${meant && ` Candidates: ${meant}`}`;
}

const NO_KEY = 'This call needs a key: make the client with `new Almanac({ key })`.';

async function refusalOf({ status, type }: Response, answer: Answer, hasKey: boolean): Promise<AlmanacError> {
  const retryAfter = answer.headers.get('Retry-After');
  const facts: RefusalFacts = {
    requestId: answer.headers.get('X-Request-Id'),
    retryAfter: retryAfter !== null && /^\d+$/.test(retryAfter) ? Number(retryAfter) : null,
    detail: [],
  };
  if (type === 'opaqueredirect' || (status >= 300 && status < 400)) {
    const to = answer.headers.get('Location') ?? 'another address';
    return new ApiError(status, 'redirected', `The service is at ${to}: use that as baseUrl.`, facts);
  }
  const document = await answer.json<RefusalDocument | null>().catch((error: unknown) => {
    if (error instanceof UnexpectedAnswer) return null;
    throw error;
  });
  if (document?.detail !== undefined) {
    const text = document.detail.map(faultText).join('; ');
    return new ApiError(status, 'invalid_parameters', text, { ...facts, detail: document.detail });
  }
  if (document?.error !== undefined) {
    const message = status === 401 && !hasKey ? NO_KEY : document.error.message;
    return new ApiError(status, document.error.code, message, facts);
  }
  return new ApiError(status, 'unknown', `HTTP ${status} without an explanation.`, facts);
}
