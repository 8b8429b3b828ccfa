/** Settings of alerts: low balance, spending, changes of used indicators. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { parseFields, textField } from '../../../web/forms.ts';
import {
  CHANGE_KINDS,
  PERIODS,
  type Period,
  readToldKinds,
  type SpendingLimit,
  setToldKinds,
} from '../../notifications/notifications.ts';
import { type AccountContext, accountIdOf, accountOf } from '../context.ts';

const PAGE = '/account/alerts';
const MAX_CREDITS_LENGTH = 20;
const balanceForm = z.object({ low_at: textField(MAX_CREDITS_LENGTH) });
const spendingForm = z.object({ above: textField(MAX_CREDITS_LENGTH), per: textField(10) });
const changesForm = z.record(z.string(), z.string());

/** What was typed, and what is wrong with it. */
type Typed = Partial<Record<'low_at' | 'above' | 'per' | 'balanceProblem' | 'spendingProblem', string>>;

/** Null for nothing or 0; NaN for what is no whole number of credits. */
function parseCredits(typed: string): number | null {
  if (typed === '' || typed === '0') return null;
  return /^\d{1,12}$/.test(typed) ? Number(typed) : Number.NaN;
}

const isPeriod = (word: string): word is Period => Object.hasOwn(PERIODS, word);

export function alertsRoutes(scope: FastifyInstance, context: AccountContext): void {
  const { alerts, spendingAlerts, redis } = context;
  const view = context.view('alerts.njk');

  async function show(
    request: FastifyRequest,
    reply: FastifyReply,
    typed: Typed = {},
  ): Promise<FastifyReply> {
    const account_id = accountIdOf(request);
    const [{ email }, low_at, limit, told] = await Promise.all([
      accountOf(context, request),
      alerts.get(account_id),
      spendingAlerts.get(account_id),
      readToldKinds(redis, account_id),
    ]);
    const kept = {
      low_at: String(low_at ?? ''),
      above: String(limit?.above ?? ''),
      per: limit?.per ?? 'day',
      balanceProblem: '',
      spendingProblem: '',
    };
    return view(reply, 'Alerts', {
      email,
      form: { ...kept, ...typed },
      kinds: CHANGE_KINDS.map((kind) => ({ kind, isTold: told.includes(kind) })),
    });
  }

  scope.get('/alerts', (request, reply) => show(request, reply));

  scope.post('/alerts/balance', async (request, reply) => {
    const { low_at: typed } = parseFields(balanceForm, request.body);
    const low_at = parseCredits(typed);
    if (Number.isNaN(low_at)) {
      const balanceProblem = 'The threshold must be a whole number of credits, or empty for no e-mail.';
      return show(request, reply.code(422), { low_at: typed, balanceProblem });
    }
    const account_id = accountIdOf(request);
    const facts = { before: { low_at: await alerts.get(account_id) }, after: { low_at } };
    await request.audited({ action: 'account.alert', ...facts }, () => alerts.set(account_id, low_at));
    const notice =
      low_at === null
        ? 'Low-balance e-mail is off.'
        : `You will get an e-mail when fewer than ${low_at} credits are left.`;
    return reply.leadTo(PAGE, notice);
  });

  scope.post('/alerts/spending', async (request, reply) => {
    const { above: typed, per } = parseFields(spendingForm, request.body);
    const above = parseCredits(typed);
    if (Number.isNaN(above) || !isPeriod(per)) {
      const spendingProblem = isPeriod(per)
        ? 'The spending must be a whole number of credits, or empty for no e-mail.'
        : 'Choose an hour or a day.';
      return show(request, reply.code(422), { above: typed, per, spendingProblem });
    }
    const account_id = accountIdOf(request);
    const limit: SpendingLimit | null = above === null ? null : { above, per };
    const before = { spending: formatLimit(await spendingAlerts.get(account_id)) };
    const facts = { before, after: { spending: formatLimit(limit) } };
    await request.audited({ action: 'account.spending_alert', ...facts }, () =>
      spendingAlerts.set(account_id, limit),
    );
    const notice =
      limit === null
        ? 'E-mail about spending is off.'
        : `You will get an e-mail when calls cost more than ${limit.above} credits in one ${per}.`;
    return reply.leadTo(PAGE, notice);
  });

  scope.post('/alerts/changes', async (request, reply) => {
    const fields = parseFields(changesForm, request.body);
    const told = CHANGE_KINDS.filter((kind) => fields[kind] !== undefined);
    const account_id = accountIdOf(request);
    const before = { changes: (await readToldKinds(redis, account_id)).join(' ') };
    const facts = { before, after: { changes: told.join(' ') } };
    await request.audited({ action: 'account.change_alerts', ...facts }, () =>
      setToldKinds(redis, account_id, told),
    );
    const notice =
      told.length === 0
        ? 'E-mail about changed indicators is off.'
        : `You will get an e-mail when indicators that you use are ${anyOf.format(told)}.`;
    return reply.leadTo(PAGE, notice);
  });
}

const formatLimit = (limit: SpendingLimit | null): string | null =>
  limit && `${limit.above} per ${limit.per}`;

const anyOf = new Intl.ListFormat('en-GB', { type: 'disjunction' });
