/**
 * One file over HTTP onto disk: conditional, bounded, retried, resumed where the server allows it.
 *
 * Everything a server may do wrong ends in an `UpstreamError` with a sentence: too many redirects or one into a private
 * network, an HTML page in place of data, more bytes than allowed (counted after decompression), a connection that
 * breaks off time and again or only drips, a length that is announced and not kept. A partial download is continued only when the server proves by its validator (`If-Range`)
 * that the file is still the same.
 */
import { createWriteStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { type Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { type Dispatcher, request } from 'undici';
import { machineFault } from '../runtime/machine-fault.ts';
import { refusePrivateHost } from './address-guard.ts';
import { isTransientStatus, type RetryOptions, retryDelayMs, TransientError } from './retry.ts';
import { UpstreamError } from './upstream.ts';

export interface Validators {
  etag: string | null;
  last_modified: string | null;
}

export interface DownloadOptions extends RetryOptions {
  dispatcher: Dispatcher;
  /** Whose network may be private: the provider's own base. */
  origin: URL;
  maxFileBytes: number;
  maxRedirects: number;
  headersTimeoutMs: number;
  bodyTimeoutMs: number;
  /** A body is given up when it has come slower than this for so long, whatever it still sends. */
  slowest: { bytesPerS: number; graceMs: number };
  /** How often servers have sent bytes past the end that they announced, over all downloads so far. Asking is knowing. */
  surplus: () => number;
  userAgent: string;
  signal: AbortSignal;
}

export type DownloadResult = { kind: 'unchanged' } | ({ kind: 'file'; bytes: number } & Validators);

interface Answer {
  status: number;
  header(name: string): string | null;
  body: Readable;
}

/** What is known of a download that broke off. */
interface Partial {
  bytes: number;
  validator: string | null;
}

/**
 * Downloads `url` to `file`.
 * @param known validators of the copy at hand: an unchanged file is not sent again.
 * @throws {UpstreamError} after the last attempt, at once for what another attempt would not mend.
 */
export async function download(
  url: URL,
  file: string,
  known: Validators | null,
  options: DownloadOptions,
): Promise<DownloadResult> {
  let partial: Partial = { bytes: 0, validator: null };
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await downloadOnce(url, file, known, partial, options);
    } catch (error) {
      options.signal.throwIfAborted();
      const failure = asTransient(error);
      const delay = failure && retryDelayMs(failure, attempt, options);
      if (!failure || delay === null) throw finalError(url, error, attempt + 1);
      partial = await partialOf(file, failure);
      await options.sleep(delay, options.signal);
    }
  }
}

/** An error of the network counts as passing; what this module refused does not. */
function asTransient(error: unknown): TransientError | null {
  if (error instanceof TransientError) return error;
  if (error instanceof UpstreamError || !(error instanceof Error)) return null;
  if (machineFault(error) !== null) return null;
  if (error.cause instanceof UpstreamError) return null;
  return new TransientError(error.message, null, null, { cause: error });
}

function finalError(url: URL, error: unknown, attempts: number): unknown {
  if (error instanceof UpstreamError || machineFault(error) !== null) return error;
  if (error instanceof Error && error.cause instanceof UpstreamError) return error.cause;
  const reason = error instanceof Error ? error.message : String(error);
  const status = error instanceof TransientError ? error.status : null;
  const times = attempts === 1 ? 'once' : `${attempts} times`;
  return new UpstreamError(`${url.host}${url.pathname}: ${reason} (tried ${times})`, status, {
    cause: error,
  });
}

/** A length that is too short cuts a file where it may still look whole: what came of it cannot be kept. */
export const SURPLUS = 'the answer goes on past the length that it announces';

/** A body that broke off and can be continued leaves its validator on the failure. */
class BrokenOff extends TransientError {
  readonly validator: string | null;
  constructor(message: string, validator: string | null, options?: ErrorOptions) {
    super(message, null, null, options);
    this.validator = validator;
  }
}

async function partialOf(file: string, failure: TransientError): Promise<Partial> {
  if (!(failure instanceof BrokenOff) || failure.validator === null) return { bytes: 0, validator: null };
  const size = await stat(file).then(
    (found) => found.size,
    () => 0,
  );
  return { bytes: size, validator: failure.validator };
}

async function downloadOnce(
  url: URL,
  file: string,
  known: Validators | null,
  partial: Partial,
  options: DownloadOptions,
): Promise<DownloadResult> {
  const resuming = partial.bytes > 0 && partial.validator !== null;
  const answer = await follow(url, requestHeaders(known, resuming ? partial : null, options), options);
  if (answer.status === 304 && known) {
    answer.body.resume();
    return { kind: 'unchanged' };
  }
  checkAnswer(url, answer);
  const continues = answer.status === 206;
  if (continues && !continuesAt(answer, partial.bytes)) {
    discard(answer);
    throw new UpstreamError(`${url.host}${url.pathname}: an answer to another range than asked for`);
  }
  const from = continues ? partial.bytes : 0;
  const surplus = options.surplus();
  await save(url, answer, file, from, options);
  if (options.surplus() > surplus) throw new TransientError(SURPLUS, null, null);
  const { size } = await stat(file);
  return {
    kind: 'file',
    bytes: size,
    etag: answer.header('etag'),
    last_modified: answer.header('last-modified'),
  };
}

