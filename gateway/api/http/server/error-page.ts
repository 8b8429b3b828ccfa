/** Errors for people: as a page, where the path is one of the site or the client asks for HTML. */
import type { ServerResponse } from 'node:http';
import { type ApiError, ERRORS } from '../../core/errors.ts';
import type { Result } from '../../core/result.ts';
import { pageHeaders } from '../api/page-headers.ts';

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
  { code, status, message, retryAfter_s }: ApiError & { status: number },
  { raw, requestId }: { raw: ServerResponse; requestId: string },
  errorPage: ErrorPage,
): void {
  const html = Buffer.from(errorPage({ status, message: message ?? ERRORS[code].message, requestId }));
  const headers = ['X-Request-Id', requestId, 'Cache-Control', 'no-store', 'Vary', 'Accept'];
  headers.push('X-Content-Type-Options', 'nosniff', ...pageHeaders(false));
  if (retryAfter_s !== undefined) headers.push('Retry-After', String(retryAfter_s));
  headers.push('Content-Type', 'text/html; charset=utf-8', 'Content-Length', String(html.length));
  raw.writeHead(status, headers);
  raw.end(html);
}
