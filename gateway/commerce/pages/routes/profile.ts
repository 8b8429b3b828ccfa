/** The profile of the signed-in person: name, address, and the sessions that are open. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { parseFields, textField, untrimmedField } from '../../../web/forms.ts';
import {
  type ListedSession,
  redirectWithFlash,
  rememberBrowser,
  setSessionCookie,
  tooManyAttempts,
} from '../../people/people.ts';
import { AccountError, validateEmail } from '../../store/store.ts';
import { type AccountContext, personIdOf, recordPersonAction } from '../context.ts';
import { throttleMail } from '../throttles.ts';
import { reauthenticate } from './sign-in.ts';

const PROFILE = '/account/profile';
/** Also for those who are in no account, or in a closed one. */
const RESTRICTED = { config: { allowsRestricted: true } };
const nameForm = z.object({ name: textField(200) });
const emailForm = z.object({ email: textField(254), password: untrimmedField(1_000) });

interface ProfilePage {
  name: string;
  email: string;
  hasSecondFactor: boolean;
  sessions: ListedSession[];
  form: { email: string; problem: string };
}

export function profileRoutes(scope: FastifyInstance, context: AccountContext): void {
  const view = context.view<ProfilePage>('profile.njk');

  const show = async (
    request: FastifyRequest,
    reply: FastifyReply,
    form: ProfilePage['form'] = { email: '', problem: '' },
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
    await recordPersonAction(context, request, person_id, { action: 'person.rename' });
    return redirectWithFlash(context, reply, PROFILE, 'Your name is changed.');
  });

  scope.post('/profile/email', RESTRICTED, async (request, reply) => {
    const { email: typed, password } = parseFields(emailForm, request.body);
    const again = (problem: string) => show(request, reply, { email: typed, problem });
    const email = addressOf(typed);
    if (email === null)
      return show(request, reply.code(422), {
        email: typed,
        problem: `"${typed}" is not an e-mail address.`,
      });
    const refused = await reauthenticate(context, request, reply, password);
    if (refused !== null) return again(refused);
    const wait_s = await throttleMail(context.throttle, { address: request.ip, email });
    if (wait_s > 0) return again(tooManyAttempts(reply, wait_s));
    await context.emailChanges.request(personIdOf(request), email);
    return redirectWithFlash(
      context,
      reply,
      PROFILE,
      `Open the link that we mailed to ${email}. Until then nothing changes.`,
    );
  });

  scope.post('/profile/sessions/:session/end', RESTRICTED, async (request, reply) => {
    const { session } = request.params as { session: string };
    await context.sessions.endOther(personIdOf(request), session);
    return redirectWithFlash(context, reply, PROFILE, 'The session has ended.');
  });

  scope.post('/profile/sessions/end-others', RESTRICTED, async (request, reply) => {
    const person_id = personIdOf(request);
    await context.persons.endSessions(person_id);
    await recordPersonAction(context, request, person_id, { action: 'person.end_sessions' });
    const person = await context.persons.get(person_id);
    if (person) {
      const session = await context.sessions.begin(person_id, person.epoch, request.headers['user-agent']);
      if (request.user?.account) await context.sessions.setAccount(session, request.user.account.account_id);
      await context.sessions.setNotice(session, 'All other sessions have ended.');
      setSessionCookie(reply, context.site, session);
      await rememberBrowser(reply, context.site, person);
    }
    return redirectWithFlash(context, reply, PROFILE);
  });
}

function addressOf(typed: string): string | null {
  try {
    return validateEmail(typed);
  } catch (error) {
    if (error instanceof AccountError) return null;
    throw error;
  }
}
