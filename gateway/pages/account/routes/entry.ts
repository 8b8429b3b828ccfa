/** Signing up, confirming the address, signing in and out. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { AccountError } from '../../../accounts/records.ts';
import { hashPassword } from '../../../accounts/sign-in/passwords.ts';
import { checkedEmail } from '../../../accounts/validation.ts';
import { readFields, text, verbatim } from '../../shared/fields.ts';
import { localPath } from '../../shared/local-path.ts';
import { signInRoutes as commonRoutes } from '../../shared/sign-in-routes.ts';
import { sendSignIn } from '../../shared/site.ts';
import { type AccountArea, note } from '../context.ts';
import { mailPace, passwordProblem, sayWait } from './mail-pace.ts';

const signUpForm = z.object({ email: text(254), name: text(200), password: verbatim(1_000) });

interface SignUpPage {
  form: { email: string; name: string; problem: string };
}

export function entryRoutes(scope: FastifyInstance, area: AccountArea): void {
  signInRoutes(scope, area);
  signUpRoutes(scope, area);
  confirmRoutes(scope, area);
}

function signInRoutes(scope: FastifyInstance, { site, people, throttle }: AccountArea): void {
  const outside = `${site.root}/sign-in`;

  scope.get('/sign-in', { config: { open: true } }, async (request, reply) =>
    request.person
      ? reply.redirect(`${site.root}/`)
      : sendSignIn(reply, site, { next: localPath(null, site.root) }),
  );

  commonRoutes(scope, site, {
    realm: 'account',
    throttle,
    find: (address) => people.candidate(address),
    endSessions: (account_id) => people.endSessions(account_id),
    outside,
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
