/**
 * Signing in and out, the same in every protected area, and the cookies by which a browser is known.
 *
 * Signing in has one step, or two for users with a second factor: the password (or a mailed link), then a code. No session
 * begins before the last step.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { addressDigest } from '../../../data/schema/redis-keys.ts';
import { parseFields, textField, untrimmedField } from '../../web/forms.ts';
import type { LoginRecord } from '../accounts/accounts.ts';
import { KNOWN_FOR_MS } from './known-browsers.ts';
import type { PasswordHasher } from './passwords.ts';
import { PENDING_SIGN_IN_TTL_MS, type PendingSignIn } from './pending-sign-ins.ts';
import {
  clearSessionCookie,
  cookieOptions,
  createPageViews,
  type ProtectedArea,
  safeRedirectPath,
  sendSignInPage,
  setSessionCookie,
} from './protected-area.ts';
import { normaliseEmail, type SignInResult, signIn } from './sign-in.ts';
import type { Throttle, ThrottlePolicy } from './throttle.ts';

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

const pendingCookie = (area: ProtectedArea): string => `${area.cookie}_pending`;

/**
 * After the password or a mailed link: begins the session, or notes that the second factor is still missing.
 * @returns whether the session began, and where to go: to `next`, or where the code is asked for
 */
export async function completeFirstStep(
  reply: FastifyReply,
  area: ProtectedArea,
  step: PendingSignIn,
): Promise<{ hasBegun: boolean; path: string }> {
  if (!(await area.secondFactor.isOn(step.subject))) {
    await beginSession(reply, area, step);
    return { hasBegun: true, path: step.next };
  }
  const id = await area.pendingSignIns.begin(step);
  const options = { ...cookieOptions(reply.request, area), maxAge: PENDING_SIGN_IN_TTL_MS / 1000 };
  reply.setCookie(pendingCookie(area), id, options);
  return { hasBegun: false, path: `${area.root}/sign-in/code` };
}

async function beginSession(reply: FastifyReply, area: ProtectedArea, step: PendingSignIn): Promise<void> {
  const { webSession } = reply.request;
  if (webSession) await area.sessions.end(webSession);
  const { subject, epoch, email, browser } = step;
  setSessionCookie(
    reply,
    area,
    await area.sessions.begin(subject, epoch, reply.request.headers['user-agent']),
  );
  await rememberBrowser(reply, area, { email, epoch, browser });
}

export interface SignInAttempt {
  email: string;
  /** `signed_in` only when no step is left. */
  result: SignInResult['kind'];
  step: 'password' | 'second factor';
  request: FastifyRequest;
}

interface SignInOptions {
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
  /** Called after a recovery code was used in place of the app. */
  onRecoveryCode?(subject: string): Promise<void>;
  /** Where to go after signing out. */
  signedOutPath: string;
}

const signInFields = z.object({
  email: textField(254),
  password: untrimmedField(200),
  next: textField(2_000),
});
const codeFields = z.object({ code: textField(40) });
const SIGN_OUT = { config: { allowsReadOnly: true, allowsRestricted: true } };

