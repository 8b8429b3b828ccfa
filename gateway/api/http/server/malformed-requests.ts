/** Requests that are not clean HTTP are refused before they are routed: by our checks, and by Node's HTTP parser. */
import {
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http';
import type { Socket } from 'node:net';
import { type ApiError, ERRORS, type ErrorCode } from '../../core/errors.ts';
import { hasTooManyPairs, PAIRS_MAX } from '../../operations/operations.ts';
import { errorBody, writeError } from '../api/response.ts';

const HOST = /^(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::(\d{0,5}))?$/;
const PORT_MAX = 65_535;

const NO_HOST: ApiError = { code: 'bad_request', message: 'A request needs exactly one Host header.' };
const BAD_HOST: ApiError = {
  code: 'bad_request',
  message: 'Host must be a name or address, with or without a port.',
};
const BAD_CODING: ApiError = {
  code: 'bad_request',
  message: 'The only supported Transfer-Encoding is chunked.',
};
const TOO_MANY_PARAMETERS: ApiError = {
  code: 'bad_request',
  message: `A query may have at most ${PAIRS_MAX} parameters, each repetition counted.`,
};
const BAD_EXPECTATION: ApiError = { code: 'expectation_failed' };

/**
 * Serves the requests of a server that satisfy all of this: one valid Host, a body whose end is certain, an expectation that can
 * be met, and a query with a bounded number of parameters. Any other request is answered with an error, and its connection
 * closes: what follows on it, pipelined requests included, may be part of something else. @param newId gives a unique request id.
 */
export function serveChecked(server: Server, listener: RequestListener, newId: () => string): void {
  const closing = new WeakSet<Socket>();
  const refuse = (error: ApiError, { socket }: IncomingMessage, raw: ServerResponse): void => {
    closing.add(socket);
    raw.shouldKeepAlive = false;
    writeError(raw, error, newId());
  };
  const serve = (request: IncomingMessage, response: ServerResponse): void => {
    if (closing.has(request.socket)) return;
    const fault = faultOf(request);
    if (fault === null) listener(request, response);
    else refuse(fault, request, response);
  };
  server.on('request', serve);
  // Node asks the first for every value that contains `100-continue`, the second for all others.
  server.on('checkContinue', (request, response) => {
    if (closing.has(request.socket)) return;
    const isMet = request.headers.expect?.toLowerCase() === '100-continue';
    const fault = faultOf(request) ?? (isMet ? null : BAD_EXPECTATION);
    if (fault !== null) return refuse(fault, request, response);
    response.writeContinue();
    listener(request, response);
  });
  server.on('checkExpectation', (request, response) => {
    if (!closing.has(request.socket)) refuse(faultOf(request) ?? BAD_EXPECTATION, request, response);
  });
}

/** Null for a request that can be served. */
function faultOf({ headers, rawHeaders, httpVersionMinor, url = '' }: IncomingMessage): ApiError | null {
  const isOld = httpVersionMinor === 0;
  const { host } = headers;
  const coding = headers['transfer-encoding'];
  if (countHosts(rawHeaders) !== 1 && !(isOld && host === undefined)) return NO_HOST;
  if (host !== undefined && !isValidHost(host)) return BAD_HOST;
  if (coding !== undefined && (isOld || coding.toLowerCase() !== 'chunked')) return BAD_CODING;
  return hasTooManyPairs(queryString(url)) ? TOO_MANY_PARAMETERS : null;
}

/** The router takes what follows a `#` for a query, too. */
const queryString = (url: string): string => url.slice(url.search(/[?#]/) + 1);

function isValidHost(host: string): boolean {
  const match = HOST.exec(host);
  return match !== null && Number(match[1] ?? 0) <= PORT_MAX;
}

/** Counts in the raw headers, because Node keeps only the first Host. */
function countHosts(rawHeaders: readonly string[]): number {
  let count = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? '';
    if (name.length === 4 && name.toLowerCase() === 'host') count += 1;
  }
  return count;
}

/** How long a refused client has to read the answer. */
const LINGER_MS = 1_000;

const REQUEST_LINE = /^[A-Z]+ \S+ HTTP\/1\.[01]\r?\n/;

/** An error of Node's HTTP parser; `rawPacket` holds the bytes at which it stopped. */
interface ParserError {
  code: string;
  rawPacket: unknown;
}

/** The pending answer of a connection, and the request that its parser reads. */
interface HttpSocket extends Socket {
  _httpMessage?: ServerResponse | null;
  parser?: { incoming: IncomingMessage | null } | null;
}

/** Most pieces in which a body arrives: until it is whole, each takes a hundred bytes and more, however short it is. */
const PIECES_MAX = 4_096;

/** A body that is not HTTP to its end, or comes in too many pieces. */
export class BrokenBody extends Error {
  override name = 'BrokenBody';
  readonly statusCode = 400;
}

const brokenBodies = new WeakSet<IncomingMessage>();

/** Whether the body was found to be broken before anybody read it. */
export const isBodyBroken = (request: IncomingMessage): boolean => brokenBodies.has(request);

/** Breaks a body off that comes in too many pieces. Starts to read it. */
export function boundPieces(request: IncomingMessage): void {
  let pieces = 0;
  request.on('data', () => {
    pieces += 1;
    if (pieces > PIECES_MAX && !isBodyBroken(request)) breakBody(request);
  });
}

/**
 * Answers requests that the HTTP parser rejects, never with its own message, and closes their connection.
 *
 * - Within a body: whoever reads it gets a `BrokenBody`, which is answered like any other error of the request. An answer
 *   that needs no body is sent as it is.
 * - Elsewhere, the error is written to the connection. While earlier requests wait for their answers, the connection only
 *   ends after those: an error sent now would be taken for the answer to one of them.
 */
export function clientErrors(randomId: () => string) {
  return (error: ParserError, socket: HttpSocket): void => {
    if (lingering.has(socket) && error.code !== 'ECONNRESET') return;
    if (!socket.writable || error.code === 'ECONNRESET') {
      socket.destroy();
      return;
    }
    lingerAtClose(socket);
    const { _httpMessage: pending, parser } = socket;
    const request = parser?.incoming;
    if (request && !request.complete) {
      if (pending?.req === request && !pending.headersSent) pending.shouldKeepAlive = false;
      breakBody(request);
    } else if (!pending) socket.write(refusal(clientErrorCode(error), randomId()));
    closeAfterAnswers(socket);
  };
}

const lingering = new WeakSet<Socket>();

/**
 * Node closes a connection after its last answer by `destroySoon`. What still arrives is discarded for a while: closing at
 * once would reset the connection before the client has read the answer.
 */
function lingerAtClose(socket: Socket): void {
  lingering.add(socket);
  socket.destroySoon = () => {
    socket.end();
    setTimeout(() => socket.destroy(), LINGER_MS).unref();
  };
}

/** Tells whoever reads the body, now or later. */
function breakBody(request: IncomingMessage): void {
  brokenBodies.add(request);
  lingerAtClose(request.socket);
  if (request.listenerCount('error') > 0) request.emit('error', new BrokenBody());
}

function closeAfterAnswers(socket: HttpSocket): void {
  if (socket._httpMessage) socket._httpMessage.once('close', () => closeAfterAnswers(socket));
  else socket.destroySoon();
}

function refusal(code: ErrorCode, requestId: string): string {
  const { status } = ERRORS[code];
  const body = errorBody({ code });
  const lines = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Cache-Control: no-store',
    'X-Content-Type-Options: nosniff',
    `X-Request-Id: ${requestId}`,
    ...(code === 'method_not_allowed' ? ['Allow: GET'] : []),
    'Connection: close',
  ];
  return `${lines.join('\r\n')}\r\n\r\n${body}`;
}

function clientErrorCode(error: ParserError): ErrorCode {
  if (error.code === 'HPE_HEADER_OVERFLOW') return 'header_too_large';
  // A method that HTTP does not know is still a method other than GET.
  const text = Buffer.isBuffer(error.rawPacket) ? error.rawPacket.toString('latin1', 0, 16_384) : '';
  if (error.code === 'HPE_INVALID_METHOD' && REQUEST_LINE.test(text)) return 'method_not_allowed';
  return 'bad_request';
}
