/**
 * Puts an answer on the wire: the headers that the interface promises, by case, and the body.
 *
 * The header lists are built once where they can be; a request adds its own id, length and standing.
 */
import type { ServerResponse } from 'node:http';
import { ERRORS, type ErrorCode } from '../errors.ts';
import type { RateWindow } from '../metering/metering.ts';
import type { ValidationDetail } from '../operations/validation.ts';
import { contentOf, JSON_TYPE, joined, lengthOf, type Representation } from './representation.ts';
import { slowReaders } from './slow-readers.ts';

/** Where an authenticated caller stands after the request; anonymous answers have none. */
export interface QuotaStatus {
  balance: number;
  window: RateWindow;
  charged: number;
}

/** The response and what every answer to it carries. */
export interface ResponseContext {
  raw: ServerResponse;
  requestId: string;
  standing: QuotaStatus | null;
  /** The id of the snapshot that the answer comes from, if it does. */
  snapshotId: string | null;
}

/** A refusal that is ready to be sent. */
export interface Refusal {
  code: ErrorCode;
  /** In place of the catalogue's text, when something more particular can be said. */
  message?: string;
  retryAfterS?: number;
}

const PUBLIC_CACHING = 'public, max-age=3600, s-maxage=21600';
const PRIVATE_CACHING = 'private, no-store';
const NO_CACHING = 'no-store';

/** On every public answer: any page may read it, and nobody guesses its type. */
const OPEN = ['Access-Control-Allow-Origin', '*', 'X-Content-Type-Options', 'nosniff'] as const;
const SUCCESS_ANONYMOUS = [
  ...OPEN,
  'Cache-Control',
  PUBLIC_CACHING,
  'Vary',
  'Accept-Encoding, Authorization',
];
const SUCCESS_KEYED = [...OPEN, 'Cache-Control', PRIVATE_CACHING, 'Vary', 'Accept-Encoding, Authorization'];
const FAILURE = [...OPEN, 'Cache-Control', NO_CACHING, 'Content-Type', JSON_TYPE];

/** What a script on another site may read of an answer: everything we add, and only what we do add. */
const EXPOSE = 'Access-Control-Expose-Headers';
const EXPOSED_ANONYMOUS = 'ETag, Retry-After, X-Request-Id, X-Snapshot';
const EXPOSED_KEYED = [
  EXPOSED_ANONYMOUS,
  'Content-Disposition, Link, X-Attribution',
  'X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, X-Credits-Charged, X-Credits-Remaining',
].join(', ');

/** Small bodies in several pieces go out as one. */
const JOIN_MAX_BYTES = 64 * 1024;

/** Where the request's id stands in every header list. */
const ID_AT = 1;

/** Every list begins with the request's id, so that a list that is kept can be sent again for another one. */
function commonHeaders(base: readonly string[], exchange: ResponseContext): string[] {
  const headers = ['X-Request-Id', exchange.requestId, ...base];
  if (exchange.snapshotId !== null) headers.push('X-Snapshot', exchange.snapshotId);
  const { standing } = exchange;
  headers.push(EXPOSE, standing === null ? EXPOSED_ANONYMOUS : EXPOSED_KEYED);
  if (standing === null) return headers;
  const { window, charged, balance } = standing;
  headers.push('X-RateLimit-Limit', String(window.limit), 'X-RateLimit-Remaining', String(window.remaining));
  headers.push('X-RateLimit-Reset', String(window.reset_s));
  headers.push('X-Credits-Charged', String(charged), 'X-Credits-Remaining', String(balance));
  return headers;
}

function headersOf(representation: Representation, exchange: ResponseContext): string[] {
  const headers = commonHeaders(exchange.standing === null ? SUCCESS_ANONYMOUS : SUCCESS_KEYED, exchange);
  if (representation.tag !== null) headers.push('ETag', representation.tag);
  if (representation.status === 304) return headers;
  headers.push('Content-Type', representation.type, ...representation.headers);
  if (representation.encoding !== 'identity') headers.push('Content-Encoding', representation.encoding);
  headers.push('Content-Length', String(lengthOf(representation.content)));
  return headers;
}

/** The same for all who have no standing: only the id is another. A representation is of one snapshot. */
function openHeaders(representation: Representation, exchange: ResponseContext): string[] {
  representation.openHeaders ??= headersOf(representation, exchange);
  representation.openHeaders[ID_AT] = exchange.requestId;
  return representation.openHeaders;
}

/** Sends a success or a 304. A caller that goes away in the middle is nobody's fault and ends quietly. */
export function sendRepresentation(representation: Representation, exchange: ResponseContext): void {
  const headersFor = exchange.standing === null ? openHeaders : headersOf;
  exchange.raw.writeHead(representation.status, headersFor(representation, exchange));
  sendContent(exchange.raw, representation.content);
}

/** The pieces of a large body are views that other answers share: they are handed over, never copied. */
function sendContent(raw: ServerResponse, content: Representation['content']): void {
  const bytes = lengthOf(content);
  if (typeof content === 'string') raw.end(content, 'latin1');
  else if (content.length === 1 || bytes <= JOIN_MAX_BYTES) raw.end(joined(content));
  else {
    raw.cork();
    for (const chunk of content) raw.write(chunk);
    raw.end();
  }
  slowReaders.watch(raw, bytes);
}

function sendFailure(raw: ServerResponse, status: number, headers: string[], body: string): void {
  const content = contentOf([Buffer.from(body)]);
  headers.push('Content-Length', String(lengthOf(content)));
  raw.writeHead(status, headers);
  sendContent(raw, content);
}

/** `{ error: { code, message } }`. */
export function errorBody({ code, message }: Refusal): string {
  return JSON.stringify({ error: { code, message: message ?? ERRORS[code].message } });
}

export function sendRefusal(refusal: Refusal, exchange: ResponseContext): void {
  const headers = commonHeaders(FAILURE, exchange);
  if (refusal.retryAfterS !== undefined) headers.push('Retry-After', String(refusal.retryAfterS));
  if (refusal.code === 'method_not_allowed') headers.push('Allow', 'GET');
  if (ERRORS[refusal.code].status === 401) headers.push('WWW-Authenticate', 'Bearer');
  sendFailure(exchange.raw, ERRORS[refusal.code].status, headers, errorBody(refusal));
}

/** The validation body of a 422. */
export function sendInvalid(detail: readonly ValidationDetail[], exchange: ResponseContext): void {
  const headers = commonHeaders(FAILURE, exchange);
  sendFailure(exchange.raw, 422, headers, JSON.stringify({ detail }));
}
