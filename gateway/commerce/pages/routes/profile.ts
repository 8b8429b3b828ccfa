/** The profile of the signed-in person: name, address, open sessions, second factor, and erasing the person. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { PageError, parseFields, textField, untrimmedField } from '../../../web/forms.ts';
import {
  type Confirmation,
  clearSessionCookie,
  secondFactorRoutes as sharedSecondFactorRoutes,
  tooManyAttempts,
} from '../../people/people.ts';
import { addressProblem, validateEmail } from '../../store/store.ts';
import { type AccountContext, personIdOf, recordAction } from '../context.ts';
import { confirmed, linkPages, RESTRICTED, reauthenticate, restartSession, tokenOf } from '../forms.ts';
import { membershipsOf } from '../signed-in.ts';
import { throttleMail } from '../throttles.ts';

const PROFILE = '/account/profile';
const nameForm = z.object({ name: textField(200) });
const emailForm = z.object({ email: textField(254), password: untrimmedField(1_000) });

export function profileRoutes(scope: FastifyInstance, context: AccountContext): void {
  const view = context.view('profile.njk');

  const show = async (
    request: FastifyRequest,
    reply: FastifyReply,
    form = { email: '', problem: '' },
  ): Promise<FastifyReply> => {
    const person_id = personIdOf(request);
    const person = await context.persons.get(person_id);
    const sessions = request.webSession ? await context.sessions.list(request.webSession, person_id) : [];
    const hasSecondFactor = await context.site.secondFactor.isOn(person_id);
    const { name = '', email = '' } = person ?? {};
    return view(reply, 'Profile', { name, email, hasSecondFactor, sessions, form });
  };

  scope.get('/profile', RESTRICTED, (request, reply) => show(request, reply));

  scope.post('/profile/name', RESTRICTED, async (request, reply) => {
    const { name } = parseFields(nameForm, request.body);
    const person_id = personIdOf(request);
    await context.persons.rename(person_id, name);
    await recordAction(context, request, { person_id, action: 'person.rename' });
    return reply.leadTo(PROFILE, 'Your name is changed.');
  });

  scope.post('/profile/email', RESTRICTED, async (request, reply) => {
    const { email: typed, password } = parseFields(emailForm, request.body);
    const again = (problem: string) => show(request, reply, { email: typed, problem });
    const problem = addressProblem(typed);
    if (problem !== null) {
      reply.code(422);
      return again(problem);
    }
    const email = validateEmail(typed);
    const refused = await reauthenticate(context, request, reply, password);
    if (refused !== null) return again(refused);
    const wait_s = await throttleMail(context.throttle, { address: request.ip, email });
    if (wait_s > 0) return again(tooManyAttempts(reply, wait_s));
    await context.emailChanges.request(personIdOf(request), email);
    return reply.leadTo(PROFILE, `Open the link that we mailed to ${email}. Until then nothing changes.`);
  });

  scope.post('/profile/sessions/:session/end', RESTRICTED, async (request, reply) => {
    const { session } = request.params as { session: string };
    await context.sessions.endOther(personIdOf(request), session);
    return reply.leadTo(PROFILE, 'The session has ended.');
  });

  scope.post('/profile/sessions/end-others', RESTRICTED, async (request, reply) => {
    const person_id = personIdOf(request);
    await context.persons.endSessions(person_id);
    await recordAction(context, request, { person_id, action: 'person.end_sessions' });
    await restartSession(context, request, reply, 'All other sessions have ended.');
    return reply.leadTo(PROFILE);
  });
}

/** The mailed links that change an address, and that undo the change. */
const EMAIL_LINKS = [
  { path: '/email', purpose: 'email-change', title: 'Confirm your new address', action: 'person.email' },
  {
    path: '/undo-email',
    purpose: 'email-undo',
    title: 'Keep your former address',
    action: 'person.undo_email',
  },
] as const;

export function emailChangeRoutes(scope: FastifyInstance, context: AccountContext): void {
  const view = context.view('email-change.njk');
  const done = context.view('email-changed.njk');

  for (const { path, purpose, title, action } of EMAIL_LINKS)
    linkPages(scope, context, {
      path,
      again: PROFILE,
      fields: z.object({}),
      peek: (token) => context.emailChanges.peek(purpose, token),
      show: (reply, { to }, token) =>
        view(reply, title, { action: `/account${path}/${encodeURIComponent(token)}`, to }),
      async act(request, reply) {
        const change = await context.emailChanges.carryOut(purpose, tokenOf(request));
        if (change === null) return null;
        await recordAction(context, request, { person_id: change.person_id, action });
        return done(reply, 'Your address is changed', { to: change.to, wasUndone: purpose === 'email-undo' });
      },
    });
}

/** The shared pages of the second factor, with audit and mail. */
export function secondFactorRoutes(scope: FastifyInstance, context: AccountContext): void {
  sharedSecondFactorRoutes(scope, context.site, {
    confirmPassword: (request, reply, password) => reauthenticate(context, request, reply, password),
    onChange: async (request, change) => {
      const person_id = personIdOf(request);
      const after = { second_factor: change };
      await recordAction(context, request, { person_id, action: 'account.second_factor', after });
      await context.teller.tellNow(person_id);
    },
  });
}

export function profileErasureRoutes(scope: FastifyInstance, context: AccountContext): void {
  /** Accounts that the person leaves. @throws {PageError} 409 for the owner of one */
  const leftBy = async (request: FastifyRequest): Promise<string[]> => {
    const memberships = await membershipsOf(context, personIdOf(request));
    if (memberships.some(({ role }) => role === 'owner'))
      throw new PageError(
        409,
        'You own an account. Have it erased under “Your data”, or move its ownership first.',
      );
    return memberships.map(({ account_id }) => account_id);
  };

  confirmed(scope, context, {
    path: '/profile/erase',
    asksPassword: true,
    options: RESTRICTED,
    ask: async (request) => erasing(request.user?.email ?? '', (await leftBy(request)).length),
    async act(request, reply) {
      const person_id = personIdOf(request);
      for (const account_id of await leftBy(request))
        await context.members.remove(account_id, { person_id, by: person_id });
      await context.site.secondFactor.erase(person_id);
      await context.persons.erase(person_id);
      await context.mailer.deleteFor(request.user?.email ?? '');
      await recordAction(context, request, { person_id, action: 'person.erase' });
      clearSessionCookie(reply, context.site);
      return { path: '/account/sign-in', notice: null };
    },
  });
}

const erasing = (email: string, accounts: number): Confirmation => ({
  title: 'Erase your profile',
  effects: [
    'Removes your e-mail address, name, password, second factor and memberships at once. This cannot be undone.',
    'Keys that you made stay with their accounts, under an id that leads to nobody.',
  ],
  figures: [
    { label: 'Person', value: email },
    { label: 'Accounts that you leave', value: String(accounts) },
  ],
  button: 'Erase my profile permanently',
  back: PROFILE,
});
