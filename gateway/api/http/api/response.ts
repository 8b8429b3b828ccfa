/** Responses: representations and errors are sent with the documented headers. */
import type { ServerResponse } from 'node:http';
import { type ApiError, ERRORS, type ErrorCode } from '../../core/errors.ts';
import type { QuotaStatus, Result } from '../../core/result.ts';
import type { RateWindows } from '../../metering/metering.ts';
import { clientRequestId, SERVER_REQUEST_ID } from '../server/request.ts';
import { slowClients } from '../server/slow-clients.ts';
import { sendStream } from './body-stream.ts';
import {
  bodyOf,
  isStream,
  JSON_TYPE,
  joined,
  lengthOf,
  type Representation,
  type WholeBody,
} from './representation.ts';

/** The response and the data of its common headers. */
export interface ResponseContext {
  raw: ServerResponse;
  /** Ours; see `SERVER_REQUEST_ID`. */
  requestId: string;
  /** Null for callers without a valid key. */
  quota: QuotaStatus | null;
  /** Null where the answer does not depend on a snapshot. */
  snapshotId: string | null;
}

/** On every public answer. */
const COMMON = ['Access-Control-Allow-Origin', '*', 'X-Content-Type-Options', 'nosniff'] as const;
const VARY = ['Vary', 'Accept-Encoding, Authorization'] as const;
const ANONYMOUS_SUCCESS = [...COMMON, 'Cache-Control', 'public, max-age=3600, s-maxage=21600', ...VARY];
const KEYED_SUCCESS = [...COMMON, 'Cache-Control', 'private, no-store', ...VARY];
const FAILURE = [...COMMON, 'Cache-Control', 'no-store', 'Content-Type', JSON_TYPE];

/** Headers that a script of another origin may read: exactly those that we add. */
const EXPOSE = 'Access-Control-Expose-Headers';
const EXPOSED_ANONYMOUS = [
  'ETag, Retry-After, WWW-Authenticate, X-Request-Id, X-Snapshot',
  'Content-Disposition, Link, X-Attribution',
].join(', ');
const EXPOSED_KEYED = [
  EXPOSED_ANONYMOUS,
  'X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, X-Credits-Charged, X-Credits-Remaining',
  'RateLimit, RateLimit-Policy, Idempotent-Replayed',
].join(', ');

/** Indices in every header list: a cached list is sent again with another id. */
const ID_AT = 1;
const EXPOSED_AT = 3;

function commonHeaders(base: readonly string[], { requestId, snapshotId, quota }: ResponseContext): string[] {
  const exposed = quota === null ? EXPOSED_ANONYMOUS : EXPOSED_KEYED;
  const headers = ['X-Request-Id', requestId, EXPOSE, exposed, ...base];
  if (snapshotId !== null) headers.push('X-Snapshot', snapshotId);
  if (quota === null) return headers;
  const { window, windows, charged, balance, isRepeat } = quota;
  headers.push('X-RateLimit-Limit', String(window.limit), 'X-RateLimit-Remaining', String(window.remaining));
  headers.push('X-RateLimit-Reset', String(window.reset_s));
  headers.push('RateLimit-Policy', policyText(windows), 'RateLimit', limitText(windows));
  headers.push('X-Credits-Charged', String(charged), 'X-Credits-Remaining', String(balance));
  if (isRepeat) headers.push('Idempotent-Replayed', 'true');
  return headers;
}

/** The fields of draft-ietf-httpapi-ratelimit-headers: both windows, by name. */
const policyText = ({ minute, day }: RateWindows): string =>
  `"minute";q=${minute.limit};w=60, "day";q=${day.limit};w=86400`;
const limitText = ({ minute, day }: RateWindows): string =>
  `"minute";r=${minute.remaining};t=${minute.ends_in_s}, "day";r=${day.remaining};t=${day.ends_in_s}`;

function successHeaders(representation: Representation, context: ResponseContext): string[] {
  const headers = commonHeaders(context.quota === null ? ANONYMOUS_SUCCESS : KEYED_SUCCESS, context);
  if (representation.tag !== null) headers.push('ETag', representation.tag);
  if (representation.status === 304) return headers;
  headers.push('Content-Type', representation.type, ...representation.headers);
  if (representation.encoding !== 'identity') headers.push('Content-Encoding', representation.encoding);
  const { body } = representation;
  if (!isStream(body) || body.isExact) headers.push('Content-Length', String(lengthOf(body)));
  return headers;
}

/** Equal for all anonymous callers except for the id. A representation belongs to one snapshot. */
function anonymousHeaders(representation: Representation, context: ResponseContext): string[] {
  representation.anonymousHeaders ??= successHeaders(representation, context);
  representation.anonymousHeaders[ID_AT] = context.requestId;
  return representation.anonymousHeaders;
}

/** Writes the head of an answer. A client that sent an id of its own gets that back, and ours beside it. */
function writeHead({ raw, requestId }: ResponseContext, status: number, headers: string[]): void {
  const sent = clientRequestId(raw.req);
  if (sent === null) {
    raw.writeHead(status, headers);
    return;
  }
  const own = headers.with(ID_AT, sent).with(EXPOSED_AT, `${headers[EXPOSED_AT]}, ${SERVER_REQUEST_ID}`);
  raw.writeHead(status, [...own, SERVER_REQUEST_ID, requestId]);
}

