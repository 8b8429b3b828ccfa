/**
 * The plugin behind the account pages and the operator area: sessions, CSRF, headers, templates, errors. Signing in is in
 * `sign-in-routes.ts`.
 *
 * For every path below the area's root, unknown paths included:
 *
 * - Without a session, every path answers with the sign-in page and status 401.
 * - A POST needs the CSRF token of the session, and a user who may write.
 * - A form that is sent twice is carried out once; see `form-submissions.ts`.
 * - Pages are not stored, framed or sniffed, and load nothing from other origins. Those beside the public site run its script, others none.
 *
 * The plugin is encapsulated: public routes run none of its hooks.
 */
import cookie from '@fastify/cookie';
import csrf from '@fastify/csrf-protection';
import formbody from '@fastify/formbody';
import helmet from '@fastify/helmet';
import view from '@fastify/view';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import nunjucks from 'nunjucks';
import type { Logger } from 'pino';
import { MeteringUnavailable } from '../../api/metering/metering.ts';
import { hasTooManyPairs, PAIRS_MAX, parseQueryString } from '../../api/operations/operations.ts';
import { ASSET_PATHS } from '../../site/assets.ts';
import { PageError } from '../../web/forms.ts';
import { TEMPLATE_FILTERS } from '../../web/templates.ts';
import type { AuditedChange, AuditLog, AuditOutcome } from '../history/history.ts';
import { AccountError, type StoreDependencies } from '../store/store.ts';
import { createFormToken, FormSubmissions, installFormSubmissions } from './form-submissions.ts';
import { KnownBrowsers } from './known-browsers.ts';
import { PendingSignIns } from './pending-sign-ins.ts';
import { SecondFactorStore } from './second-factor.ts';
import { type Realm, SESSION_LIFETIME, type Session, SessionStore, type SignedInUser } from './sessions.ts';

declare module 'fastify' {
  interface FastifyRequest {
    user: SignedInUser | null;
    webSession: Session | null;
    /** Where @fastify/csrf-protection looks for the secret. */
    session: { _csrf?: string };
    /**
     * Makes a change in the name of the signed-in user and audits it; see `AuditLog.attempt`.
     * @param describe null when nothing changed; by default of work that returns false
     */
    audited<Outcome>(
      change: OwnChange,
      work: () => Promise<Outcome>,
      describe?: (outcome: Outcome) => AuditOutcome | null,
      name?: string | null,
    ): Promise<Outcome>;
  }
  interface FastifyReply {
    /** After a POST: redirects to a page that shows `notice` once, so that reloading it repeats nothing. */
    leadTo(path: string, notice?: string | null): Promise<FastifyReply>;
  }
  interface FastifyContextConfig {
    /** The route answers without a session. */
    allowsAnonymous?: boolean;
    /** The route answers users who are restricted to one page; see `SignedInUser.restrictedTo`. */
    allowsRestricted?: boolean;
    /** The route takes POST from users who may only read. */
    allowsReadOnly?: boolean;
  }
}

/** A change by the signed-in user. */
export type OwnChange = Pick<AuditedChange, 'action'> & Partial<Omit<AuditedChange, 'by' | 'request_id'>>;

/** How the users of a realm are known, between requests and during sign-in. */
export function openRealm(store: StoreDependencies, realm: Realm, log: Logger) {
  return {
    sessions: new SessionStore(store.redis, store.now, realm),
    submissions: new FormSubmissions(store.redis, log),
    browsers: new KnownBrowsers(store, realm),
    secondFactor: new SecondFactorStore(store, realm),
    pendingSignIns: new PendingSignIns(store, realm),
  };
}