/** The routes that sign in and out, the same in every area. */
export function signInRoutes(scope: FastifyInstance, area: ProtectedArea, options: SignInOptions): void {
  const { sessions, browsers } = area;
  const { endSessions, onAttempt, signedOutPath, throttledHint = '' } = options;

  scope.post('/sign-in', { config: { allowsAnonymous: true } }, async (request, reply) => {
    const { email: typed, password, next: requested } = parseFields(signInFields, request.body);
    const email = normaliseEmail(typed);
    const next = safeRedirectPath(requested, area.root);
    const cookie = request.cookies[browserCookie(area, email)];
    const credentials = { email, password, address: request.ip, browser: cookie };
    const result = await signIn({ ...options, browsers }, credentials);
    if (result.kind === 'signed_in') {
      const { login, browser } = result;
      const { subject, epoch } = login;
      const step = { subject, epoch, email, next, browser };
      const { hasBegun, path } = await completeFirstStep(reply, area, step);
      if (hasBegun) await onAttempt?.({ email, result: 'signed_in', step: 'password', request });
      return reply.redirect(path, 303);
    }
    await onAttempt?.({ email, result: result.kind, step: 'password', request });
    if (result.kind === 'throttled') {
      const problem = `${tooManyAttempts(reply, result.wait_s)} ${throttledHint}`.trim();
      return sendSignInPage(reply, area, { next, email: typed, problem });
    }
    const problem = 'The e-mail address or the password is not right.';
    return sendSignInPage(reply.code(401), area, { next, email: typed, problem });
  });

  codeRoutes(scope, area, options);

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

const ANONYMOUS = { config: { allowsAnonymous: true } };

/** The second step: a code of the authenticator app, or a recovery code. */
function codeRoutes(
  scope: FastifyInstance,
  area: ProtectedArea,
  { onAttempt, onRecoveryCode }: Pick<SignInOptions, 'onAttempt' | 'onRecoveryCode'>,
): void {
  const view = createPageViews(area)('sign-in-code.njk');
  const title = 'Enter your code';
  const { pendingSignIns, secondFactor } = area;
  const cookie = pendingCookie(area);

  const startAgain = (reply: FastifyReply): FastifyReply => {
    reply.clearCookie(cookie, cookieOptions(reply.request, area));
    const hasBegun = reply.request.cookies[cookie] !== undefined;
    const problem = hasBegun ? 'This sign-in took too long. Sign in again.' : '';
    return sendSignInPage(reply.code(401), area, { next: safeRedirectPath(null, area.root), problem });
  };

  scope.get('/sign-in/code', ANONYMOUS, async (request, reply) =>
    (await pendingSignIns.find(request.cookies[cookie])) === null
      ? startAgain(reply)
      : view(reply, title, { problem: '' }),
  );

  scope.post('/sign-in/code', ANONYMOUS, async (request, reply) => {
    const id = request.cookies[cookie];
    const pending = await pendingSignIns.find(id);
    if (id === undefined || pending === null) return startAgain(reply);
    const { code } = parseFields(codeFields, request.body);
    const { subject, email } = pending;
    const check = await secondFactor.check(subject, code, true);
    const result = check.kind === 'accepted' ? 'signed_in' : check.kind;
    await onAttempt?.({ email, result, step: 'second factor', request });
    if (check.kind === 'throttled')
      return view(reply, title, { problem: tooManyAttempts(reply, check.wait_s) });
    if (check.kind === 'rejected')
      return view(reply.code(401), title, { problem: 'This code is not right, or it was used before.' });
    await pendingSignIns.end(id);
    await beginSession(reply, area, pending);
    reply.clearCookie(cookie, cookieOptions(request, area));
    if (check.recovery_codes_left !== null) await onRecoveryCode?.(subject);
    return reply.redirect(pending.next, 303);
  });
}

const CONFIRMING: ThrottlePolicy = { free_attempts: 5, max_delay_ms: 300_000, decay_ms: 600_000 };

/**
 * Asks a signed-in user for the password again, before a sensitive action; throttled by user.
 * @param asked `counter` separates the areas; `stored` is the hash, or null without a password
 * @returns null when it is right, else the message for the form; the status of `reply` is set.
 */
export async function confirmPassword(
  { throttle, passwords }: Pick<SignInOptions, 'throttle' | 'passwords'>,
  reply: FastifyReply,
  asked: { counter: string; subject: string; typed: string; stored: string | null },
): Promise<string | null> {
  const { counter, subject, typed, stored } = asked;
  const wait_s = await throttle.attempt(counter, subject, CONFIRMING);
  if (wait_s > 0) return tooManyAttempts(reply, wait_s);
  if (!(await passwords.verify(typed, stored))) {
    reply.code(422);
    return 'The current password is not right.';
  }
  await throttle.reset(counter, subject);
  return null;
}

/** Sets status 429 and returns the message for the form. */
export function tooManyAttempts(reply: FastifyReply, wait_s: number): string {
  reply.code(429).header('Retry-After', wait_s);
  return `Too many attempts. Try again in ${wait_s} s.`;
}
