/** Sign-in, sign-up, address confirmation and password reset. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { addressDigest } from '../../../../data/schema/redis-keys.ts';
import { AccountError } from '../../../accounts/records.ts';
import { PASSWORD_LENGTH, verifyPassword } from '../../../accounts/sign-in/passwords.ts';
import type { Throttle, ThrottlePolicy } from '../../../accounts/sign-in/throttle.ts';
import { validateEmail } from '../../../accounts/validation.ts';
import { addressUnit } from '../../../metering/address-meter.ts';
import { parseFields, textField, untrimmedField } from '../../shared/forms.ts';
import {
  safeRedirectPath,
  sendSignInPage,
  signInRoutes as sharedSignInRoutes,
  tooManyAttempts,
} from '../../shared/protected-area.ts';
import { type AccountContext, accountIdOf, recordAction } from '../context.ts';

const signUpForm = z.object({
  email: textField(254),
  name: textField(200),
  password: untrimmedField(1_000),
});
const forgotForm = z.object({ email: textField(254) });
const emailAddress = z.email().max(254);
const resetForm = z.object({ password: untrimmedField(1_000) });

const ANONYMOUS = { config: { allowsAnonymous: true } };
const INVALID_LINK = 'This link is no longer valid';
const CHECK_MAIL = 'Check your e-mail';

const MAIL_PER_ADDRESS: ThrottlePolicy = { free_attempts: 10, max_delay_ms: 900_000 };
const REAUTHENTICATION: ThrottlePolicy = { free_attempts: 5, max_delay_ms: 300_000 };
const MAIL_PER_EMAIL: ThrottlePolicy = { free_attempts: 3, max_delay_ms: 3_600_000 };

interface SignUpPage {
  form: { email: string; name: string; problem: string };
}

export function signInRoutes(scope: FastifyInstance, { site, identities, throttle }: AccountContext): void {
  const signedOutPath = `${site.root}/sign-in`;

  scope.get('/sign-in', ANONYMOUS, async (request, reply) =>
    request.user
      ? reply.redirect(`${site.root}/`)
      : sendSignInPage(reply, site, { next: safeRedirectPath(null, site.root) }),
  );

  sharedSignInRoutes(scope, site, {
    realm: 'account',
    throttle,
    findCandidate: (email) => identities.findLogin(email),
    endSessions: (account_id) => identities.endSessions(account_id),
    signedOutPath,
  });
}

export function signUpRoutes(scope: FastifyInstance, context: AccountContext): void {
  const view = context.view<SignUpPage>('sign-up.njk');
  const mailSent = context.view<{ email: string }>('mail-sent.njk');
  const title = 'Create an account';

  scope.get('/sign-up', ANONYMOUS, async (_request, reply) =>
    view(reply, title, { form: { email: '', name: '', problem: '' } }),
  );

  scope.post('/sign-up', ANONYMOUS, async (request, reply) => {
    const { email, name, password } = parseFields(signUpForm, request.body);
    const showAgain = (problem: string) => view(reply, title, { form: { email, name, problem } });
    const problem = emailProblem(email) ?? passwordProblem(password);
    if (problem !== null) {
      reply.code(422);
      return showAgain(problem);
    }
    const wait_s = await throttleMail(context.throttle, request.ip, email);
    if (wait_s > 0) return showAgain(tooManyAttempts(reply, wait_s));
    await context.onboarding.signUp({ email, name, password: await context.hashPassword(password) });
    return mailSent(reply, CHECK_MAIL, { email });
  });
}

export function confirmRoutes(scope: FastifyInstance, context: AccountContext): void {
  const view = context.view<{ token: string; email: string }>('confirm.njk');
  const invalidLink = context.view<{ again: string }>('invalid-link.njk');
  const confirmed = context.view<{ account: { email: string; credits: number } }>('confirmed.njk');
  const path = '/confirm/:token';
  const again = '/account/sign-up';

  // GET does not use the link up: mail scanners open links too.
  scope.get(path, ANONYMOUS, async (request, reply) => {
    const token = tokenOf(request);
    const sign_up = await context.onboarding.peekSignUp(token);
    if (sign_up === null) return invalidLink(reply.code(410), INVALID_LINK, { again });
    return view(reply, 'Confirm your address', { token, email: sign_up.email });
  });

  scope.post(path, ANONYMOUS, async (request, reply) => {
    const account = await context.onboarding.confirmSignUp(tokenOf(request));
    if (account === null) return invalidLink(reply.code(410), INVALID_LINK, { again });
    await recordAction(context, request, account.account_id, { action: 'account.confirm' });
    const { email, credits } = account;
    return confirmed(reply, 'Your address is confirmed', { account: { email, credits: credits.balance } });
  });
}

export function passwordResetRoutes(scope: FastifyInstance, context: AccountContext): void {
  const forgot = context.view<{ form: { email: string; problem: string } }>('forgot.njk');
  const mailSent = context.view<{ email: string }>('mail-sent.njk');
  const view = context.view<{ token: string; problem: string }>('reset.njk');
  const invalidLink = context.view<{ again: string }>('invalid-link.njk');
  const done = context.view<object>('reset-done.njk');
  const forgotTitle = 'Reset your password';
  const title = 'Choose a new password';
  const path = '/reset/:token';
  const again = '/account/forgot';

  scope.get('/forgot', ANONYMOUS, async (_request, reply) =>
    forgot(reply, forgotTitle, { form: { email: '', problem: '' } }),
  );

  scope.post('/forgot', ANONYMOUS, async (request, reply) => {
    const { email } = parseFields(forgotForm, request.body);
    if (!emailAddress.safeParse(email).success) {
      const problem = `"${email}" is not an e-mail address.`;
      return forgot(reply.code(422), forgotTitle, { form: { email, problem } });
    }
    const wait_s = await throttleMail(context.throttle, request.ip, email);
    if (wait_s > 0) {
      const problem = tooManyAttempts(reply, wait_s);
      return forgot(reply, forgotTitle, { form: { email, problem } });
    }
    await context.onboarding.requestPasswordReset(email);
    return mailSent(reply, CHECK_MAIL, { email });
  });

  scope.get(path, ANONYMOUS, async (request, reply) => {
    const token = tokenOf(request);
    const isValid = await context.onboarding.isResetLinkValid(token);
    if (!isValid) return invalidLink(reply.code(410), INVALID_LINK, { again });
    return view(reply, title, { token, problem: '' });
  });

  scope.post(path, ANONYMOUS, async (request, reply) => {
    const token = tokenOf(request);
    const { password } = parseFields(resetForm, request.body);
    const problem = passwordProblem(password);
    if (problem !== null) return view(reply.code(422), title, { token, problem });
    const account = await context.onboarding.resetPassword(token, await context.hashPassword(password));
    if (account === null) return invalidLink(reply.code(410), INVALID_LINK, { again });
    await recordAction(context, request, account.account_id, { action: 'account.password' });
    return done(reply, 'Your password is changed', {});
  });
}

const tokenOf = (request: FastifyRequest): string => (request.params as { token: string }).token;

function emailProblem(email: string): string | null {
  try {
    validateEmail(email);
    return null;
  } catch (error) {
    if (error instanceof AccountError) return error.message;
    throw error;
  }
}

/** What is wrong with a new password, or null. */
export function passwordProblem(password: string): string | null {
  const { least, most } = PASSWORD_LENGTH;
  if (password.length >= least && password.length <= most) return null;
  return `A password has ${least} to ${most} characters.`;
}

/**
 * Asks for the password again before a sensitive action, throttled by account.
 * @returns null when it is right, else the message for the form; the status of `reply` is set.
 */
export async function reauthenticate(
  { identities, throttle }: AccountContext,
  request: FastifyRequest,
  reply: FastifyReply,
  password: string,
): Promise<string | null> {
  const account_id = accountIdOf(request);
  const wait_ms = await throttle.attempt('account-password', account_id, REAUTHENTICATION);
  if (wait_ms > 0) return tooManyAttempts(reply, Math.ceil(wait_ms / 1000));
  if (!(await verifyPassword(password, await identities.passwordOf(account_id)))) {
    reply.code(422);
    return 'The current password is not right.';
  }
  await throttle.reset('account-password', account_id);
  return null;
}

/** Seconds to wait before the next mail may be requested, or 0; the same for known and unknown addresses. */
async function throttleMail(throttle: Throttle, address: string, email: string): Promise<number> {
  const waits_ms = [
    await throttle.attempt('account-mail-address', addressUnit(address), MAIL_PER_ADDRESS),
    await throttle.attempt('account-mail-email', addressDigest(email), MAIL_PER_EMAIL),
  ];
  return Math.ceil(Math.max(...waits_ms) / 1000);
}
