/** Sign-in, sign-up, address confirmation and password reset. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { addressDigest } from '../../../../data/schema/redis-keys.ts';
import { parseFields, textField, untrimmedField } from '../../../web/forms.ts';
import { domainOf, founderOf, isDisposable } from '../../accounts/accounts.ts';
import {
  PASSWORD_LENGTH,
  passwordProblem,
  rememberBrowser,
  safeRedirectPath,
  sendSignInPage,
  signInRoutes as sharedSignInRoutes,
  type ThrottlePolicy,
  tooManyAttempts,
} from '../../people/people.ts';
import { AccountError, validateEmail } from '../../store/store.ts';
import { type AccountContext, personIdOf, recordAccountAction, recordPersonAction } from '../context.ts';
import { withheldText } from '../grant-text.ts';
import { throttleChoice, throttleMail } from '../throttles.ts';

const signInQuery = z.object({ next: textField(2_000) });
const signUpForm = z.object({ email: textField(254), name: textField(200) });
const forgotForm = z.object({ email: textField(254) });
const emailAddress = z.email().max(254);
const passwordForm = z.object({ password: untrimmedField(1_000) });

const ANONYMOUS = { config: { allowsAnonymous: true } };
const INVALID_LINK = 'This link is no longer valid';
const CHECK_MAIL = 'Check your e-mail';

const REAUTHENTICATION: ThrottlePolicy = { free_attempts: 5, max_delay_ms: 300_000, decay_ms: 600_000 };

interface SignUpPage {
  /** What a new account gets without paying. */
  free: { credits: number; perMinute: number; perDay: number };
  form: { email: string; name: string; problem: string };
}

interface ConfirmedPage {
  account: { email: string; credits: number };
  /** Why there are no free credits; empty where they were granted. */
  withheld: string;
  contact: string | null;
}

interface ChoicePage {
  token: string;
  email: string;
  /** Shortest password. */
  least: number;
  problem: string;
}

export function signInRoutes(scope: FastifyInstance, context: AccountContext): void {
  const { site, persons, throttle, passwords } = context;
  const signedOutPath = `${site.root}/sign-in`;

  scope.get('/sign-in', ANONYMOUS, async (request, reply) => {
    const { next: requested } = parseFields(signInQuery, request.query);
    const next = safeRedirectPath(requested, site.root);
    return request.user ? reply.redirect(next) : sendSignInPage(reply, site, { next });
  });

  sharedSignInRoutes(scope, site, {
    realm: 'account',
    throttle,
    passwords,
    throttledHint: 'You can also get a sign-in link by e-mail.',
    findLogin: (email) => persons.findLogin(email),
    endSessions: (person_id) => persons.endSessions(person_id),
    signedOutPath,
    onRecoveryCode: (_request, { email }) =>
      context.jobs.add('security-notice', { email, event: 'recovery_code_used' }),
  });
}

export function signUpRoutes(scope: FastifyInstance, context: AccountContext): void {
  const view = context.view<SignUpPage>('sign-up.njk');
  const mailSent = context.view<{ email: string }>('mail-sent.njk');
  const title = 'Create an account';
  const { FREE_GRANT, FREE_PER_MINUTE, FREE_PER_DAY } = context.settings;
  const free = { credits: FREE_GRANT, perMinute: FREE_PER_MINUTE, perDay: FREE_PER_DAY };

  scope.get('/sign-up', ANONYMOUS, async (_request, reply) =>
    view(reply, title, { free, form: { email: '', name: '', problem: '' } }),
  );

  scope.post('/sign-up', ANONYMOUS, async (request, reply) => {
    const { email, name } = parseFields(signUpForm, request.body);
    const showAgain = (problem: string) => view(reply, title, { free, form: { email, name, problem } });
    const problem = emailProblem(email);
    if (problem !== null) {
      reply.code(422);
      return showAgain(problem);
    }
    const wait_s = await throttleMail(context.throttle, { address: request.ip, email });
    if (wait_s > 0) return showAgain(tooManyAttempts(reply, wait_s));
    await context.onboarding.signUp({ email, name });
    return mailSent(reply, CHECK_MAIL, { email });
  });
}

