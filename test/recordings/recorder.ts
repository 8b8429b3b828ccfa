/**
 * Records what servers answer: every response that this process receives from a watched server, whichever client it used.
 * Ports, dates and random values become placeholders, numbered in the order in which they appear.
 */
import { createHash } from 'node:crypto';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib';

/** A recorded answer by its name, such as `site GET /topics`: status and headers, and the body. */
export type Recordings = Map<string, { head: string; body: string }>;

/** What undici, and the fetch of Node.js, publish about a request. */
interface Seen {
  request: { origin: string; method: string; path: string; headers: readonly string[]; body?: unknown };
  response: { statusCode: number; headers: readonly Buffer[] };
  chunk: Buffer;
}

interface Begun {
  head: Omit<Seen['response'], 'statusText'>;
  chunks: Buffer[];
}

/** Headers of requests that clients send by themselves, or that differ from run to run. */
const UNNAMED_HEADERS = new Set([
  ...['authorization', 'cookie', 'x-forwarded-for', 'content-type', 'user-agent', 'stripe-signature'],
  ...['accept-language', 'sec-fetch-mode'],
]);

/** Files with random values that cannot be found in them: callers add what they say. */
const OPAQUE_TYPES = new Set(['application/pdf', 'application/zip']);

const DECODERS: Readonly<Record<string, (bytes: Buffer) => Buffer>> = {
  br: brotliDecompressSync,
  gzip: gunzipSync,
  zstd: zstdDecompressSync,
};

/** Random values, each the first group: a value that is found once is replaced wherever it stands. */
const RANDOM: readonly (readonly [kind: string, pattern: RegExp])[] = [
  ['key', /\b(alm_live_[0-9a-z]{12}_[0-9A-Za-z]{40})\b/g],
  ['key id', /(?:\balm_live_|\/keys\/|"key_id":"|<select name="key"><option value=")([0-9a-z]{12})\b/g],
  ['id', /\b((?:[a-z]{3}|erased)_[0-9a-z]{12,})\b/g],
  ['session digest', /\/sessions\/([0-9a-f]{64})\b/g],
  ['session', /^set-cookie: [\w-]+=([^;\s]{16,})/gm],
  ['link', /\/(?:confirm|reset|sign-in-link|email|undo-email|invitation|password)\/([\w.~-]{20,})/g],
];

/** Values that are new each time that they are shown. */
const FRESH: readonly (readonly [pattern: RegExp, replacement: string])[] = [
  [/(name="_(?:csrf|idempotency)" value=")[^"]+/g, '$1<token>'],
  [/\b_(csrf|idempotency)=[^&\s]+/g, '_$1=<token>'],
  [/(name="idem" value=")[^"]+/g, '$1<token>'],
  [/\btest-\d+\b/g, '<request id>'],
  // The end of a key, and a second factor as text, as picture and as recovery codes.
  [/(…|ends with )[0-9A-Za-z]{4}\b/g, '$1<end>'],
  [/\b[A-Z2-7]{32}\b/g, '<secret>'],
  [/(class="qr".*?<path d=")[^"]+/g, '$1<picture>'],
  [/(<code[^>]*>)[0-9a-z]{4}-[0-9a-z]{4}-[0-9a-z]{4}\b/g, '$1<recovery code>'],
  [/\bwhsec_[0-9A-Za-z+/]{32,}=*/g, '<webhook secret>'],
  [/("last4": ?")[^"]+/g, '$1<end>'],
  [/\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, '<uuid>'],
  // Ids of entries in streams of Redis hold the time of day.
  [/\b1[7-9]\d{11}-\d+\b/g, '<entry>'],
  [/A zip file of [\d,]+ bytes/g, 'A zip file of <n> bytes'],
  [/^(date|x-request-id): .*/gm, '$1: <$1>'],
];

export class Recorder {
  readonly recordings: Recordings = new Map();
  #section = '';
  #watched: string | null = null;
  readonly #begun = new Map<object, Begun>();
  /** Placeholders by value. */
  readonly #known = new Map<string, string>();
  readonly #counts = new Map<string, number>();