export interface ProtectedArea extends ReturnType<typeof openRealm> {
  /** Such as `/admin`. */
  root: string;
  name: string;
  /** Names its navigation for screen readers. */
  navName: string;
  /** Whether it is served beside the public site, whose header and footer it then has. */
  isPublic: boolean;
  cookie: string;
  /** Null when the session is no longer valid. */
  findUser(session: Session): Promise<SignedInUser | null>;
  audit: AuditLog;
  /** Who makes a change and, unless the change names another subject, to what. */
  auditFacts(request: FastifyRequest): { by: string; subject: string };
  /** Throws if the signed-in user may not open the route. */
  authorise?(request: FastifyRequest): void;
  nav: readonly { path: string; label: string }[];
  /** Template directories, the area's own first. */
  templates: readonly string[];
  log: Logger;
}

/** Holds the CSRF secret of a browser without a session. */
const FORM_COOKIE = 'almanac_form';
const MAX_FORM_BYTES = 64 * 1024;

/** Tells the script of public pages that it may ask who is signed in; it says nothing else. */
const HINT_COOKIE = 'almanac_signed_in';

const contentSecurityPolicy = ({ isPublic }: ProtectedArea) => ({
  'default-src': ["'none'"],
  ...(isPublic && { 'script-src': ["'self'"], 'connect-src': ["'self'"] }),
  'style-src': ["'self'"],
  'img-src': ["'self'", 'data:'],
  'form-action': ["'self'"],
  'base-uri': ["'none'"],
  'frame-ancestors': ["'none'"],
});

/** Installs everything but the area's own routes. The prefix of `scope` is the area's root. */
export async function installProtectedArea(scope: FastifyInstance, area: ProtectedArea): Promise<void> {
  scope.decorateRequest('user', null);
  scope.decorateRequest('webSession', null);
  scope.decorateRequest('session', null as unknown as { _csrf?: string });
  scope.decorateRequest('audited', function audited(change, work, describe = unlessFalse, name = null) {
    const asked = { ...area.auditFacts(this), ...change, request_id: this.id };
    return area.audit.attempt(asked, work, describe, name);
  });
  scope.decorateReply('leadTo', async function leadTo(path, notice = null) {
    const { webSession } = this.request;
    if (webSession && notice !== null) await area.sessions.setNotice(webSession, notice);
    return this.redirect(path, 303);
  });
  await scope.register(helmet, {
    contentSecurityPolicy: { useDefaults: false, directives: contentSecurityPolicy(area) },
    // The server sets these on every response.
    referrerPolicy: false,
    frameguard: false,
    noSniff: false,
    // The TLS terminator in front decides this for the whole host.
    strictTransportSecurity: false,
  });
  await scope.register(cookie);
  await scope.register(formbody, {
    bodyLimit: MAX_FORM_BYTES,
    parser: parseForm,
  });
  await scope.register(csrf, {
    sessionPlugin: '@fastify/session',
    getToken: ({ body }) => readCsrfToken(body),
  });
  await scope.register(view, {
    engine: { nunjucks },
    templates: [...area.templates, `${import.meta.dirname}/../../web/views`],
    options: {
      autoescape: true,
      throwOnUndefined: true,
      trimBlocks: true,
      lstripBlocks: true,
      onConfigure: (environment: nunjucks.Environment) => {
        for (const [name, filter] of Object.entries(TEMPLATE_FILTERS)) environment.addFilter(name, filter);
        environment.addGlobal('createFormToken', createFormToken);
        environment.addGlobal('assets', ASSET_PATHS);
      },
    },
    production: true,
  });
  scope.addHook('onRequest', async (request, reply) => {
    reply.header('Cache-Control', 'no-store');
    await authenticate(request, area);
    const { allowsAnonymous, allowsRestricted } = request.routeOptions.config;
    if (request.user === null && !allowsAnonymous) {
      const next = safeRedirectPath(request.method === 'GET' ? request.url : null, area.root);
      return sendSignInPage(reply.code(401), area, { next });
    }
    if (request.user?.restrictedTo !== undefined && !allowsAnonymous && !allowsRestricted) {
      if (request.method === 'GET') return reply.redirect(request.user.restrictedTo, 303);
      throw new PageError(403, request.user.restrictedBecause ?? 'You can no longer do this.');
    }
    if (request.user !== null && !allowsAnonymous) area.authorise?.(request);
    return undefined;
  });
  scope.addHook('preHandler', async ({ user, method, routeOptions }) => {
    if (method === 'POST' && user && !user.canWrite && !routeOptions.config.allowsReadOnly)
      throw new PageError(403, 'Your role is read-only: you can see everything here and change nothing.');
  });
  scope.addHook('preHandler', (request, reply, done) => {
    if (request.method === 'POST') scope.csrfProtection(request, reply, done);
    else done();
  });
  installFormSubmissions(scope, area);
  scope.setErrorHandler((error: FastifyError, request, reply) => sendErrorPage(error, request, reply, area));
  scope.all('/*', async () => {
    throw new PageError(404, 'This page does not exist.');
  });
}

