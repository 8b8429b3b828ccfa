/** Signing up, confirming the address, signing in and out. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { readFields, text, verbatim } from '../../../web/fields.ts';
import { localPath } from '../../../web/local-path.ts';
import { hashPassword } from '../../../web/passwords.ts';
import { trySignIn } from '../../../web/sign-in.ts';
import { dropSession, holdSession, sendSignIn } from '../../../web/site.ts';
import { AccountError } from '../../account.ts';
import { checkedEmail } from '../../checks.ts';
import { type AccountArea, accountIdOf, note } from '../area.ts';
import { mailPace, passwordProblem, sayWait } from './mail-pace.ts';

const REALM = 'account';
const signInForm = z.object({ email: text(254), password: verbatim(200), next: text(2_000) });
const signUpForm = z.object({ email: text(254), name: text(200), password: verbatim(1_000) });

interface SignUpPage {
  form: { email: string; name: string; problem: string };
}

export function entryRoutes(scope: FastifyInstance, area: AccountArea): void {
  signInRoutes(scope, area);
  signUpRoutes(scope, area);
  confirmRoutes(scope, area);
}

function signInRoutes(scope: FastifyInstance, { site, sessions, people, throttle }: AccountArea): void {
  const open = { config: { open: true } };
  const kept = { config: { onlyPage: true } };

  scope.get('/sign-in', open, async (request, reply) =>
    request.person
      ? reply.redirect(`${site.root}/`)
      : sendSignIn(reply, site, { next: localPath(null, site.root) }),
  );

  scope.post('/sign-in', open, async (request, reply) => {
    const { email, password, next: wanted } = readFields(signInForm, request.body);
    const next = localPath(wanted, site.root);
    const find = (address: string) => people.candidate(address);
    const outcome = await trySignIn(REALM, throttle, find, { email, password, address: request.ip });
    if (outcome.kind === 'wait') {
      const problem = sayWait(reply, outcome.wait_s);
      return sendSignIn(reply, site, { next, email, problem });
    }
    if (outcome.kind === 'wrong') {
      const problem = 'The e-mail address or the password is not right.';
      return sendSignIn(reply.code(401), site, { next, email, problem });
    }
    if (request.webSession) await sessions.end(request.webSession);
    const { subject, epoch } = outcome.candidate;
    holdSession(reply, site, await sessions.begin(subject, epoch));
    return reply.redirect(next, 303);
  });

  const leave = (reply: FastifyReply): FastifyReply => {
    dropSession(reply, site);
    return reply.redirect(`${site.root}/sign-in`, 303);
  };
  scope.post('/sign-out', kept, async (request, reply) => {
    if (request.webSession) await sessions.end(request.webSession);
    return leave(reply);
  });
  scope.post('/sign-out-everywhere', kept, async (request, reply) => {
    await people.endSessions(accountIdOf(request));
    return leave(reply);
  });
}

function signUpRoutes(scope: FastifyInstance, area: AccountArea): void {
  const view = area.view<SignUpPage>('sign-up.njk');
  const mailed = area.view<{ email: string }>('mailed.njk');
  const blank = { email: '', name: '', problem: '' };

  scope.get('/sign-up', { config: { open: true } }, async (_request, reply) =>
    view(reply, 'Create an account', { form: blank }),
  );

  scope.post('/sign-up', { config: { open: true } }, async (request, reply) => {
    const { email, name, password } = readFields(signUpForm, request.body);
    const again = (problem: string) => view(reply, 'Create an account', { form: { email, name, problem } });
    const problem = addressProblem(email) ?? passwordProblem(password);
    if (problem !== null) {
      reply.code(422);
      return again(problem);
    }
    const wait_s = await mailPace(area.throttle, request.ip, email);
    if (wait_s > 0) return again(sayWait(reply, wait_s));
    await area.onboarding.signUp({ email, name, password: await hashPassword(password) });
    return mailed(reply, 'Look into your mail', { email });
  });
}

function addressProblem(email: string): string | null {
  try {
    checkedEmail(email);
    return null;
  } catch (error) {
    if (error instanceof AccountError) return error.message;
    throw error;
  }
}

function confirmRoutes(scope: FastifyInstance, area: AccountArea): void {
  const view = area.view<{ token: string; email: string }>('confirm.njk');
  const stale = area.view<{ again: string }>('stale-link.njk');
  const confirmed = area.view<{ account: { email: string; credits: number } }>('confirmed.njk');
  const path = '/confirm/:token';
  const tokenOf = (request: FastifyRequest): string => (request.params as { token: string }).token;

  // Looking at a link uses nothing up: programs that check mails open links too.
  scope.get(path, { config: { open: true } }, async (request, reply) => {
    const token = tokenOf(request);
    const sign_up = await area.onboarding.look(token);
    if (sign_up === null)
      return stale(reply.code(410), 'This link is no longer good', { again: '/account/sign-up' });
    return view(reply, 'Confirm your address', { token, email: sign_up.email });
  });

  scope.post(path, { config: { open: true } }, async (request, reply) => {
    const account = await area.onboarding.confirm(tokenOf(request));
    if (account === null)
      return stale(reply.code(410), 'This link is no longer good', { again: '/account/sign-up' });
    await note(area, request, account.account_id, { action: 'account.confirm' });
    const { email, credits } = account;
    return confirmed(reply, 'Your address is confirmed', { account: { email, credits: credits.balance } });
  });
}
