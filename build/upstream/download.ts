/**
 * Downloads one file to disk: conditional, bounded, retried.
 *
 * Every server fault ends in an `UpstreamError` that names it: too many redirects, a redirect into a private network, an
 * HTML page instead of data, too many bytes (after decompression), repeated disconnects, too low a throughput, a wrong
 * Content-Length.
 */
import { createWriteStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as wait } from 'node:timers/promises';
import { createGunzip } from 'node:zlib';
import { buildConnector, type Dispatcher, request } from 'undici';
import { isPrivateHost, PrivateAddressError, publicLookup } from '../../data/runtime/public-addresses.ts';
import { describeError, machineFault } from '../runtime/errors.ts';
import { UpstreamError } from './upstream.ts';

/**
 * Prevents server-side request forgery: only the configured origin itself (scheme, host and port) may have a private
 * address.
 * @throws {UpstreamError} when another URL names a private address or `localhost`.
 */
export function refusePrivateHost(url: URL, origin: URL): void {
  if (url.origin === origin.origin || !isPrivateHost(url.hostname)) return;
  const host = url.hostname.replace(/^\[|\]$/g, '');
  throw new UpstreamError(`${origin.host} redirects to the private address ${host}: refused`);
}

/** Connects to the configured origin at any address, and to all others at public ones, whatever their names resolve to. */
export function guardedConnect(origin: URL): buildConnector.connector {
  const connectToOrigin = buildConnector({});
  const connectToOthers = buildConnector({ lookup: publicLookup() });
  return (options, callback) => {
    const port = options.port ? `:${options.port}` : '';
    const target = URL.parse(`${options.protocol}//${options.hostname}${port}`);
    (target?.origin === origin.origin ? connectToOrigin : connectToOthers)(options, callback);
  };
}

/** When a download is retried, and when it is given up. */
export interface DownloadLimits {
  attempts: number;
  /** 0 ≤ random < 1. */
  random: () => number;
  sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  headersTimeoutMs: number;
  bodyTimeoutMs: number;
  /** A body with a lower average throughput is aborted once the grace period is over. */
  minThroughput: { bytesPerS: number; graceMs: number };
}

export const DEFAULT_LIMITS: DownloadLimits = {
  attempts: 5,
  random: Math.random,
  sleep: (ms, signal) => wait(ms, undefined, { signal }),
  headersTimeoutMs: 60_000,
  bodyTimeoutMs: 60_000,
  // A megabyte in a quarter of an hour: far below any provider that works.
  minThroughput: { bytesPerS: 1_000, graceMs: 120_000 },
};

/** Upper bound of the first delay; it doubles with each attempt. */
const BASE_DELAY_MS = 500;
const MAX_DELAY_MS = 30_000;
/** A longer Retry-After ends the attempts. */
const MAX_RETRY_AFTER_MS = 120_000;
const MAX_REDIRECTS = 5;
const USER_AGENT = 'Almanac/1.0 (nightly country statistics)';

/** A failure that a retry may resolve. */
class TransientError extends Error {
  override name = 'TransientError';
  readonly status: number | null;
  readonly retryAfter: string | null;
  constructor(
    message: string,
    cause?: unknown,
    status: number | null = null,
    retryAfter: string | null = null,
  ) {
    super(message, { cause });
    this.status = status;
    this.retryAfter = retryAfter;
  }
}

const isTransientStatus = (status: number): boolean => status === 408 || status === 429 || status >= 500;

/** Parses Retry-After (seconds or a date) into milliseconds from now; 0 when absent or malformed. */
function retryAfterMs(header: string | null): number {
  if (header === null) return 0;
  if (/^\d+$/.test(header.trim())) return Number(header) * 1000;
  return Math.max(0, Date.parse(header) - Date.now()) || 0;
}

/**
 * The delay after a failed attempt (counted from 0): exponential backoff with full jitter, or Retry-After where that is
 * longer; null when no further attempt is made.
 */