/** Sends a success or a 304. @param more headers of this answer alone. */
export function sendRepresentation(
  representation: Representation,
  context: ResponseContext,
  more: readonly string[] = NO_HEADERS,
  onFault: (fault: unknown) => void = () => {},
): void {
  const headersFor = context.quota === null ? anonymousHeaders : successHeaders;
  const headers = headersFor(representation, context);
  writeHead(context, representation.status, more.length === 0 ? headers : [...headers, ...more]);
  const { body, encoding, held_bytes } = representation;
  if (isStream(body)) void sendStream(context.raw, body, encoding, onFault);
  else sendBody(context.raw, body, held_bytes);
}

const NO_HEADERS: readonly string[] = [];

/** Smaller bodies in several pieces are joined into one write. */
const JOIN_MAX_BYTES = 64 * 1024;

/** Pieces of a large body are views shared with other answers: they are handed over, never copied. */
function sendBody(raw: ServerResponse, body: WholeBody, held_bytes?: number): void {
  const bytes = lengthOf(body);
  if (typeof body === 'string') raw.end(body, 'latin1');
  else if (body.length === 1 || bytes <= JOIN_MAX_BYTES) raw.end(joined(body));
  else {
    raw.cork();
    for (const chunk of body) raw.write(chunk);
    raw.end();
  }
  slowClients.watch(raw, bytes, held_bytes);
}

function sendFailure(context: ResponseContext, status: number, headers: string[], text: string): void {
  const body = bodyOf([Buffer.from(text)]);
  headers.push('Content-Length', String(lengthOf(body)));
  writeHead(context, status, headers);
  sendBody(context.raw, body);
}

/** `{ error: { code, message } }`. */
export function errorBody({ code, message }: ApiError): string {
  return JSON.stringify({ error: { code, message: message ?? ERRORS[code].message } });
}

export function sendError(error: ApiError, context: ResponseContext): void {
  const headers = commonHeaders(FAILURE, context);
  const { status } = ERRORS[error.code];
  if (error.retryAfter_s !== undefined) headers.push('Retry-After', String(error.retryAfter_s));
  if (error.code === 'method_not_allowed') headers.push('Allow', error.allowed ?? 'GET');
  if (error.bytes !== undefined)
    headers.push('Content-Range', `bytes */${error.bytes}`, EXPOSE, 'Content-Range');
  // RFC 6750: an error is named only to a client that sent a credential.
  if (error.code === 'unauthorized') headers.push('WWW-Authenticate', 'Bearer');
  if (error.code === 'invalid_key') headers.push('WWW-Authenticate', 'Bearer error="invalid_token"');
  sendFailure(context, status, headers, errorBody(error));
}

/** What a script of another origin may send. */
const PREFLIGHT = [
  ...COMMON,
  ...['Access-Control-Allow-Methods', 'GET', 'Access-Control-Allow-Headers'],
  'Authorization, If-None-Match, Idempotency-Key, Prefer, X-Request-Id, Range, If-Range',
  ...['Access-Control-Max-Age', '86400'],
];

/** Answers a browser that asks before a script's call (the Fetch standard). The same for every public route. */
export function sendPreflight(context: ResponseContext): void {
  writeHead(context, 204, commonHeaders(PREFLIGHT, context));
  context.raw.end();
}

/** Errors that depend on what the snapshot holds: they name it. */
const FROM_SNAPSHOT: ReadonlySet<ErrorCode> = new Set([
  'country_not_found',
  'indicator_not_found',
  'figure_not_found',
  'not_rankable',
  'export_restricted',
]);

interface ResultTarget {
  raw: ServerResponse;
  requestId: string;
  /** Whether successes come from the snapshot. */
  namesSnapshot: boolean;
  /** Alternating names and values of headers of this answer alone. */
  headers: readonly string[];
}

/** Sends the result of an operation. */
export function sendResult(
  result: Result<Representation>,
  { raw, requestId, namesSnapshot, headers }: ResultTarget,
): void {
  const { quota, snapshot } = result;
  const snapshotId = namesSnapshot && snapshot !== null ? snapshot.id : null;
  if (result.kind === 'success') {
    const { rendered } = result;
    const from = snapshotId === null ? null : (rendered.edition ?? snapshotId);
    sendRepresentation(rendered, { raw, requestId, quota, snapshotId: from }, headers, result.onFault);
  } else if (result.kind === 'error') {
    const named = FROM_SNAPSHOT.has(result.error.code) ? snapshotId : null;
    sendError(result.error, { raw, requestId, quota, snapshotId: named });
  } else {
    const context: ResponseContext = { raw, requestId, quota, snapshotId: null };
    const body = JSON.stringify({ detail: result.detail });
    sendFailure(context, 422, [...commonHeaders(FAILURE, context), ...headers], body);
  }
}
