/**
 * Answers to what no route takes: 405 for another method on a public path, 404 elsewhere, and the faults of the
 * framework and of HTTP itself. Nobody ever sees a stack, a path or a framework's own words.
 */
import { type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { ERRORS, type ErrorCode } from '../errors.ts';
import { errorBody, type ResponseContext, sendRefusal } from './send.ts';

const exchangeOf = (request: FastifyRequest, reply: FastifyReply): ResponseContext => ({
  raw: reply.raw,
  requestId: request.id,
  standing: null,
  snapshotId: null,
});

function refuse(request: FastifyRequest, reply: FastifyReply, code: ErrorCode, message?: string): void {
  reply.hijack();
  reply.facts = { route: 'none', keyId: null, creditsCharged: 0 };
  sendRefusal(message === undefined ? { code } : { code, message }, exchangeOf(request, reply));
}

/** A matcher of paths that have a GET route; `{name}` stands for one segment. */
function pathMatcher(templates: readonly string[]): (url: string) => boolean {
  const patterns = templates.map((template) => template.replaceAll(/\{[^}]+\}/g, '[^/]+'));
  const matcher = new RegExp(`^(?:${patterns.join('|')})$`);
  return (url) => matcher.test(url.split('?', 1)[0] ?? '');
}

/**
 * Refuses what no route takes before its body is read.
 * @param templates paths that answer GET, for telling 405 from 404.
 */
export function installFallback(app: FastifyInstance, templates: readonly string[], log: Logger): void {
  const hasGet = pathMatcher(templates);
  const fallback = (request: FastifyRequest, reply: FastifyReply): void => {
    const wrongMethod = request.method !== 'GET' && hasGet(request.url);
    refuse(request, reply, wrongMethod ? 'method_not_allowed' : 'not_found');
  };
  // No public route reads a body: whatever comes is left to be drained with the request.
  app.addContentTypeParser('*', (_request, _payload, done) => done(null));
  app.setNotFoundHandler(fallback);
  app.setErrorHandler((error: FastifyError, request, reply) => {
    // A body that cannot be read is sent to a path that reads none.
    if (request.is404) {
      fallback(request, reply);
      return;
    }
    const status = error.statusCode ?? 500;
    const callersFault = status >= 400 && status < 500;
    if (!callersFault) log.error({ err: error, request_id: request.id }, 'request failed');
    refuse(request, reply, callersFault ? 'bad_request' : 'internal_error');
  });
}

/** For errors that happen before a route is known, such as a path that is not valid percent-encoding. */
export function frameworkErrors(error: FastifyError, request: FastifyRequest, reply: FastifyReply): void {
  if (error.code === 'FST_ERR_BAD_URL') {
    refuse(request, reply, 'bad_request', 'The path is not valid percent-encoded UTF-8.');
    return;
  }
  refuse(request, reply, (error.statusCode ?? 500) < 500 ? 'bad_request' : 'internal_error');
}

/** How long a refused caller has to read the refusal. */
const LINGER_MS = 1_000;

const REQUEST_LINE = /^[A-Z]+ \S+ HTTP\/1\.[01]\r?\n/;

/** What the parser of HTTP reports; the packet is the bytes that it stopped at. */
interface ParserError {
  code: string;
  rawPacket: unknown;
}

/** Faults in a body: its request has been answered already, and takes no second answer. */
const IN_BODY: ReadonlySet<string> = new Set([
  'HPE_STRICT',
  'HPE_INVALID_CHUNK_SIZE',
  'HPE_INVALID_EOF_STATE',
]);

/** Where Node itself looks, in its own handler of client errors, for the answer that a connection is waiting for. */
interface AnsweringSocket extends Socket {
  _httpMessage?: ServerResponse | null;
}

/**
 * Answers what the parser of HTTP could not read, as well as it can be answered. Where earlier requests of the same
 * connection still wait for their answers, those come first and the connection then ends: a refusal sent now would be
 * taken for the answer to one of them.
 */
export function clientErrors(randomId: () => string) {
  const refused = new WeakSet<Socket>();
  return (error: ParserError, socket: AnsweringSocket): void => {
    if (refused.has(socket) && error.code !== 'ECONNRESET') return;
    if (!socket.writable || error.code === 'ECONNRESET') {
      socket.destroy();
      return;
    }
    if (socket._httpMessage) {
      socket._httpMessage.once('close', () => socket.destroySoon());
      return;
    }
    if (socket.bytesWritten > 0 && IN_BODY.has(error.code)) {
      socket.destroySoon();
      return;
    }
    const code = clientErrorCode(error);
    const { status } = ERRORS[code];
    const body = errorBody({ code });
    const lines = [
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
      'Content-Type: application/json; charset=utf-8',
      `Content-Length: ${Buffer.byteLength(body)}`,
      'Cache-Control: no-store',
      'X-Content-Type-Options: nosniff',
      `X-Request-Id: ${randomId()}`,
      ...(code === 'method_not_allowed' ? ['Allow: GET'] : []),
      'Connection: close',
    ];
    socket.end(`${lines.join('\r\n')}\r\n\r\n${body}`);
    // What is still on its way is let in and thrown away: closing at once would reset the connection, and the caller
    // would never see why.
    refused.add(socket);
    setTimeout(() => socket.destroy(), LINGER_MS).unref();
  };
}

function clientErrorCode(error: ParserError): ErrorCode {
  if (error.code === 'HPE_HEADER_OVERFLOW') return 'header_too_large';
  // A method that HTTP does not know is still a method other than GET.
  const text = Buffer.isBuffer(error.rawPacket) ? error.rawPacket.toString('latin1', 0, 16_384) : '';
  if (error.code === 'HPE_INVALID_METHOD' && REQUEST_LINE.test(text)) return 'method_not_allowed';
  return 'bad_request';
}
