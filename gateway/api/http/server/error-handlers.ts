/**
 * Handlers for 404, 405 and framework errors, and errors for people: as a page, where the path is one of the site or the client
 * asks for HTML. No answer shows a stack, a file path or the framework's own message.
 */
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { type ApiError, ERRORS, type ErrorCode } from '../../core/errors.ts';
import type { Result } from '../../core/execute.ts';
import { pageHeaders } from '../api/representation.ts';
import { sendError, sendPreflight, setHead } from '../api/response.ts';

const NO_ROUTE = { route: 'none', keyId: null, creditsCharged: 0 } as const;

function refuse(reply: FastifyReply, error: ApiError): void {
  reply.facts = { ...NO_ROUTE };
  sendError(reply, error);
}

const isPreflight = ({ method, headers }: FastifyRequest): boolean =>
  method === 'OPTIONS' &&
  headers.origin !== undefined &&
  headers['access-control-request-method'] !== undefined;

/** Matches paths that have a GET route; `{name}` stands for one segment. */
function pathMatcher(templates: readonly string[]): (url: string) => boolean {
  const patterns = templates.map((template) =>
    template.replaceAll('.', '\\.').replaceAll(/\{[^}]+\}/g, '[^/]+'),
  );
  const matcher = new RegExp(`^(?:${patterns.join('|')})$`);
  return (url) => matcher.test(url.split('?', 1)[0] ?? '');
}

const ONLY_GET_AND_HEAD: ApiError = {
  code: 'method_not_allowed',
  message: 'Only GET and HEAD are allowed here.',
  allowed: 'GET, HEAD',
};

const NO_PAGE = { code: 'not_found', status: 404, message: 'There is no page at this address.' } as const;

interface HandlerOptions {
  /** Paths that answer GET: another method on them is 405, not 404, but for a preflight. */
  templates: readonly string[];
  /** Those of them that answer HEAD, too. */
  headTemplates: readonly string[];
  /** For browsers at an unknown path outside the API; without it they get JSON, too. */
  errorPage?: ErrorPage;
  log: Logger;
}

const isApi = (url: string): boolean => /^\/(?:data\/api|v1)(?:\/|$)/.test(url);
const wantsHtml = ({ headers, url }: FastifyRequest): boolean =>
  /\btext\/html\b/.test(headers.accept ?? '') && !isApi(url);

export function installErrorHandlers(
  app: FastifyInstance,
  { templates, headTemplates, errorPage, log }: HandlerOptions,
): void {
  const hasGet = pathMatcher(templates);
  const hasHead = pathMatcher(headTemplates);
  const fallback = (request: FastifyRequest, reply: FastifyReply): void => {
    const wrongMethod = request.method !== 'GET' && hasGet(request.url);
    reply.facts = { ...NO_ROUTE };
    if (wrongMethod && isPreflight(request)) sendPreflight(reply);
    else if (errorPage && !wrongMethod && wantsHtml(request)) sendErrorPage(reply, NO_PAGE, errorPage);
    else if (wrongMethod && hasHead(request.url)) sendError(reply, ONLY_GET_AND_HEAD);
    else sendError(reply, { code: wrongMethod ? 'method_not_allowed' : 'not_found' });
  };
  // No public route reads a body; it is drained with the request.
  app.addContentTypeParser('*', (_request, _payload, done) => done(null));
  app.setNotFoundHandler(fallback);
  app.setErrorHandler((error: FastifyError, request, reply) => {
    // An unreadable body was sent to a path that has no route.
    if (request.is404) return fallback(request, reply);
    const code = codeOf(error);
    if (code === 'internal_error') log.error({ err: error, request_id: request.id }, 'request failed');
    refuse(reply, { code });
  });
}

const codeOf = ({ statusCode = 500 }: FastifyError): ErrorCode =>
  statusCode >= 400 && statusCode < 500 ? 'bad_request' : 'internal_error';

const BAD_PATH: ApiError = {
  code: 'bad_request',
  message: 'The path is not valid percent-encoded UTF-8.',
};

/** Handles errors before routing, such as a path that is not valid percent-encoding. */
export function frameworkErrors(error: FastifyError, _request: FastifyRequest, reply: FastifyReply): void {
  refuse(reply, error.code === 'FST_ERR_BAD_URL' ? BAD_PATH : { code: codeOf(error) });
}

/** The whole page as HTML. @param problem with the id of the request, for support */
export type ErrorPage = (problem: { status: number; message: string; requestId: string }) => string;

/** What went wrong with a page, in one sentence. */
export function errorOf(
  result: Result<unknown> & { kind: 'error' | 'invalid' },
): ApiError & { status: number } {
  if (result.kind === 'error') return { ...result.error, status: ERRORS[result.error.code].status };
  const [first] = result.detail;
  const name = first === undefined ? 'A parameter' : `The parameter \u201c${first.loc.at(-1)}\u201d`;
  return {
    code: 'bad_request',
    status: 422,
    message: `${name} cannot be used as it was sent: ${first?.msg}`,
  };
}

export function sendErrorPage(
  reply: FastifyReply,
  { code, status, message, retryAfter_s }: ApiError & { status: number },
  errorPage: ErrorPage,
): void {
  const { id: requestId } = reply.request;
  const html = errorPage({ status, message: message ?? ERRORS[code].message, requestId });
  const headers = ['x-request-id', requestId, 'cache-control', 'no-store', 'vary', 'Accept'];
  headers.push('x-content-type-options', 'nosniff', ...pageHeaders(false));
  if (retryAfter_s !== undefined) headers.push('retry-after', String(retryAfter_s));
  setHead(reply, status, [...headers, 'content-type', 'text/html; charset=utf-8']);
  reply.send(html);
}
