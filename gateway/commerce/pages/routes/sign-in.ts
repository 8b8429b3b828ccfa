/** Signing in by password or mailed link, sign-up, and choosing a new password. */
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { addressDigest } from '../../../../data/schema/redis-keys.ts';
import { parseFields, textField, untrimmedField } from '../../../web/forms.ts';
import { domainOf, founderOf, isDisposable, withheldText } from '../../accounts/accounts.ts';
import {
  completeFirstStep,
  PASSWORD_LENGTH,
  rememberBrowser,
  safeRedirectPath,
  sendSignInPage,
  signInRoutes as sharedSignInRoutes,
} from '../../people/people.ts';
import { addressProblem } from '../../store/store.ts';
import { type AccountContext, recordAction } from '../context.ts';
import { ANONYMOUS, choiceProblem, linkPages, mailForm, tokenOf } from '../forms.ts';
import { throttleMail, throttleSignInLink } from '../throttles.ts';
import { makeFirstKey } from './keys.ts';

const signInQuery = z.object({ next: textField(2_000) });
const emailForm = z.object({ email: textField(254) });
const signUpForm = emailForm.extend({ name: textField(200) });
const passwordForm = z.object({ password: untrimmedField(1_000) });
const confirmForm = passwordForm.extend({ key: textField(10) });

export function signInRoutes(scope: FastifyInstance, context: AccountContext): void {
  const { site, persons, throttle, passwords, onboarding, jobs } = context;

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
    signedOutPath: `${site.root}/sign-in`,
    onRecoveryCode: (person_id) => context.teller.tellNow(person_id),
  });

  // For an owner whom the throttle of guesses keeps out, or who has no password at hand.
  mailForm(scope, context, {
    path: '/sign-in-link',
    title: 'Get a sign-in link',
    template: 'sign-in-link.njk',
    fields: emailForm,
    wait: throttleSignInLink,
    hint: 'A link that you were sent in the last half hour still works.',
    send: ({ email }) => jobs.add('sign-in-link', { email }),
  });

  const opened = context.view('sign-in-link-opened.njk');
  linkPages(scope, context, {
    path: '/sign-in-link',
    again: `${site.root}/sign-in-link`,
    fields: z.object({}),
    peek: async (token) => (await onboarding.isSignInLinkValid(token)) || null,
    show: (reply, _valid, token) => opened(reply, 'Sign in', { token }),
    async act(request, reply) {
      const person = await onboarding.redeemSignInLink(tokenOf(request));
      if (person === null) return null;
      const { person_id: subject, epoch, email } = person;
      const step = { subject, epoch, email, next: `${site.root}/`, browser: null };
      return reply.redirect((await completeFirstStep(reply, site, step)).path, 303);
    },
  });
}

export function signUpRoutes(scope: FastifyInstance, context: AccountContext): void {
  const { onboarding, settings, jobs, site } = context;
  const { FREE_GRANT, FREE_PER_MINUTE, FREE_PER_DAY, CONTACT_EMAIL } = settings;

  mailForm(scope, context, {
    path: '/sign-up',
    title: 'Create an account',
    template: 'sign-up.njk',
    fields: signUpForm,
    // What a new account gets without paying.
    page: { free: { credits: FREE_GRANT, perMinute: FREE_PER_MINUTE, perDay: FREE_PER_DAY } },
    problem: (email) => addressProblem(email) ?? disposableProblem(domainOf(email)),
    wait: throttleMail,
    send: (form) => jobs.add('sign-up', form),
  });

  const view = context.view('confirm.njk');
  const confirmed = context.view('confirmed.njk');
  linkPages(scope, context, {
    path: '/confirm',
    again: '/account/sign-up',
    fields: confirmForm,
    peek: (token) => onboarding.peekSignUp(token),
    show: (reply, { email }, token, problem = '') =>
      view(reply, 'Confirm your address', { token, email, least: PASSWORD_LENGTH.least, problem }),
    async act(request, reply, { email }, { password, key }) {
      const problem = await choiceProblem(context, reply, { password, email, id: addressDigest(email) });
      if (problem !== null) return problem;
      const hashed = await context.passwords.hash(password);
      const opened = await onboarding.confirmSignUp(tokenOf(request), hashed, request.ip);
      if (opened === null) return null;
      const { account_id, credits } = opened.account;
      const person_id = founderOf(account_id);
      await recordAction(context, request, { account_id, person_id, action: 'account.confirm' });
      const person = await context.persons.get(person_id);
      const step = { subject: person_id, email, next: `${site.root}/`, browser: null };
      if (person) await completeFirstStep(reply, site, { ...step, epoch: person.epoch });
      return confirmed(reply, 'Your account is ready', {
        account: { email, credits: credits.balance },
        made: key === '' ? null : await makeFirstKey(context, request, { account_id, person_id }),
        withheld: withheldText(opened.withheld),
        contact: CONTACT_EMAIL ?? null,
      });
    },
  });
}

const disposableProblem = (domain: string): string | null =>
  isDisposable(domain)
    ? `${domain} gives out addresses that last for minutes. Use one that you keep: keys and orders depend on it.`
    : null;

export function passwordResetRoutes(scope: FastifyInstance, context: AccountContext): void {
  const { onboarding, jobs } = context;

  mailForm(scope, context, {
    path: '/forgot',
    title: 'Reset your password',
    template: 'forgot.njk',
    fields: emailForm,
    wait: throttleMail,
    send: ({ email }) => jobs.add('reset', { email }),
  });

  const view = context.view('reset.njk');
  const done = context.view('reset-done.njk');
  linkPages(scope, context, {
    path: '/reset',
    again: '/account/forgot',
    fields: passwordForm,
    peek: (token) => onboarding.peekReset(token),
    show: (reply, _person, token, problem = '') =>
      view(reply, 'Choose a new password', { token, least: PASSWORD_LENGTH.least, problem }),
    async act(request, reply, { person_id, email }, { password }) {
      const problem = await choiceProblem(context, reply, { password, email, id: person_id });
      if (problem !== null) return problem;
      const hashed = await context.passwords.hash(password);
      const person = await onboarding.resetPassword(tokenOf(request), hashed, request.ip);
      if (person === null) return null;
      await recordAction(context, request, { person_id, action: 'account.password' });
      await rememberBrowser(reply, context.site, person);
      return done(reply, 'Your password is changed', {});
    },
  });
}