function retryDelayMs(
  failure: TransientError,
  attempt: number,
  { attempts, random }: DownloadLimits,
): number | null {
  const requested = retryAfterMs(failure.retryAfter);
  if (attempt + 1 >= attempts || requested > MAX_RETRY_AFTER_MS) return null;
  return Math.max(requested, Math.round(random() * Math.min(MAX_DELAY_MS, BASE_DELAY_MS * 2 ** attempt)));
}

interface Validators {
  etag: string | null;
  last_modified: string | null;
}

export interface DownloadOptions extends DownloadLimits {
  dispatcher: Dispatcher;
  /** The configured origin, which alone may have a private address. */
  origin: URL;
  maxFileBytes: number;
  /** Responses so far, over all downloads, with bytes beyond their Content-Length. A call acknowledges them. */
  countExcessResponses: () => number;
  signal: AbortSignal;
}

type DownloadResult = { kind: 'unchanged' } | ({ kind: 'file'; bytes: number } & Validators);

type HttpResponse = Dispatcher.ResponseData;

function headerOf({ headers }: HttpResponse, name: string): string | null {
  const value = headers[name];
  return (Array.isArray(value) ? value[0] : value) ?? null;
}

/** A URL without its query, for messages. */
const describeUrl = (url: URL): string => `${url.host}${url.pathname}`;

/**
 * Downloads `url` to `file`.
 * @param known validators of the cached copy: an unchanged file is not transferred again.
 * @throws {UpstreamError} after the last attempt, or at once when a retry cannot help.
 */
export async function download(
  url: URL,
  file: string,
  known: Validators | null,
  options: DownloadOptions,
): Promise<DownloadResult> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await downloadOnce(url, file, known, options);
    } catch (error) {
      options.signal.throwIfAborted();
      // Refusals by this module and faults of this machine are final.
      if (isFinal(error)) throw error;
      const failure =
        error instanceof TransientError ? error : new TransientError(describeError(error), error);
      const delay = isPrivateAddress(error) ? null : retryDelayMs(failure, attempt, options);
      if (delay === null) {
        const times = attempt === 0 ? 'once' : `${attempt + 1} times`;
        const message = `${describeUrl(url)}: ${failure.message} (tried ${times})`;
        throw new UpstreamError(message, failure.status, { cause: error });
      }
      await options.sleep(delay, options.signal);
    }
  }
}

const isPrivateAddress = (error: unknown): boolean =>
  error instanceof Error && [error, error.cause].some((one) => one instanceof PrivateAddressError);

const isFinal = (error: unknown): boolean => error instanceof UpstreamError || machineFault(error) !== null;

/** A too short Content-Length truncates a file that may still parse, so such a download is never kept. */
export const EXCESS_BYTES_MESSAGE = 'the response is longer than its Content-Length';

async function downloadOnce(
  url: URL,
  file: string,
  known: Validators | null,
  options: DownloadOptions,
): Promise<DownloadResult> {
  const response = await followRedirects(url, requestHeaders(known), options);
  if (response.statusCode === 304 && known) {
    response.body.resume();
    return { kind: 'unchanged' };
  }
  checkResponse(url, response);
  const excessBefore = options.countExcessResponses();
  await save(url, response, file, options);
  if (options.countExcessResponses() > excessBefore) {
    throw new TransientError(EXCESS_BYTES_MESSAGE);
  }
  const { size } = await stat(file);
  return {
    kind: 'file',
    bytes: size,
    etag: headerOf(response, 'etag'),
    last_modified: headerOf(response, 'last-modified'),
  };
}

const requestHeaders = (known: Validators | null): Record<string, string> => ({
  'user-agent': USER_AGENT,
  accept: '*/*',
  'accept-encoding': 'gzip',
  ...(known?.etag && { 'if-none-match': known.etag }),
  ...(known?.last_modified && { 'if-modified-since': known.last_modified }),
});

