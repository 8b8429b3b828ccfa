/**
 * A signed-in area of pages under one path: what the operator area and the account pages have in common.
 *
 * Guarantees, for every path below its root, routes that do not exist included:
 *
 * - Without a session there is only the sign-in page, with status 401, the same for every path.
 * - A form is taken only with its token (made of a secret of the session), and only from those who may change things.
 * - No page is stored, framed, or sniffed; no script runs; nothing is loaded from elsewhere.
 *
 * All of it lives inside of one encapsulated plugin: public routes pass none of its hooks.
 */
import cookie from '@fastify/cookie';
import csrf from '@fastify/csrf-protection';
import formbody from '@fastify/formbody';
import helmet from '@fastify/helmet';
import view from '@fastify/view';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import nunjucks from 'nunjucks';
import type { Logger } from 'pino';
import { AccountError, type AccountErrorCode } from '../../accounts/records.ts';
import { SESSION_LIFE, type Session, type SessionStore } from '../../accounts/sign-in/sessions.ts';
import { parseQueryString } from '../../http/query-string.ts';
import { FILTERS } from './formats.ts';
import { localPath } from './local-path.ts';
import { PageProblem } from './page-problem.ts';
import { STYLESHEET_PATH } from './stylesheet.ts';

/** Who is signed in. */
export interface Person {
  /** What sessions call the person. */
  subject: string;
  email: string;
  /** Shown beside the address: `operator`, `viewer`. */
  role: string;
  /** Whether forms may be sent at all. */
  mayChange: boolean;
  /** The one page that is left to the person; every other leads there. */
  onlyPage?: string;
}

declare module 'fastify' {
  interface FastifyRequest {
    person: Person | null;
    webSession: Session | null;
    /** Where @fastify/csrf-protection looks for the secret. */
    session: { _csrf?: string };
  }
  interface FastifyContextConfig {
    /** Answers without a session. */
    open?: boolean;
    /** Belongs to the one page that is left to a person; see `Person.onlyPage`. */
    onlyPage?: boolean;
    /** A form that everybody who is signed in may send. */
    everybody?: boolean;
  }
}

export interface Site {
  /** Such as `/admin`. */
  root: string;
  name: string;
  cookie: string;
  sessions: SessionStore;
  /** The person of a session, or null when the session no longer counts. */
  findPerson(session: Session): Promise<Person | null>;
  nav: readonly { path: string; label: string }[];
  /** Directories of templates, the site's own first. */
  templates: readonly string[];
  log: Logger;
}

const FORM_COOKIE = 'almanac_form';
const FORM_BYTES_AT_MOST = 64 * 1024;

const CONTENT_POLICY = {
  'default-src': ["'none'"],
  'style-src': ["'self'"],
  'img-src': ["'self'", 'data:'],
  'form-action': ["'self'"],
  'base-uri': ["'none'"],
  'frame-ancestors': ["'none'"],
};

/** Installs everything but the site's own routes on an instance whose prefix is the site's root. */
export async function installSite(scope: FastifyInstance, site: Site): Promise<void> {
  scope.decorateRequest('person', null);
  scope.decorateRequest('webSession', null);
  scope.decorateRequest('session', null as unknown as { _csrf?: string });
  await scope.register(helmet, {
    contentSecurityPolicy: { useDefaults: false, directives: CONTENT_POLICY },
    // Every page of the service has these already; see http/server.ts.
    referrerPolicy: false,
    frameguard: false,
    noSniff: false,
    // Whoever ends TLS in front of the service decides this for the whole host.
    strictTransportSecurity: false,
  });
  await scope.register(cookie);
  await scope.register(formbody, {
    bodyLimit: FORM_BYTES_AT_MOST,
    parser: (text) => ({ ...parseQueryString(text) }),
  });
  await scope.register(csrf, { sessionPlugin: '@fastify/session', getToken: ({ body }) => tokenIn(body) });
  await scope.register(view, {
    engine: { nunjucks },
    templates: [...site.templates, `${import.meta.dirname}/views`],
    options: {
      autoescape: true,
      throwOnUndefined: true,
      trimBlocks: true,
      lstripBlocks: true,
      onConfigure: (environment: nunjucks.Environment) => {
        for (const [name, filter] of Object.entries(FILTERS)) environment.addFilter(name, filter);
      },
    },
    production: true,
  });
  scope.addHook('onRequest', async (request, reply) => {
    reply.header('Cache-Control', 'no-store');
    await recognise(request, site);
    if (request.person === null && request.routeOptions.config.open !== true) {
      const next = request.method === 'GET' ? localPath(request.url, site.root) : localPath(null, site.root);
      return sendSignIn(reply.code(401), site, { next });
    }
    const { open, onlyPage } = request.routeOptions.config;
    if (request.person?.onlyPage !== undefined && !open && !onlyPage) {
      if (request.method === 'GET') return reply.redirect(request.person.onlyPage, 303);
      throw new PageProblem(403, 'This can no longer be done here.');
    }
    return undefined;
  });
  scope.addHook('preHandler', async (request) => {
    const { person, method } = request;
    const { everybody } = request.routeOptions.config;
    if (method === 'POST' && person && !person.mayChange && !everybody)
      throw new PageProblem(403, 'Your role may look at everything here and change nothing.');
  });
  scope.addHook('preHandler', (request, reply, done) => {
    if (request.method === 'POST') scope.csrfProtection(request, reply, done);
    else done();
  });
  scope.setErrorHandler((error: FastifyError, request, reply) => sendProblem(error, request, reply, site));
  scope.all('/*', async () => {
    throw new PageProblem(404, 'There is no such page.');
  });
}

