/** Errors for people: as a page, where the path is one of the site or the client asks for HTML. */
import type { FastifyReply } from 'fastify';
import { type ApiError, ERRORS } from '../../core/errors.ts';
import type { Result } from '../../core/result.ts';
import { pageHeaders } from '../api/content-headers.ts';
import { setHead } from '../api/response.ts';

export interface PageProblem {
  status: number;
  message: string;
  /** For support. */
  requestId: string;
}

/** The whole page as HTML. */
export type ErrorPage = (problem: PageProblem) => string;

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
  const headers = ['X-Request-Id', requestId, 'Cache-Control', 'no-store', 'Vary', 'Accept'];
  headers.push('X-Content-Type-Options', 'nosniff', ...pageHeaders(false));
  if (retryAfter_s !== undefined) headers.push('Retry-After', String(retryAfter_s));
  setHead(reply, status, [...headers, 'Content-Type', 'text/html; charset=utf-8']);
  reply.send(html);
}
