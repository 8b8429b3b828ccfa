/** Responses: representations and errors are sent with the documented headers. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { type ApiError, ERRORS, type ErrorCode } from '../../core/errors.ts';
import type { QuotaStatus, Result } from '../../core/execute.ts';
import type { RateWindows } from '../../metering/metering.ts';
import { slowClients } from '../server/overload.ts';
import { sendStream } from './body-stream.ts';
import { isStream, JSON_TYPE, joined, lengthOf, type Representation } from './representation.ts';

/** What the common headers of an answer tell. */
export interface ResponseContext {
  /** Null for callers without a valid key. */
  quota: QuotaStatus | null;
  /** Null where the answer does not depend on a snapshot. */
  snapshotId: string | null;
}

/** On every public answer. */
const COMMON = ['access-control-allow-origin', '*', 'x-content-type-options', 'nosniff'] as const;
const VARY = ['vary', 'Accept-Encoding, Authorization'] as const;
const ANONYMOUS_SUCCESS = [...COMMON, 'cache-control', 'public, max-age=3600, s-maxage=21600', ...VARY];
const KEYED_SUCCESS = [...COMMON, 'cache-control', 'private, no-store', ...VARY];
const FAILURE = [...COMMON, 'cache-control', 'no-store', 'content-type', JSON_TYPE];

/** Headers that a script of another origin may read: exactly those that we add. */
const EXPOSE = 'access-control-expose-headers';
const EXPOSED_ANONYMOUS = [
  'ETag, Retry-After, WWW-Authenticate, X-Request-Id, X-Snapshot',
  'Content-Disposition, Link, X-Attribution',
].join(', ');
const EXPOSED_KEYED = [
  EXPOSED_ANONYMOUS,
  'X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, X-Credits-Charged, X-Credits-Remaining',
  'RateLimit, RateLimit-Policy, Idempotent-Replayed',
].join(', ');

const SAFE_ID = /^[A-Za-z0-9._-]{1,64}$/;

/** Names our own id in answers to a client that sent one: ours alone is unique, in ledger, audit log and log. */
export const SERVER_REQUEST_ID = 'X-Server-Request-Id';

/** The client's `X-Request-Id`, to be repeated in its answer; null where there is none or it is not safe to repeat. */
export function clientRequestId({ headers }: Pick<IncomingMessage, 'headers'>): string | null {
  const sent = headers['x-request-id'];
  return typeof sent === 'string' && SAFE_ID.test(sent) ? sent : null;
}

/** A client that sent an id of its own gets that back, and ours beside it. */
function commonHeaders(
  base: readonly string[],
  { snapshotId, quota }: ResponseContext,
  request: IncomingMessage,
  requestId: string,
): string[] {
  const exposed = quota === null ? EXPOSED_ANONYMOUS : EXPOSED_KEYED;
  const sent = clientRequestId(request);
  const headers = ['x-request-id', sent ?? requestId, EXPOSE];
  if (sent === null) headers.push(exposed, ...base);
  else headers.push(`${exposed}, ${SERVER_REQUEST_ID}`, ...base, SERVER_REQUEST_ID, requestId);
  if (snapshotId !== null) headers.push('x-snapshot', snapshotId);
  if (quota === null) return headers;
  const { window, windows, charged, balance, isRepeat } = quota;
  headers.push('x-ratelimit-limit', String(window.limit), 'x-ratelimit-remaining', String(window.remaining));
  headers.push('x-ratelimit-reset', String(window.reset_s));
  headers.push('ratelimit-policy', policyText(windows), 'ratelimit', limitText(windows));
  headers.push('x-credits-charged', String(charged), 'x-credits-remaining', String(balance));
  if (isRepeat) headers.push('idempotent-replayed', 'true');
  return headers;
}

/** The fields of draft-ietf-httpapi-ratelimit-headers: both windows, by name. */
const policyText = ({ minute, day }: RateWindows): string =>
  `"minute";q=${minute.limit};w=60, "day";q=${day.limit};w=86400`;
const limitText = ({ minute, day }: RateWindows): string =>
  `"minute";r=${minute.remaining};t=${minute.ends_in_s}, "day";r=${day.remaining};t=${day.ends_in_s}`;

/** Names that an answer may have more than once. */
const REPEATABLE: ReadonlySet<string> = new Set([EXPOSE, 'link', 'vary']);

/**
 * Sets the status and alternating names and values. Names are in lower case: the framework's lower-casing of others, and its
 * look-ups by such new strings, took 3 µs an answer.
 */
export function setHead(reply: FastifyReply, status: number, headers: readonly string[]): void {
  reply.code(status);
  for (let at = 0; at < headers.length; at += 2) {
    const [name = '', value = ''] = [headers[at], headers[at + 1]];
    const isMore = REPEATABLE.has(name) && headers.indexOf(name) < at;
    reply.header(name, isMore ? [reply.getHeader(name) ?? [], value].flat() : value);
  }
}

/**
 * Pieces of a larger body are views shared with other answers, and handed over. Joined, a whole indicator as JSON cost
 * 1,512 instead of 288 µs of processor time: memory outside the heap has V8 collect it.
 */
const JOIN_MAX_BYTES = 64 * 1024;

/** Pieces that are in memory anyway, written in one system call. One by one, a whole indicator as JSON took 50 µs more. */
class HeldPieces extends Readable {
  readonly #pieces: readonly Buffer[];

  constructor(pieces: readonly Buffer[]) {
    super({ autoDestroy: false });
    this.#pieces = pieces;
  }