const unlessFalse = (outcome: unknown): AuditOutcome | null => (outcome === false ? null : {});

/** @throws {PageError} 400 for too many fields */
function parseForm(text: string): Record<string, unknown> {
  if (hasTooManyPairs(text)) throw new PageError(400, `A form may have at most ${PAIRS_MAX} fields.`);
  return { ...parseQueryString(text) };
}

function readCsrfToken(body: unknown): string | undefined {
  if (typeof body !== 'object' || body === null || !('_csrf' in body)) return undefined;
  return typeof body._csrf === 'string' ? body._csrf : undefined;
}

async function authenticate(request: FastifyRequest, area: ProtectedArea): Promise<void> {
  const session = await area.sessions.find(request.cookies[area.cookie]);
  const user = session && (await area.findUser(session));
  const secret = user ? session.csrf + (user.formScope ?? '') : request.cookies[FORM_COOKIE];
  request.session = secret === undefined ? {} : { _csrf: secret };
  if (!user) return;
  request.webSession = session;
  request.user = user;
}

export const cookieOptions = (request: FastifyRequest, area: ProtectedArea) =>
  ({ path: area.root, httpOnly: true, sameSite: 'lax', secure: request.protocol === 'https' }) as const;

const SEEN_EVERYWHERE = { path: '/', httpOnly: false };

/** Gives the browser a new session, in place of any CSRF secret it held before. */
export function setSessionCookie(reply: FastifyReply, area: ProtectedArea, session: Session): void {
  const options = cookieOptions(reply.request, area);
  const maxAge = SESSION_LIFETIME.max_ms / 1000;
  reply.setCookie(area.cookie, session.id, { ...options, maxAge });
  if (area.isPublic) reply.setCookie(HINT_COOKIE, '1', { ...options, ...SEEN_EVERYWHERE, maxAge });
  reply.clearCookie(FORM_COOKIE, options);
}

export function clearSessionCookie(reply: FastifyReply, area: ProtectedArea): void {
  const options = cookieOptions(reply.request, area);
  reply.clearCookie(area.cookie, options);
  if (area.isPublic) reply.clearCookie(HINT_COOKIE, { ...options, ...SEEN_EVERYWHERE });
}

/**
 * The path when it lies below `root` and is a plain path with a query, else the root's own page. Rejects backslashes,
 * control characters and double slashes, which browsers may read as another host.
 */
export function safeRedirectPath(path: unknown, root: string): string {
  const home = `${root}/`;
  if (typeof path !== 'string' || path.length > 2_000) return home;
  if (!/^\/[\x21-\x5b\x5d-\x7e]*$/.test(path) || path.includes('//')) return home;
  const bare = new URL(path, 'http://local').pathname;
  return bare === root || bare.startsWith(home) ? path : home;
}

interface SignInForm {
  /** Where to go after signing in. */
  next: string;
  email?: string;
  problem?: string;
}

export function sendSignInPage(reply: FastifyReply, area: ProtectedArea, form: SignInForm): FastifyReply {
  const { request } = reply;
  request.user = null;
  const token = generateCsrfToken(reply, area);
  return reply.view('sign-in.njk', {
    ...layoutData(reply, area, 'Sign in', token),
    form: { next: form.next, email: form.email ?? '', problem: form.problem ?? '' },
  });
}