const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/** Sends the request and follows redirects, checking the target of each. */
async function followRedirects(
  url: URL,
  headers: Record<string, string>,
  options: DownloadOptions,
): Promise<HttpResponse> {
  let target = url;
  for (let step = 0; step <= MAX_REDIRECTS; step += 1) {
    refusePrivateHost(target, options.origin);
    const response = await request(target, {
      method: 'GET',
      headers,
      dispatcher: options.dispatcher,
      signal: options.signal,
      headersTimeout: options.headersTimeoutMs,
      bodyTimeout: options.bodyTimeoutMs,
    });
    const location = REDIRECTS.has(response.statusCode) ? headerOf(response, 'location') : null;
    if (location === null) return response;
    await response.body.dump();
    target = resolveRedirect(location, target);
  }
  throw new UpstreamError(`${describeUrl(url)}: more than ${MAX_REDIRECTS} redirects`);
}

function resolveRedirect(location: string, from: URL): URL {
  const target = URL.parse(location, from.href);
  if (!target || !/^https?:$/.test(target.protocol)) {
    throw new UpstreamError(`${describeUrl(from)} redirects to "${location}": refused`);
  }
  if (from.protocol === 'https:' && target.protocol === 'http:') {
    throw new UpstreamError(`${describeUrl(from)} redirects from https to http: refused`);
  }
  return target;
}

function checkResponse(url: URL, response: HttpResponse): void {
  const where = describeUrl(url);
  const status = response.statusCode;
  const refuse = (error: Error): never => {
    discard(response);
    throw error;
  };
  if (isTransientStatus(status))
    refuse(new TransientError(`HTTP ${status}`, null, status, headerOf(response, 'retry-after')));
  if (status !== 200) refuse(new UpstreamError(`${where}: HTTP ${status}`, status));
  const type = headerOf(response, 'content-type') ?? '';
  if (/^(text\/html|application\/xhtml)/i.test(type) && !/\.html?$/i.test(url.pathname)) {
    refuse(new UpstreamError(`${where}: an HTML page instead of data`, status));
  }
}

/** Destroys an unread body and ignores the error that this emits. */
function discard(response: HttpResponse): void {
  response.body.on('error', () => {}).destroy();
}

/** Fails a body that is too large or too slow. */
function limitBody(url: URL, options: DownloadOptions): Transform {
  const where = describeUrl(url);
  const { maxFileBytes, minThroughput } = options;
  const startedAt = Date.now();
  let bytes = 0;
  const findFault = (): UpstreamError | null => {
    if (bytes > maxFileBytes) return new UpstreamError(`${where}: larger than ${maxFileBytes} bytes`);
    const elapsedMs = Date.now() - startedAt;
    const requiredBytes = (minThroughput.bytesPerS * elapsedMs) / 1000;
    if (elapsedMs <= minThroughput.graceMs || bytes >= requiredBytes) return null;
    const seconds = Math.round(elapsedMs / 1000);
    return new UpstreamError(`${where}: too slow: ${bytes} bytes in ${seconds} s`);
  };
  return new Transform({
    transform(chunk: Uint8Array, _encoding, done) {
      bytes += chunk.length;
      done(findFault(), chunk);
    },
  });
}

async function save(url: URL, response: HttpResponse, file: string, options: DownloadOptions): Promise<void> {
  const limit = limitBody(url, options);
  const output = createWriteStream(file);
  const encoding = headerOf(response, 'content-encoding')?.toLowerCase() ?? 'identity';
  try {
    if (encoding === 'gzip') await pipeline(response.body, createGunzip(), limit, output);
    else if (encoding === 'identity' || encoding === '') await pipeline(response.body, limit, output);
    else throw new UpstreamError(`${describeUrl(url)}: unrequested content encoding ${encoding}`);
  } catch (error) {
    discard(response);
    options.signal.throwIfAborted();
    if (isFinal(error)) throw error;
    throw new TransientError(`the response ended early: ${describeError(error)}`, error);
  }
}