export function confirmRoutes(scope: FastifyInstance, context: AccountContext): void {
  const view = context.view<ChoicePage>('confirm.njk');
  const invalidLink = context.view<{ again: string }>('invalid-link.njk');
  const confirmed = context.view<ConfirmedPage>('confirmed.njk');
  const title = 'Confirm your address';
  const path = '/confirm/:token';
  const again = '/account/sign-up';

  // GET does not use the link up: mail scanners open links too.
  scope.get(path, ANONYMOUS, async (request, reply) => {
    const token = tokenOf(request);
    const sign_up = await context.onboarding.peekSignUp(token);
    if (sign_up === null) return invalidLink(reply.code(410), INVALID_LINK, { again });
    return view(reply, title, { token, email: sign_up.email, least: PASSWORD_LENGTH.least, problem: '' });
  });

  scope.post(path, ANONYMOUS, async (request, reply) => {
    const token = tokenOf(request);
    const { password } = parseFields(passwordForm, request.body);
    const sign_up = await context.onboarding.peekSignUp(token);
    if (sign_up === null) return invalidLink(reply.code(410), INVALID_LINK, { again });
    const { email } = sign_up;
    const problem = await choiceProblem(context, reply, { password, email, id: addressDigest(email) });
    if (problem !== null) return view(reply, title, { token, email, least: PASSWORD_LENGTH.least, problem });
    const hashed = await context.passwords.hash(password);
    const opened = await context.onboarding.confirmSignUp(token, hashed, request.ip);
    if (opened === null) return invalidLink(reply.code(410), INVALID_LINK, { again });
    const { account_id, credits } = opened.account;
    const person_id = founderOf(account_id);
    await recordAccountAction(context, request, { account_id, person_id, action: 'account.confirm' });
    const person = await context.persons.get(person_id);
    if (person) await rememberBrowser(reply, context.site, person);
    return confirmed(reply, 'Your address is confirmed', {
      account: { email, credits: credits.balance },
      withheld: withheldText(opened.withheld),
      contact: context.settings.CONTACT_EMAIL ?? null,
    });
  });
}

export function passwordResetRoutes(scope: FastifyInstance, context: AccountContext): void {
  const forgot = context.view<{ form: { email: string; problem: string } }>('forgot.njk');
  const mailSent = context.view<{ email: string }>('mail-sent.njk');
  const view = context.view<Omit<ChoicePage, 'email'>>('reset.njk');
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
    const wait_s = await throttleMail(context.throttle, { address: request.ip, email });
    if (wait_s > 0) {
      const problem = tooManyAttempts(reply, wait_s);
      return forgot(reply, forgotTitle, { form: { email, problem } });
    }
    await context.onboarding.requestPasswordReset(email);
    return mailSent(reply, CHECK_MAIL, { email });
  });

  scope.get(path, ANONYMOUS, async (request, reply) => {
    const token = tokenOf(request);
    if ((await context.onboarding.peekReset(token)) === null)
      return invalidLink(reply.code(410), INVALID_LINK, { again });
    return view(reply, title, { token, least: PASSWORD_LENGTH.least, problem: '' });
  });

  scope.post(path, ANONYMOUS, async (request, reply) => {
    const token = tokenOf(request);
    const { password } = parseFields(passwordForm, request.body);
    const known = await context.onboarding.peekReset(token);
    if (known === null) return invalidLink(reply.code(410), INVALID_LINK, { again });
    const { person_id, email } = known;
    const problem = await choiceProblem(context, reply, { password, email, id: person_id });
    if (problem !== null) return view(reply, title, { token, least: PASSWORD_LENGTH.least, problem });
    const hashed = await context.passwords.hash(password);
    const person = await context.onboarding.resetPassword(token, hashed, request.ip);
    if (person === null) return invalidLink(reply.code(410), INVALID_LINK, { again });
    await recordPersonAction(context, request, person_id, { action: 'account.password' });
    await rememberBrowser(reply, context.site, person);
    return done(reply, 'Your password is changed', {});
  });
}

export const tokenOf = (request: FastifyRequest): string => (request.params as { token: string }).token;

function emailProblem(email: string): string | null {
  try {
    const domain = domainOf(validateEmail(email));
    return isDisposable(domain)
      ? `${domain} gives out addresses that last for minutes. Use one that you keep: keys and orders depend on it.`
      : null;
  } catch (error) {
    if (error instanceof AccountError) return error.message;
    throw error;
  }
}

/**
 * Why the password that was chosen through a valid link may not be hashed now, or null. The status of `reply` is set.
 * @param choice `id` of the account or address, for the throttle
 */
export async function choiceProblem(
  { throttle }: AccountContext,
  reply: FastifyReply,
  { password, email, id }: { password: string; email: string; id: string },
): Promise<string | null> {
  const problem = await passwordProblem(password, email);
  if (problem !== null) {
    reply.code(422);
    return problem;
  }
  const wait_s = await throttleChoice(throttle, reply.request.ip, id);
  return wait_s > 0 ? tooManyAttempts(reply, wait_s) : null;
}

/**
 * Asks for the password again before a sensitive action, throttled by person.
 * @returns null when it is right, else the message for the form; the status of `reply` is set.
 */
export async function reauthenticate(
  { persons, throttle, passwords }: AccountContext,
  request: FastifyRequest,
  reply: FastifyReply,
  password: string,
): Promise<string | null> {
  const person_id = personIdOf(request);
  const wait_ms = await throttle.attempt('account-password', person_id, REAUTHENTICATION);
  if (wait_ms > 0) return tooManyAttempts(reply, Math.ceil(wait_ms / 1000));
  const person = await persons.get(person_id);
  if (!(await passwords.verify(password, person?.password ?? null))) {
    reply.code(422);
    return 'The current password is not right.';
  }
  await throttle.reset('account-password', person_id);
  return null;
}