/** Without a session, the secret behind the token is kept in a cookie. */
function generateCsrfToken(reply: FastifyReply, area: ProtectedArea): string {
  const { request } = reply;
  const known = request.session?._csrf;
  const token = reply.generateCsrf();
  const secret = request.session._csrf;
  if (known === undefined && secret !== undefined)
    reply.setCookie(FORM_COOKIE, secret, cookieOptions(request, area));
  return token;
}

function layoutData(
  reply: FastifyReply,
  area: ProtectedArea,
  title: string,
  token: string,
): Record<string, unknown> {
  const { user, webSession, url } = reply.request;
  const path = url.split('?', 1)[0] ?? '';
  return {
    title,
    csrf: token,
    site: { name: area.name, root: area.root, navName: area.navName, isPublic: area.isPublic },
    nav: area.nav
      .filter(({ path: own }) => user?.restrictedTo === undefined || own === user.restrictedTo)
      .filter(({ path: own }) => !user?.hidden?.includes(own))
      .map((entry) => ({ ...entry, isCurrent: isBelow(path, entry.path, area.root) })),
    user,
    notice: webSession?.notice ?? null,
  };
}

const isBelow = (path: string, entry: string, root: string): boolean =>
  path === entry || (entry === `${root}/` ? path === root : path.startsWith(`${entry}/`));

/** Renders one template inside the layout of its area. A value that a template needs and does not get is an error. */
export type PageView = (reply: FastifyReply, title: string, data: object) => Promise<FastifyReply>;

export function createPageViews(area: ProtectedArea) {
  return (template: string): PageView =>
    async (reply, title, data) => {
      const { webSession } = reply.request;
      if (webSession?.notice) await area.sessions.clearNotice(webSession);
      return reply.view(template, {
        ...layoutData(reply, area, title, generateCsrfToken(reply, area)),
        ...data,
      });
    };
}

const NO_REDIS = 'Redis does not answer. Try again in a moment.';

/** Status and message of an expected error; null for an internal fault. */
export function toPageError(error: Error & { statusCode?: number; code?: string }): PageError | null {
  if (error instanceof PageError) return error;
  if (error instanceof AccountError) return new PageError(error.status, error.message);
  if (error instanceof MeteringUnavailable) return new PageError(503, NO_REDIS);
  if (error.code?.startsWith('FST_CSRF'))
    return new PageError(403, 'This form has expired. Reload the page and send it again.');
  if (error.statusCode === 413) return new PageError(413, 'The form is too large.');
  if (error.statusCode !== undefined && error.statusCode < 500)
    return new PageError(error.statusCode, 'The request could not be read.');
  if (/offline queue|offlineQueue|Connection is closed|ECONN|timed out|max retries/i.test(error.message))
    return new PageError(503, NO_REDIS);
  return null;
}

function sendErrorPage(
  error: FastifyError,
  request: FastifyRequest,
  reply: FastifyReply,
  area: ProtectedArea,
): FastifyReply {
  const expected = toPageError(error);
  if (request.formClaim && error.code === 'busy') request.formClaim.isUnchanged = true;
  if (expected === null) area.log.error({ err: error, request_id: request.id }, 'page failed');
  const { status, message } = expected ?? new PageError(500, 'Something went wrong on our side.');
  reply.code(status);
  if (status === 503) reply.header('Retry-After', '5');
  if (request.user === null && status === 403)
    return sendSignInPage(reply, area, { next: safeRedirectPath(null, area.root), problem: message });
  return reply.view('error.njk', {
    ...layoutData(
      reply,
      area,
      ERROR_TITLES[status] ?? 'This request failed',
      request.user ? reply.generateCsrf() : '',
    ),
    error: { status, message, request_id: request.id },
  });
}

const ERROR_TITLES: Partial<Record<number, string>> = {
  403: 'Not allowed',
  404: 'Not found',
  500: 'Something went wrong',
  503: 'Temporarily unavailable',
};
