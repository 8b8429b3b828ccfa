/** The overview of an account, and the form that changes its password. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { readUsage } from '../../../api/metering/metering.ts';
import { parseFields, untrimmedField } from '../../../web/forms.ts';
import { barChart } from '../../../web/templates.ts';
import { PASSWORD_LENGTH, passwordProblem } from '../../people/people.ts';
import { MAX_ACTIVE_KEYS } from '../../store/store.ts';
import { type AccountContext, accountIdOf, accountOf, personIdOf, recordAction } from '../context.ts';
import { ANONYMOUS, reauthenticate, restartSession } from '../forms.ts';

const DAYS_SHOWN = 30;
const passwordForm = z.object({ current: untrimmedField(1_000), password: untrimmedField(1_000) });

export function homeRoutes(scope: FastifyInstance, context: AccountContext): void {
  const view = context.view('home.njk');

  const show = async (request: FastifyRequest, reply: FastifyReply, problem = ''): Promise<FastifyReply> => {
    const account_id = accountIdOf(request);
    const [account, keys, orders, usage, requests] = await Promise.all([
      accountOf(context, request),
      context.accounts.keys.list(account_id),
      context.accounts.orders.list(account_id),
      readUsage(context.redis, account_id, DAYS_SHOWN, context.now()),
      context.requests.listOf(account_id),
    ]);
    const points = usage.daily.map(({ date, credits }) => ({ label: date, value: credits }));
    return view(reply, 'Overview', {
      account,
      keys: { active: keys.filter(({ state }) => state === 'active').length, most: MAX_ACTIVE_KEYS },
      chart: barChart('credits', 'Credits spent', points),
      open_orders: orders.filter(({ state }) => state === 'pending').length,
      isErasing: requests.some(
        ({ kind, status }) => kind === 'erasure' && ['pending', 'ready'].includes(status),
      ),
      least: PASSWORD_LENGTH.least,
      problem,
    });
  };

  scope.get('/', (request, reply) => show(request, reply));

  scope.post('/password', async (request, reply) => {
    const { current, password } = parseFields(passwordForm, request.body);
    const person_id = personIdOf(request);
    const email = request.user?.email ?? '';
    const problem = await passwordProblem(password, email);
    if (problem !== null) return show(request, reply.code(422), problem);
    const refused = await reauthenticate(context, request, reply, current);
    if (refused !== null) return show(request, reply, refused);
    await context.persons.setPassword(person_id, await context.passwords.hash(password));
    await recordAction(context, request, { person_id, action: 'account.password' });
    await restartSession(context, request, reply, 'Your password is changed. All other sessions were ended.');
    return reply.leadTo('/account/');
  });
}

/** `/account/summary`: who is signed in and what the account has, as JSON for the script of public pages. Empty for everybody else. */
export function summaryRoutes(scope: FastifyInstance, { accounts }: AccountContext): void {
  scope.get('/summary', ANONYMOUS, async ({ user }) => {
    if (user?.account === undefined || user.restrictedTo !== undefined) return {};
    const { account_id } = user.account;
    const [{ credits }, keys] = await Promise.all([accounts.get(account_id), accounts.keys.list(account_id)]);
    const [newest] = keys
      .filter(({ state }) => state === 'active')
      .toSorted((a, b) => b.created_at_ms - a.created_at_ms);
    const key = newest ? newest.label || newest.key_id : null;
    return { email: user.email, balance: credits.balance, key };
  });
}