  override pipe<Into extends NodeJS.WritableStream>(into: Into): Into {
    for (const piece of this.#pieces) into.write(piece);
    this.push(null);
    this.read();
    into.end();
    return into;
  }
}

const headersOf = (base: readonly string[], context: ResponseContext, reply: FastifyReply): string[] =>
  commonHeaders(base, context, reply.request.raw, reply.request.id);

/** Sends a success or a 304. @param more headers of this answer alone. */
export function sendRepresentation(
  reply: FastifyReply,
  representation: Representation,
  context: ResponseContext,
  more: readonly string[] = [],
  onFault: (fault: unknown) => void = () => {},
): void {
  const { status, tag, type, encoding, body, held_bytes } = representation;
  const headers = headersOf(context.quota === null ? ANONYMOUS_SUCCESS : KEYED_SUCCESS, context, reply);
  headers.push(...more);
  if (tag !== null) headers.push('etag', tag);
  if (status !== 304) {
    headers.push('content-type', type, ...representation.headers);
    if (encoding !== 'identity') headers.push('content-encoding', encoding);
  }
  const bytes = lengthOf(body);
  const isLong = isStream(body);
  const isLarge = !isLong && body.length > 1 && bytes > JOIN_MAX_BYTES;
  if (isLarge || (isLong && body.isExact)) headers.push('content-length', String(bytes));
  setHead(reply, status, headers);
  if (isLong) sendStream(reply, body, encoding, onFault);
  else if (body.length === 0) reply.send();
  else {
    reply.send(isLarge ? new HeldPieces(body) : joined(body));
    slowClients.watch(reply.raw, bytes, held_bytes);
  }
}

/** `{ error: { code, message } }`. */
export function errorBody({ code, message }: ApiError): string {
  return JSON.stringify({ error: { code, message: message ?? ERRORS[code].message } });
}

/** For an answer that names neither a caller nor a snapshot. */
const NO_CONTEXT: ResponseContext = { quota: null, snapshotId: null };

function errorHeaders(error: ApiError, common: string[]): string[] {
  const headers = [...common];
  if (error.retryAfter_s !== undefined) headers.push('retry-after', String(error.retryAfter_s));
  if (error.code === 'method_not_allowed') headers.push('allow', error.allowed ?? 'GET');
  if (error.bytes !== undefined)
    headers.push('content-range', `bytes */${error.bytes}`, EXPOSE, 'Content-Range');
  // RFC 6750: an error is named only to a client that sent a credential.
  if (error.code === 'unauthorized') headers.push('www-authenticate', 'Bearer');
  if (error.code === 'invalid_key') headers.push('www-authenticate', 'Bearer error="invalid_token"');
  return headers;
}

export function sendError(reply: FastifyReply, error: ApiError, context = NO_CONTEXT): void {
  setHead(reply, ERRORS[error.code].status, errorHeaders(error, headersOf(FAILURE, context, reply)));
  sendText(reply, errorBody(error));
}

/** Answers a request that never reaches the framework. */
export function writeError(raw: ServerResponse, error: ApiError, requestId: string): void {
  const body = errorBody(error);
  const headers = errorHeaders(error, commonHeaders(FAILURE, NO_CONTEXT, raw.req, requestId));
  headers.push('content-length', String(Buffer.byteLength(body)));
  raw.writeHead(ERRORS[error.code].status, headers).end(body);
}

/** A refusal for people, where the answer is shown as it is. */
export function sendPlainText(
  reply: FastifyReply,
  status: number,
  text: string,
  more: readonly string[],
): void {
  const headers = headersOf(FAILURE, NO_CONTEXT, reply);
  setHead(reply, status, [...headers, 'content-type', 'text/plain; charset=utf-8', ...more]);
  sendText(reply, text);
}

function sendText(reply: FastifyReply, text: string): void {
  reply.send(text);
  slowClients.watch(reply.raw, Buffer.byteLength(text));
}

/** What a script of another origin may send. */
const PREFLIGHT = [
  ...COMMON,
  ...['access-control-allow-methods', 'GET', 'access-control-allow-headers'],
  'Authorization, If-None-Match, Idempotency-Key, Prefer, X-Request-Id, Range, If-Range',
  ...['access-control-max-age', '86400'],
];

/** Answers a browser that asks before a script's call (the Fetch standard). The same for every public route. */
export function sendPreflight(reply: FastifyReply): void {
  setHead(reply, 204, headersOf(PREFLIGHT, NO_CONTEXT, reply));
  reply.send();
}

/** Errors that depend on what the snapshot holds: they name it. */
const FROM_SNAPSHOT: ReadonlySet<ErrorCode> = new Set([
  'country_not_found',
  'indicator_not_found',
  'figure_not_found',
  'not_rankable',
  'export_restricted',
]);

/**
 * Sends the result of an operation.
 * @param namesSnapshot whether successes come from the snapshot. @param headers alternating names and values of this answer alone.
 */
export function sendResult(
  reply: FastifyReply,
  result: Result<Representation>,
  { namesSnapshot, headers }: { namesSnapshot: boolean; headers: readonly string[] },
): void {
  const { quota, snapshot } = result;
  const snapshotId = namesSnapshot && snapshot !== null ? snapshot.id : null;
  if (result.kind === 'success') {
    const { rendered } = result;
    const from = snapshotId === null ? null : (rendered.edition ?? snapshotId);
    sendRepresentation(reply, rendered, { quota, snapshotId: from }, headers, result.onFault);
  } else if (result.kind === 'error') {
    const named = FROM_SNAPSHOT.has(result.error.code) ? snapshotId : null;
    sendError(reply, result.error, { quota, snapshotId: named });
  } else {
    setHead(reply, 422, [...headersOf(FAILURE, { quota, snapshotId: null }, reply), ...headers]);
    sendText(reply, JSON.stringify({ detail: result.detail }));
  }
}
