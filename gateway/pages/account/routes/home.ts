/** The overview: where the account stands, the name it goes by, its password. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { ACTIVE_KEYS_AT_MOST, type AccountRecord } from '../../../accounts/records.ts';
import { hashPassword, isPassword } from '../../../accounts/sign-in/passwords.ts';
import { readUsage } from '../../../metering/usage.ts';
import { barChart, type Chart } from '../../shared/chart.ts';
import { readFields, verbatim } from '../../shared/fields.ts';
import { holdSession } from '../../shared/site.ts';
import { type AccountArea, accountIdOf, accountOf, change, goOn } from '../context.ts';
import { passwordProblem } from './mail-pace.ts';

const DAYS_SHOWN = 30;
const passwordForm = z.object({ current: verbatim(1_000), password: verbatim(1_000) });

interface HomePage {
  account: AccountRecord;
  keys: { active: number; most: number };
  chart: Chart;
  open_orders: number;
  erasing: boolean;
  problem: string;
}

export function homeRoutes(scope: FastifyInstance, area: AccountArea): void {
  const view = area.view<HomePage>('home.njk');

  const show = async (request: FastifyRequest, reply: FastifyReply, problem = ''): Promise<FastifyReply> => {
    const account_id = accountIdOf(request);
    const [account, keys, orders, usage, requests] = await Promise.all([
      accountOf(area, request),
      area.accounts.listKeys(account_id),
      area.accounts.listOrders(account_id),
      readUsage(area.redis, account_id, DAYS_SHOWN, area.now()),
      area.requests.listOf(account_id),
    ]);
    const points = usage.daily.map(({ date, credits }) => ({ label: date, value: credits }));
    return view(reply, 'Overview', {
      account,
      keys: { active: keys.filter(({ state }) => state === 'active').length, most: ACTIVE_KEYS_AT_MOST },
      chart: barChart('credits', 'Credits spent', points),
      open_orders: orders.filter(({ state }) => state === 'pending').length,
      erasing: requests.some(
        ({ kind, status }) => kind === 'erasure' && ['pending', 'ready'].includes(status),
      ),
      problem,
    });
  };

  scope.get('/', (request, reply) => show(request, reply));

  scope.post('/password', async (request, reply) => {
    const { current, password } = readFields(passwordForm, request.body);
    const account_id = accountIdOf(request);
    const problem = passwordProblem(password);
    if (problem !== null) return show(request, reply.code(422), problem);
    const wait_ms = await area.throttle.attempt('account-password', account_id, {
      free: 5,
      longest_ms: 300_000,
    });
    if (wait_ms > 0) {
      const wait_s = Math.ceil(wait_ms / 1000);
      reply.header('Retry-After', wait_s);
      return show(request, reply.code(429), `Too many attempts. Try again in ${wait_s} s.`);
    }
    if (!(await isPassword(current, await area.people.passwordOf(account_id))))
      return show(request, reply.code(422), 'The current password is not right.');
    await area.throttle.forgive('account-password', account_id);
    const hashed = await hashPassword(password);
    await change(area, request, { action: 'account.password' }, () =>
      area.people.setPassword(account_id, hashed),
    );
    return beginAnew(request, reply);
  });

  /** The change ended every session; the one who made it goes on in a new one. */
  const beginAnew = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const { email } = await accountOf(area, request);
    const candidate = await area.people.candidate(email);
    if (candidate) {
      const session = await area.sessions.begin(candidate.subject, candidate.epoch);
      await area.sessions.leaveNotice(session, 'Your password is changed. All other sessions were ended.');
      holdSession(reply, area.site, session);
    }
    return goOn(area, reply, '/account/');
  };
}