function requestHeaders(known: Validators | null, partial: Partial | null, options: DownloadOptions) {
  const headers: Record<string, string> = { 'user-agent': options.userAgent, accept: '*/*' };
  if (partial?.validator) {
    return { ...headers, range: `bytes=${partial.bytes}-`, 'if-range': partial.validator };
  }
  headers['accept-encoding'] = 'gzip';
  if (known?.etag) headers['if-none-match'] = known.etag;
  if (known?.last_modified) headers['if-modified-since'] = known.last_modified;
  return headers;
}

const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/** Sends the request and follows redirects, checking every step. */
async function follow(url: URL, headers: Record<string, string>, options: DownloadOptions): Promise<Answer> {
  let target = url;
  for (let step = 0; step <= options.maxRedirects; step += 1) {
    refusePrivateHost(target, options.origin);
    const answer = await request(target, {
      method: 'GET',
      headers,
      dispatcher: options.dispatcher,
      signal: options.signal,
      headersTimeout: options.headersTimeoutMs,
      bodyTimeout: options.bodyTimeoutMs,
    });
    const header = (name: string): string | null => {
      const value = answer.headers[name];
      return (Array.isArray(value) ? value[0] : value) ?? null;
    };
    const location = REDIRECTS.has(answer.statusCode) ? header('location') : null;
    if (location === null) return { status: answer.statusCode, header, body: answer.body };
    await answer.body.dump();
    target = redirectTarget(location, target);
  }
  throw new UpstreamError(`${url.host}${url.pathname}: more than ${options.maxRedirects} redirects`);
}

function redirectTarget(location: string, from: URL): URL {
  const target = URL.canParse(location, from.href) ? new URL(location, from) : null;
  if (!target || !/^https?:$/.test(target.protocol)) {
    throw new UpstreamError(`${from.host}${from.pathname} redirects to "${location}": refused`);
  }
  if (from.protocol === 'https:' && target.protocol === 'http:') {
    throw new UpstreamError(`${from.host}${from.pathname} redirects from https to http: refused`);
  }
  return target;
}

function checkAnswer(url: URL, answer: Answer): void {
  const where = `${url.host}${url.pathname}`;
  const refuse = (error: Error): never => {
    discard(answer);
    throw error;
  };
  if (isTransientStatus(answer.status)) {
    refuse(new TransientError(`answered ${answer.status}`, answer.status, answer.header('retry-after')));
  }
  if (answer.status !== 200 && answer.status !== 206) {
    refuse(new UpstreamError(`${where}: answered ${answer.status}`, answer.status));
  }
  const type = answer.header('content-type') ?? '';
  if (/^(text\/html|application\/xhtml)/i.test(type) && !/\.html?$/i.test(url.pathname)) {
    refuse(new UpstreamError(`${where}: an HTML page in place of data`, answer.status));
  }
}

/** Ends a body that nobody reads on; its protest at that has no listener but this one. */
function discard(answer: Answer): void {
  answer.body.on('error', () => {}).destroy();
}

function continuesAt(answer: Answer, bytes: number): boolean {
  const range = /^bytes (\d+)-/.exec(answer.header('content-range') ?? '');
  return range !== null && Number(range[1]) === bytes;
}

/** A strong validator is needed to continue a body; a compressed one cannot be continued. */
function resumeValidator(answer: Answer): string | null {
  if (answer.header('content-encoding') || answer.header('accept-ranges') !== 'bytes') return null;
  const etag = answer.header('etag');
  return etag && !etag.startsWith('W/') ? etag : answer.header('last-modified');
}

/** Passes a body on while it is neither too large nor too slow. */
function limited(url: URL, from: number, options: DownloadOptions): Transform {
  const where = `${url.host}${url.pathname}`;
  const { maxFileBytes, slowest } = options;
  const begun = options.now();
  let bytes = from;
  const faultOf = (): UpstreamError | null => {
    if (bytes > maxFileBytes) return new UpstreamError(`${where}: larger than ${maxFileBytes} bytes`);
    const passed_ms = options.now() - begun;
    const least = (slowest.bytesPerS * passed_ms) / 1000;
    if (passed_ms <= slowest.graceMs || bytes - from >= least) return null;
    const seconds = Math.round(passed_ms / 1000);
    return new UpstreamError(`${where}: too slow: ${bytes - from} bytes in ${seconds} s`);
  };
  return new Transform({
    transform(chunk: Uint8Array, _encoding, done) {
      bytes += chunk.length;
      done(faultOf(), chunk);
    },
  });
}

async function save(
  url: URL,
  answer: Answer,
  file: string,
  from: number,
  options: DownloadOptions,
): Promise<void> {
  const limit = limited(url, from, options);
  const output = createWriteStream(file, { flags: from > 0 ? 'a' : 'w' });
  const encoding = answer.header('content-encoding')?.toLowerCase() ?? 'identity';
  try {
    if (encoding === 'gzip') await pipeline(answer.body, createGunzip(), limit, output);
    else if (encoding === 'identity' || encoding === '') await pipeline(answer.body, limit, output);
    else throw new UpstreamError(`${url.host}${url.pathname}: content coding ${encoding} was not asked for`);
  } catch (error) {
    discard(answer);
    options.signal.throwIfAborted();
    if (error instanceof UpstreamError || machineFault(error) !== null) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new BrokenOff(`the answer broke off: ${reason}`, resumeValidator(answer), { cause: error });
  }
}
