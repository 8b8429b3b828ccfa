/** Signing in and out, the same in every protected area, and the cookies by which a browser is known. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { addressDigest } from '../../../data/schema/redis-keys.ts';
import { KNOWN_FOR_MS } from '../../accounts/sign-in/known-browsers.ts';
import type { PasswordHasher } from '../../accounts/sign-in/passwords.ts';
import {
  type LoginRecord,
  normaliseEmail,
  type SignInResult,
  signIn,
} from '../../accounts/sign-in/sign-in.ts';
import type { Throttle } from '../../accounts/sign-in/throttle.ts';
import { parseFields, textField, untrimmedField } from './forms.ts';
import {
  clearSessionCookie,
  cookieOptions,
  type ProtectedArea,
  safeRedirectPath,
  sendSignInPage,
  setSessionCookie,
} from './protected-area.ts';

const DIGEST_LENGTH = 16;

/** Each account has a cookie of its own, so that several can be used in one browser. */
const browserCookie = (area: ProtectedArea, email: string): string =>
  `${area.cookie}_known_${addressDigest(email).slice(0, DIGEST_LENGTH)}`;

/** Makes this browser known for the account, or keeps it known; see `KnownBrowsers`. */
export async function rememberBrowser(
  reply: FastifyReply,
  area: ProtectedArea,
  { email, epoch, browser = null }: { email: string; epoch: string; browser?: string | null },
): Promise<void> {
  const value = await area.browsers.issue(email, epoch, browser);
  const options = { ...cookieOptions(reply.request, area), maxAge: KNOWN_FOR_MS / 1000 };
  reply.setCookie(browserCookie(area, email), value, options);
}

export interface SignInAttempt {
  email: string;
  result: SignInResult['kind'];
  request: FastifyRequest;
}

export interface SignInOptions {
  /** Separates the throttle counters of areas. */
  realm: string;
  throttle: Throttle;
  passwords: PasswordHasher;
  findLogin(email: string): Promise<LoginRecord | null>;
  endSessions(subject: string): Promise<void>;
  /** What else somebody can do who has to wait. */
  throttledHint?: string;
  /** Called after each attempt, before its answer. */
  onAttempt?(attempt: SignInAttempt): Promise<void>;
  /** Where to go after signing out. */
  signedOutPath: string;
}

const signInFields = z.object({
  email: textField(254),
  password: untrimmedField(200),
  next: textField(2_000),
});
const SIGN_OUT = { config: { allowsReadOnly: true, allowsRestricted: true } };

/** The routes that sign in and out, the same in every area. */
export function signInRoutes(scope: FastifyInstance, area: ProtectedArea, options: SignInOptions): void {
  const { sessions, browsers } = area;
  const { endSessions, onAttempt, signedOutPath, throttledHint = '' } = options;

  scope.post('/sign-in', { config: { allowsAnonymous: true } }, async (request, reply) => {
    const { email: typed, password, next: requested } = parseFields(signInFields, request.body);
    const email = normaliseEmail(typed);
    const next = safeRedirectPath(requested, area.root);
    const browser = request.cookies[browserCookie(area, email)];
    const credentials = { email, password, address: request.ip, browser };
    const result = await signIn({ ...options, browsers }, credentials);
    await onAttempt?.({ email, result: result.kind, request });
    if (result.kind === 'throttled') {
      const problem = `${tooManyAttempts(reply, result.wait_s)} ${throttledHint}`.trim();
      return sendSignInPage(reply, area, { next, email: typed, problem });
    }
    if (result.kind === 'rejected') {
      const problem = 'The e-mail address or the password is not right.';
      return sendSignInPage(reply.code(401), area, { next, email: typed, problem });
    }
    if (request.webSession) await sessions.end(request.webSession);
    const { subject, epoch } = result.login;
    setSessionCookie(reply, area, await sessions.begin(subject, epoch));
    await rememberBrowser(reply, area, { email, epoch, browser: result.browser });
    return reply.redirect(next, 303);
  });

  const leave = (reply: FastifyReply): FastifyReply => {
    clearSessionCookie(reply, area);
    return reply.redirect(signedOutPath, 303);
  };

  scope.post('/sign-out', SIGN_OUT, async (request, reply) => {
    if (request.webSession) await sessions.end(request.webSession);
    return leave(reply);
  });

  scope.post('/sign-out-everywhere', SIGN_OUT, async (request, reply) => {
    if (request.user) await endSessions(request.user.subject);
    return leave(reply);
  });
}

/** Sets status 429 and returns the message for the form. */
export function tooManyAttempts(reply: FastifyReply, wait_s: number): string {
  reply.code(429).header('Retry-After', wait_s);
  return `Too many attempts. Try again in ${wait_s} s.`;
}
