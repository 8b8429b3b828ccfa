/** Handles what Node's HTTP parser rejects. No answer shows the parser's own message. */
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { ERRORS, type ErrorCode } from '../../core/errors.ts';
import { errorBody } from '../api/response.ts';

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
 * Answers requests that the HTTP parser rejects, and closes their connection.
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
