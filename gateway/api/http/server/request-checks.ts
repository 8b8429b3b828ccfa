/**
 * What a request must satisfy before it is routed: one valid Host, a body whose end is certain, an expectation that can be
 * met, and a query with a bounded number of parameters. Any other request is answered with an error, and its connection
 * closes: what follows on it, pipelined requests included, may be part of something else.
 */
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { ApiError } from '../../core/errors.ts';
import { hasTooManyPairs, PAIRS_MAX } from '../../operations/parameters/parameters.ts';
import { writeError } from '../api/response.ts';

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

/** Serves the requests of a server that pass the checks. @param newId gives a unique request id. */
export function serveChecked(server: Server, listener: RequestListener, newId: () => string): void {
  const closing = new WeakSet<Socket>();
  const faultOf = faultFinder();
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
    if (fault !== null) {
      refuse(fault, request, response);
      return;
    }
    response.writeContinue();
    listener(request, response);
  });
  server.on('checkExpectation', (request, response) => {
    if (!closing.has(request.socket)) refuse(faultOf(request) ?? BAD_EXPECTATION, request, response);
  });
}

/** Null for a request that can be served. The valid Host seen last is remembered, because most requests repeat it. */
function faultFinder(): (request: IncomingMessage) => ApiError | null {
  let validHost = '';
  return ({ headers, rawHeaders, httpVersionMinor, url = '' }) => {
    const isOld = httpVersionMinor === 0;
    const { host } = headers;
    const coding = headers['transfer-encoding'];
    if (countHosts(rawHeaders) !== 1 && !(isOld && host === undefined)) return NO_HOST;
    if (host !== undefined && host !== validHost) {
      if (!isValidHost(host)) return BAD_HOST;
      validHost = host;
    }
    if (coding !== undefined && (isOld || coding.toLowerCase() !== 'chunked')) return BAD_CODING;
    return hasTooManyPairs(queryOf(url)) ? TOO_MANY_PARAMETERS : null;
  };
}

/** The router takes what follows a `#` for a query, too. */
const queryOf = (url: string): string => url.slice(url.search(/[?#]/) + 1);

function isValidHost(host: string): boolean {
  const match = HOST.exec(host);
  return match !== null && Number(match[1] ?? 0) <= PORT_MAX;
}

/** Of raw headers, because Node keeps only the first Host. */
function countHosts(rawHeaders: readonly string[]): number {
  let count = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? '';
    if (name.length === 4 && name.toLowerCase() === 'host') count += 1;
  }
  return count;
}
