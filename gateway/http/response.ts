/**
 * Responses: content becomes a representation (encoded, compressed, tagged) and is sent with the documented headers.
 */
import { hash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { type ApiError, ERRORS, type ErrorCode } from '../errors.ts';
import type { RateWindows } from '../metering/metering.ts';
import type { Content, PageFacts } from '../operations/operation.ts';
import type { QuotaStatus, Result } from '../result.ts';
import type { Edition } from '../snapshot/edition.ts';
import type { Encoding } from '../snapshot/route-files.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import { type BodyStream, isLong, openStream, sendStream } from './body-stream.ts';
import { chooseEncoding, compress } from './compression.ts';
import { linkHeaders } from './link-headers.ts';
import { pageHeaders } from './page-headers.ts';
import { clientRequestId, SERVER_REQUEST_ID } from './request.ts';
import { disposition, downloadHeaders, piecesOf } from './row-content.ts';
import { slowClients } from './slow-clients.ts';

const JSON_TYPE = 'application/json; charset=utf-8';
/** Compressed as it is. */
/** Types of documents that gain nothing from compression, or are read in parts. */
const INCOMPRESSIBLE: ReadonlySet<string> = new Set(['image/png', 'application/octet-stream']);

type WholeBody = string | readonly Buffer[];

const isStream = (body: Representation['body']): body is BodyStream =>
  typeof body === 'object' && 'pieces' in body;

/** A body ready to be sent, to any number of callers. */
export interface Representation {
  status: 200 | 304 | 404;
  type: string;
  /** Alternating names and values, in addition to those on every answer. */
  headers: readonly string[];
  encoding: Encoding;
  /** Strong entity tag; null on answers that no cache may keep. */
  tag: string | null;
  /** Id of the edition that answers; null for the served one. */
  edition: string | null;
  /** A small body as Latin-1 text, a character per byte; a larger one in pieces; one too long to be held, as a stream. */
  body: WholeBody | BodyStream;
  /** All headers of an anonymous answer, except for the request id; null until first sent. */
  anonymousHeaders: string[] | null;
}

/** Request headers that decide the representation. */
export interface Preferences {
  /** As sent, without what the operation ignores. */
  readonly url: string;
  acceptEncoding: string | undefined;
  ifNoneMatch: string | undefined;
  /** Answers of cacheable operations carry entity tags. */
  isTagged: boolean;
}

/**
 * Bodies up to this size are sent as text, because Node writes text, and only text, together with the headers: a tenth of
 * the cost of a cached answer. Above it, text costs more than buffers.
 */
export const TEXT_MAX_BYTES = 12 * 1024;
/** Smaller bodies gain nothing from compression. */
const COMPRESSION_MIN_BYTES = 1500;

type FormOfRows = Pick<Representation, 'type' | 'headers' | 'edition'> & { isCompressible: boolean };
type Form = Pick<Representation, 'type' | 'headers' | 'encoding' | 'tag' | 'edition'>;

export function represent(
  content: Content,
  preferences: Preferences,
  snapshot: Snapshot,
  edition?: Pick<Edition, 'id'>,
): Representation | Promise<Representation> {
  const id = edition?.id ?? null;
  const links = linkHeaders(content, preferences);
  if (content.kind === 'file') return representFile(content.path, links, preferences, snapshot);
  if (content.kind === 'document') {
    const { json, mediaType: type = JSON_TYPE, fileName, page } = content;
    const isCompressible = !INCOMPRESSIBLE.has(type);
    if (page) return representPage(json, page, { type, isCompressible, edition: id }, preferences);
    const headers = fileName === undefined ? links : [...links, ...disposition(fileName)];
    return representBytes([json], { type, headers, isCompressible, edition: id }, preferences);
  }
  const { mediaType: type, isCompressible } = content.encoder;
  const headers = [...links, ...downloadHeaders(content)];
  const about = { type, headers, isCompressible, edition: id };
  if (content.kind === 'table' && isLong(content.table)) {
    const opened = openStream(content.table, content.encoder.stream(content.table));
    return opened.then((stream) => representStream(stream, about, preferences));
  }
  return piecesOf(content).then((made) => representBytes(made, about, preferences));
}

async function representPage(
  bytes: Buffer,
  { status, isEmbeddable }: PageFacts,
  form: Omit<FormOfRows, 'headers'>,
  preferences: Preferences,
): Promise<Representation> {
  const isTagged = status === 200;
  const headers = pageHeaders(isEmbeddable);
  const made = await representBytes([bytes], { ...form, headers }, { ...preferences, isTagged });
  return isTagged ? made : { ...made, status };
}

function representStream(
  stream: BodyStream,
  { type, headers, isCompressible, edition }: FormOfRows,
  { acceptEncoding }: Preferences,
): Representation {
  const encoding = isCompressible ? chooseEncoding(acceptEncoding) : 'identity';
  return { ...ok({ type, headers, encoding, tag: null, edition }, []), body: stream };
}

function representFile(
  path: string,
  headers: readonly string[],
  { acceptEncoding, isTagged, ifNoneMatch }: Preferences,
  { routes }: Snapshot,
): Representation | Promise<Representation> {
  const encoding = chooseEncoding(acceptEncoding);
  const tag = isTagged ? routes.tag(path, encoding) : null;
  const form: Form = { type: JSON_TYPE, headers, encoding, tag, edition: null };
  if (isNotModified(form, ifNoneMatch)) return notModified(form);
  const bytes = routes.bytes(path, encoding);
  return bytes instanceof Promise ? bytes.then((whole) => ok(form, [whole])) : ok(form, [bytes]);
}

function representBytes(
  chunks: readonly Buffer[],
  { type, headers, isCompressible, edition }: FormOfRows,
  { acceptEncoding, isTagged, ifNoneMatch }: Preferences,
): Representation | Promise<Representation> {
  const isPlain = !isCompressible || lengthOf(chunks) < COMPRESSION_MIN_BYTES;
  const encoding = isPlain ? 'identity' : chooseEncoding(acceptEncoding);
  const tag = isTagged ? contentTag(chunks, encoding) : null;
  const form: Form = { type, headers, encoding, tag, edition };
  if (isNotModified(form, ifNoneMatch)) return notModified(form);
  if (encoding === 'identity') return ok(form, chunks);
  const compressed = compress(chunks, encoding);
  return compressed instanceof Promise
    ? compressed.then((whole) => ok(form, [whole]))
    : ok(form, [compressed]);
}

/** From the plain content and the coding, so that every replica gives equal content an equal tag. */
function contentTag(chunks: readonly Buffer[], encoding: Encoding): string {
  const digest = hash('sha256', joined(chunks), 'hex');
  return `"${digest.slice(0, 32)}-${encoding}"`;
}

/** Whether `If-None-Match` names the tag. Weak tags match, because an intermediate cache may have weakened ours. */
export function isNotModified({ tag }: Pick<Form, 'tag'>, ifNoneMatch: string | undefined): boolean {
  if (tag === null || ifNoneMatch === undefined) return false;
  if (ifNoneMatch === tag) return true;
  return ifNoneMatch.split(',').some((candidate) => {
    const trimmed = candidate.trim();
    return trimmed === '*' || (trimmed.startsWith('W/') ? trimmed.slice(2) : trimmed) === tag;
  });
}

export const notModified = ({ type, headers, encoding, tag, edition }: Form): Representation => ({
  status: 304,
  type,
  headers,
  encoding,
  tag,
  edition,
  body: '',
  anonymousHeaders: null,
});

const ok = ({ type, headers, encoding, tag, edition }: Form, chunks: readonly Buffer[]): Representation => ({
  status: 200,
  type,
  headers,
  encoding,
  tag,
  edition,
  body: bodyOf(chunks),
  anonymousHeaders: null,
});

/** About, for a stream. */
export function lengthOf(body: Representation['body']): number {
  if (typeof body === 'string') return body.length;
  return isStream(body) ? body.bytes : body.reduce((total, { length }) => total + length, 0);
}

const bodyOf = (chunks: readonly Buffer[]): WholeBody =>
  lengthOf(chunks) > TEXT_MAX_BYTES ? chunks : joined(chunks).toString('latin1');

const joined = (chunks: readonly Buffer[]): Buffer =>
  chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks);

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
  if (!isStream(representation.body)) headers.push('Content-Length', String(lengthOf(representation.body)));
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
  const { body, encoding } = representation;
  if (isStream(body)) void sendStream(context.raw, body, encoding, onFault);
  else sendBody(context.raw, body);
}

const NO_HEADERS: readonly string[] = [];

/** Smaller bodies in several pieces are joined into one write. */
const JOIN_MAX_BYTES = 64 * 1024;

/** Pieces of a large body are views shared with other answers: they are handed over, never copied. */
function sendBody(raw: ServerResponse, body: WholeBody): void {
  const bytes = lengthOf(body);
  if (typeof body === 'string') raw.end(body, 'latin1');
  else if (body.length === 1 || bytes <= JOIN_MAX_BYTES) raw.end(joined(body));
  else {
    raw.cork();
    for (const chunk of body) raw.write(chunk);
    raw.end();
  }
  slowClients.watch(raw, bytes);
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
  if (error.code === 'method_not_allowed') headers.push('Allow', 'GET');
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