function tokenIn(body: unknown): string | undefined {
  if (typeof body !== 'object' || body === null || !('_csrf' in body)) return undefined;
  return typeof body._csrf === 'string' ? body._csrf : undefined;
}

async function recognise(request: FastifyRequest, site: Site): Promise<void> {
  const session = await site.sessions.find(request.cookies[site.cookie]);
  const person = session && (await site.findPerson(session));
  const secret = person ? session.csrf : request.cookies[FORM_COOKIE];
  request.session = secret === undefined ? {} : { _csrf: secret };
  if (!person) return;
  request.webSession = session;
  request.person = person;
}

const cookieOptions = (request: FastifyRequest, site: Site) =>
  ({ path: site.root, httpOnly: true, sameSite: 'lax', secure: request.protocol === 'https' }) as const;

/** Gives the browser a session that has begun, and forgets what it had before. */
export function holdSession(reply: FastifyReply, site: Site, session: Session): void {
  const options = cookieOptions(reply.request, site);
  reply.setCookie(site.cookie, session.id, { ...options, maxAge: SESSION_LIFE.whole_ms / 1000 });
  reply.clearCookie(FORM_COOKIE, options);
}

export function dropSession(reply: FastifyReply, site: Site): void {
  reply.clearCookie(site.cookie, cookieOptions(reply.request, site));
}

export interface SignInForm {
  next: string;
  email?: string;
  problem?: string;
}

/** A token for the forms of a page. Without a session it is made of a secret that the browser holds in a cookie. */
function formToken(reply: FastifyReply, site: Site): string {
  const { request } = reply;
  const known = request.session?._csrf;
  const token = reply.generateCsrf();
  const secret = request.session._csrf;
  if (known === undefined && secret !== undefined)
    reply.setCookie(FORM_COOKIE, secret, cookieOptions(request, site));
  return token;
}

/** The sign-in page. */
export function sendSignIn(reply: FastifyReply, site: Site, form: SignInForm): FastifyReply {
  const { request } = reply;
  request.person = null;
  const token = formToken(reply, site);
  return reply.view('sign-in.njk', {
    ...shell(reply, site, 'Sign in', token),
    form: { next: form.next, email: form.email ?? '', problem: form.problem ?? '' },
  });
}

function shell(reply: FastifyReply, site: Site, title: string, token: string): Record<string, unknown> {
  const { person, webSession, url } = reply.request;
  const path = url.split('?', 1)[0] ?? '';
  return {
    title,
    csrf: token,
    site: { name: site.name, root: site.root, stylesheet: STYLESHEET_PATH },
    nav: site.nav
      .filter((entry) => person?.onlyPage === undefined || entry.path === person.onlyPage)
      .map((entry) => ({ ...entry, here: isHere(entry.path, path, site.root) })),
    person,
    notice: webSession?.notice ?? null,
  };
}

const isHere = (entry: string, path: string, root: string): boolean =>
  entry === `${root}/` ? path === entry || path === root : path === entry || path.startsWith(`${entry}/`);

/** A page of a site: its template and the shape of what the template is given. */
export type PageView<Context extends object> = (
  reply: FastifyReply,
  title: string,
  context: Context,
) => Promise<FastifyReply>;

export function pageViews(site: Site) {
  return <Context extends object>(template: string): PageView<Context> =>
    async (reply, title, context) => {
      const { webSession } = reply.request;
      if (webSession?.notice) await site.sessions.clearNotice(webSession);
      return reply.view(template, { ...shell(reply, site, title, formToken(reply, site)), ...context });
    };
}

const STATUS_OF: Partial<Record<AccountErrorCode, number>> = {
  account_unknown: 404,
  order_unknown: 404,
  key_unknown: 404,
  request_unknown: 404,
  unavailable: 503,
  archive_damaged: 500,
  bad_input: 422,
};

/** Status and sentence of whatever a page may throw; null for a fault of ours. */
export function problemOf(error: Error & { statusCode?: number; code?: string }): PageProblem | null {
  if (error instanceof PageProblem) return error;
  if (error instanceof AccountError) return new PageProblem(STATUS_OF[error.code] ?? 409, error.message);
  if (error.code?.startsWith('FST_CSRF'))
    return new PageProblem(403, 'This form is out of date. Open the page again and send it once more.');
  if (error.statusCode === 413) return new PageProblem(413, 'That is more than a form may hold.');
  if (error.statusCode !== undefined && error.statusCode < 500)
    return new PageProblem(error.statusCode, 'The request could not be read.');
  if (/offline queue|offlineQueue|Connection is closed|ECONN|timed out|max retries/i.test(error.message))
    return new PageProblem(503, 'Redis does not answer; try again in a moment.');
  return null;
}

function sendProblem(
  error: FastifyError,
  request: FastifyRequest,
  reply: FastifyReply,
  site: Site,
): FastifyReply {
  const problem = problemOf(error);
  if (problem === null) site.log.error({ err: error, request_id: request.id }, 'a page failed');
  const { status, message } = problem ?? new PageProblem(500, 'Something failed on our side.');
  reply.code(status);
  if (status === 503) reply.header('Retry-After', '5');
  if (request.person === null && status === 403)
    return sendSignIn(reply, site, { next: localPath(null, site.root), problem: message });
  return reply.view('problem.njk', {
    ...shell(reply, site, 'That did not work', request.person ? reply.generateCsrf() : ''),
    problem: { status, message, request_id: request.id },
  });
}
