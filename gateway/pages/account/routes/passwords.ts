/** A password that was lost, and one that is changed. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { hashPassword } from '../../../accounts/sign-in/passwords.ts';
import { readFields, text, verbatim } from '../../shared/fields.ts';
import { type AccountArea, note } from '../context.ts';
import { mailPace, passwordProblem, sayWait } from './mail-pace.ts';

const forgotForm = z.object({ email: z.string().trim().pipe(z.email().max(254)) });
const forgotText = z.object({ email: text(254) });
const resetForm = z.object({ password: verbatim(1_000) });

export function passwordRoutes(scope: FastifyInstance, area: AccountArea): void {
  forgotRoutes(scope, area);
  resetRoutes(scope, area);
}

function forgotRoutes(scope: FastifyInstance, area: AccountArea): void {
  const view = area.view<{ form: { email: string; problem: string } }>('forgot.njk');
  const mailed = area.view<{ email: string }>('mailed.njk');
  const title = 'A new password';

  scope.get('/forgot', { config: { open: true } }, async (_request, reply) =>
    view(reply, title, { form: { email: '', problem: '' } }),
  );

  scope.post('/forgot', { config: { open: true } }, async (request, reply) => {
    const { email } = readFields(forgotText, request.body);
    if (!forgotForm.safeParse({ email }).success) {
      const problem = `"${email}" is not an e-mail address.`;
      return view(reply.code(422), title, { form: { email, problem } });
    }
    const wait_s = await mailPace(area.throttle, request.ip, email);
    if (wait_s > 0) {
      const problem = sayWait(reply, wait_s);
      return view(reply, title, { form: { email, problem } });
    }
    await area.onboarding.forgot(email);
    return mailed(reply, 'Look into your mail', { email });
  });
}

function resetRoutes(scope: FastifyInstance, area: AccountArea): void {
  const view = area.view<{ token: string; problem: string }>('reset.njk');
  const stale = area.view<{ again: string }>('stale-link.njk');
  const done = area.view<object>('reset-done.njk');
  const path = '/reset/:token';
  const title = 'Choose a new password';
  const again = '/account/forgot';
  const tokenOf = (request: FastifyRequest): string => (request.params as { token: string }).token;

  scope.get(path, { config: { open: true } }, async (request, reply) => {
    const token = tokenOf(request);
    const isGood = await area.onboarding.looksGoodForReset(token);
    if (!isGood) return stale(reply.code(410), 'This link is no longer good', { again });
    return view(reply, title, { token, problem: '' });
  });

  scope.post(path, { config: { open: true } }, async (request, reply) => {
    const token = tokenOf(request);
    const { password } = readFields(resetForm, request.body);
    const problem = passwordProblem(password);
    if (problem !== null) return view(reply.code(422), title, { token, problem });
    const account = await area.onboarding.reset(token, await hashPassword(password));
    if (account === null) return stale(reply.code(410), 'This link is no longer good', { again });
    await note(area, request, account.account_id, { action: 'account.password' });
    return done(reply, 'Your password is changed', {});
  });
}