  constructor() {
    subscribe('undici:request:headers', this.#onHeaders);
    subscribe('undici:request:bodyChunkReceived', this.#onChunk);
    subscribe('undici:request:trailers', this.#onEnd);
  }

  /** Starts a section. @param url of the server whose answers are recorded */
  watch(section: string, url?: string): void {
    this.#section = section;
    this.#watched = url ?? null;
    if (url !== undefined) this.replace(new URL(url).host, '<service>');
  }

  /** What the caller knows to differ from run to run. */
  replace(value: string, placeholder: string): void {
    this.#known.set(value, placeholder);
  }

  /** Records something else than an answer. */
  add(name: string, text: string): void {
    this.#store(`${this.#section} ${name}`, '', this.#normalise(text));
  }

  /** Records mails, whatever the order in which they came. */
  addMails(mails: readonly { to: string; subject: string; text: string }[]): void {
    const texts = mails.map(({ to, subject, text }) => this.#normalise(`${to} ${subject}\n${text}`));
    for (const text of texts.sort()) this.add(`mail ${text.slice(0, text.indexOf('\n'))}`, text);
  }

  /** Ends the recording of answers. */
  [Symbol.dispose](): void {
    unsubscribe('undici:request:headers', this.#onHeaders);
    unsubscribe('undici:request:bodyChunkReceived', this.#onChunk);
    unsubscribe('undici:request:trailers', this.#onEnd);
  }

  readonly #onHeaders = (message: unknown): void => {
    const { request, response } = message as Seen;
    if (String(request.origin) === this.#watched) this.#begun.set(request, { head: response, chunks: [] });
  };

  readonly #onChunk = (message: unknown): void => {
    const { request, chunk } = message as Seen;
    this.#begun.get(request)?.chunks.push(Buffer.from(chunk));
  };

  readonly #onEnd = (message: unknown): void => {
    const { request } = message as Seen;
    const begun = this.#begun.get(request);
    if (begun === undefined) return;
    this.#begun.delete(request);
    const { statusCode, headers: raw } = begun.head;
    const headers = pairsOf(raw.map((part) => part.toString('latin1')));
    const { 'content-encoding': encoding = '', 'content-type': type = '' } = Object.fromEntries(headers);
    const bytes = Buffer.concat(begun.chunks);
    const body = OPAQUE_TYPES.has(type)
      ? { text: '<file>', isChanged: true }
      : this.#bodyText(bytes.length > 0 ? (DECODERS[encoding]?.(bytes) ?? bytes) : bytes);
    const lines = headers.map(([name, value]) => `${name}: ${value}`).sort();
    const head = this.#normalise(`${statusCode}\n${lines.join('\n')}`);
    const name = this.#normalise(`${request.method} ${request.path}${describedHeaders(request.headers)}`);
    // The length of a body that holds placeholders is that of the values that they stand for.
    const stored = body.isChanged ? head.replace(/^content-length: .*/m, 'content-length: <length>') : head;
    this.#store(`${this.#section} ${name}`, stored, body.text);
  };

  #bodyText(bytes: Buffer): { text: string; isChanged: boolean } {
    const text = bytes.toString('utf8');
    if (!Buffer.from(text).equals(bytes))
      return { text: `${bytes.length} bytes ${digest(bytes)}`, isChanged: false };
    const normal = this.#normalise(text);
    return { text: normal, isChanged: normal !== text };
  }

  #normalise(text: string): string {
    for (const [kind, pattern] of RANDOM)
      for (const [, value = ''] of text.matchAll(pattern))
        if (!this.#known.has(value)) this.#known.set(value, `<${kind} ${this.#next(kind)}>`);
    let normal = text;
    for (const [value, placeholder] of this.#known) normal = normal.replaceAll(value, placeholder);
    for (const [pattern, replacement] of FRESH) normal = normal.replaceAll(pattern, replacement);
    return normal;
  }

  #store(name: string, head: string, body: string): void {
    const repeats = this.#next(name);
    this.recordings.set(repeats === 1 ? name : `${name} (${repeats})`, { head, body });
  }

  #next(counted: string): number {
    const next = (this.#counts.get(counted) ?? 0) + 1;
    this.#counts.set(counted, next);
    return next;
  }
}

export const digest = (content: string | Buffer): string =>
  createHash('sha256').update(content).digest('hex').slice(0, 12);

/** Lower-case names with their values. */
const pairsOf = (flat: readonly string[]): [string, string][] =>
  Array.from({ length: flat.length / 2 }, (_, at) => [
    (flat[2 * at] ?? '').toLowerCase(),
    flat[2 * at + 1] ?? '',
  ]);

const describedHeaders = (flat: readonly string[]): string =>
  pairsOf(flat)
    .filter(([name]) => !UNNAMED_HEADERS.has(name))
    .map(([name, value]) => ` ${name}: ${value}`)
    .sort()
    .join('');
