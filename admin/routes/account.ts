/** One account: shows everything stored about it, suspends and restores it, and adjusts its credits. */
import { randomUUID } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { FeedStore, readUsage, readUsedDays } from '../../gateway/api/metering/metering.ts';
import { accountSubject } from '../../gateway/commerce/history/history.ts';
import {
  type Confirmation,
  type ConfirmationPage,
  confirmationView,
  confirmedAction,
  counted,
  formatChange,
  formatCount,
  OPTIONAL_REASON,
} from '../../gateway/commerce/people/people.ts';
import { AccountError, type AccountRecord, MAX_CREDITS } from '../../gateway/commerce/store/store.ts';
import { parseFields, textField, untrimmedField, withQuery } from '../../gateway/web/forms.ts';
import { barChart } from '../../gateway/web/templates.ts';
import { type AdminArea, actorOf, idOf, shownChanges, userPath } from '../context.ts';
import { accountExports } from './account-exports.ts';
import { accountMembers, accountPartsRoutes } from './account-parts.ts';

const LEDGER_PAGE = 25;
const USAGE_DAYS = 30;

const query = z.object({
  before: z
    .string()
    .regex(/^(\d+-\d+)?$/)
    .default(''),
  format: textField(20),
});
const creditsForm = z.object({
  delta: untrimmedField(100),
  reason: textField(500),
  idem: textField(100),
  /** The account page asks; the confirmation page, and programs, act. */
  step: z.enum(['ask', '']).default(''),
});

export function accountRoutes(scope: FastifyInstance, area: AdminArea): void {
  const { accounts, redis, now } = area;
  const view = area.view('account.njk');
  const confirm = confirmationView(area);

  async function page(
    reply: FastifyReply,
    id: string,
    form: CreditsForm,
    before = '',
  ): Promise<FastifyReply> {
    const account = await accounts.get(id);
    const [keys, connections, feeds, members, ledger, orders, changes, usage, used] = await Promise.all([
      accounts.keys.list(id),
      area.connections.list(id),
      new FeedStore({ redis, now }).list(id),
      accountMembers(area, id),
      accounts.ledgerPage(id, { limit: LEDGER_PAGE + 1, ...(before !== '' && { before }) }),
      accounts.orders.list(id),
      shownChanges(area, accountSubject(id)),
      readUsage(redis, id, USAGE_DAYS, now()),
      readUsedDays(redis, id),
    ]);
    const shown = ledger.entries.slice(0, LEDGER_PAGE);
    const isLast = ledger.entries.length <= LEDGER_PAGE;
    const last = isLast ? ledger.gap?.before : shown.at(-1)?.id;
    const path = userPath(id);
    return view(reply, account.email || account.account_id, {
      account,
      path,
      keys,
      connections,
      feeds,
      members,
      ledger: shown,
      gap: isLast ? (ledger.gap?.message ?? null) : null,
      older: last ? `${withQuery(path, { before: last })}#ledger` : null,
      orders,
      ...changes,
      chart: barChart(
        'usage',
        'Requests',
        usage.daily.map(({ date, requests }) => ({ label: date, value: requests })),
      ),
      endpoints: usage.endpoints,
      used: used.sort((a, b) => (a.last_used < b.last_used ? 1 : -1)),
      form,
    });
  }

  scope.get<{ Params: { id: string } }>('/users/:id', async (request, reply) => {
    const { id } = request.params;
    const { before, format } = parseFields(query, request.query);
    if (format !== '') return accountExports(area, reply, (await accounts.get(id)).account_id, format);
    return page(reply, id, freshForm(), before);
  });

  const setState = (
    request: FastifyRequest,
    { account_id, state }: AccountRecord,
    move: 'suspend' | 'restore',
    reason: string,
  ): Promise<AccountRecord> =>
    request.audited(
      {
        action: `account.${move}`,
        subject: accountSubject(account_id),
        before: { state },
        after: { state: move === 'suspend' ? 'suspended' : 'active' },
        reason,
      },
      () => accounts[move](account_id, 'operator'),
      (moved) => (moved.state === state ? null : { after: { state: moved.state } }),
    );

  confirmedAction(scope, area, {
    path: '/users/:id/suspend',
    fields: z.object({}),
    reason: () => OPTIONAL_REASON,
    async ask(request) {
      const account = await accounts.get(idOf(request));
      const keys = await accounts.keys.list(account.account_id);
      const active = keys.filter(({ state }) => state === 'active').length;
      return suspension(account, active);
    },
    async act(request, _reply, { reason }) {
      const account = await accounts.get(idOf(request));
      const { state } = await setState(request, account, 'suspend', reason);
      return { path: userPath(account.account_id), notice: `The account is ${state}.` };
    },
  });

  scope.post<{ Params: { id: string } }>('/users/:id/restore', async (request, reply) => {
    const account = await accounts.get(request.params.id);
    const { state } = await setState(request, account, 'restore', '');
    return reply.leadTo(userPath(account.account_id), `The account is ${state}.`);
  });

  scope.post<{ Params: { id: string } }>('/users/:id/credits', async (request, reply) => {
    const { id } = request.params;
    const sent = parseFields(creditsForm, request.body);
    const refuse = (status: number, problem: string): Promise<FastifyReply> =>
      page(reply.code(status), id, { ...sent, idem: sent.idem || randomUUID(), problem });
    const delta = checkedDelta(sent.delta);
    if (typeof delta === 'string') return refuse(422, delta);
    if (sent.step === 'ask') {
      if (sent.reason === '') return refuse(422, 'Give a reason.');
      return confirm(reply, adjustment(await accounts.get(id), delta, sent));
    }
    try {
      const notice = await adjust(id, delta, sent, request);
      return await reply.leadTo(userPath(id), notice);
    } catch (error) {
      if (!(error instanceof AccountError) || ['account_unknown', 'unavailable'].includes(error.code))
        throw error;
      // The same idem would be refused again, so the form gets a new one.
      if (error.code === 'idem_conflict') sent.idem = '';
      return refuse(409, error.message);
    }
  });

  accountPartsRoutes(scope, area);

  async function adjust(
    id: string,
    delta: number,
    { reason, idem }: { reason: string; idem: string },
    request: Parameters<typeof actorOf>[0],
  ): Promise<string> {
    const { applied, shortfall, balance, repeated } = await request.audited(
      { action: 'credits.adjust', subject: accountSubject(id), after: { asked: delta }, reason },
      () => accounts.adjust(id, { delta, by: actorOf(request), reason, idem }),
      ({ applied, shortfall, balance }) => ({
        before: { balance: balance - applied },
        after: { balance, asked: delta, applied, shortfall },
      }),
      // The idem names the audit entry, so a repeated form writes it only if the first attempt failed to.
      idem === '' ? null : `credits ${id} ${idem}`,
    );
    if (repeated) return `This adjustment was already made; the balance after it was ${balance}.`;
    const short =
      shortfall > 0 ? ` ${shortfall} credits were already spent and could not be taken back.` : '';
    return `Adjusted by ${applied}; the balance is ${balance}.${short}`;
  }
}

const freshForm = (): CreditsForm => ({ delta: '', reason: '', idem: randomUUID(), problem: '' });

const suspension = ({ account_id, email, name, credits }: AccountRecord, keys: number): Confirmation => ({
  title: `Suspend ${email}`,
  effects: [
    `Requests with ${counted(keys, 'active key', 'active keys')} are refused from now on. The customer sees that the account is suspended.`,
    'Balance, keys and orders stay. You can restore the account at any time.',
  ],
  figures: [
    { label: 'Account', value: account_id },
    { label: 'Name', value: name || '–' },
    { label: 'Balance', value: counted(credits.balance, 'credit', 'credits') },
  ],
  button: 'Suspend account',
  back: userPath(account_id),
});

/** What an adjustment will do, with the balance as it is now. */
function adjustment(
  { account_id, email, credits }: AccountRecord,
  delta: number,
  { reason, idem }: { reason: string; idem: string },
): ConfirmationPage {
  const after = Math.max(0, credits.balance + delta);
  const shortfall = after - credits.balance - delta;
  const amount = counted(Math.abs(delta), 'credit', 'credits');
  const spent = counted(shortfall, 'credit was', 'credits were');
  return {
    confirmation: {
      title: delta > 0 ? `Give ${amount} to ${email}` : `Take ${amount} from ${email}`,
      effects: [
        'The change becomes a permanent entry of the ledger. Another adjustment can reverse it.',
        ...(shortfall > 0 ? [`${spent} already spent and cannot be taken back.`] : []),
      ],
      figures: [
        { label: 'Account', value: account_id },
        { label: 'Balance', value: formatChange(credits.balance, after) },
        { label: 'Reason', value: reason },
      ],
      button: delta > 0 ? 'Give credits' : 'Take credits',
      isHarmless: delta > 0,
      values: { delta: String(delta), reason, idem: idem || randomUUID() },
      back: userPath(account_id),
    },
    action: `${userPath(account_id)}/credits`,
    reason: null,
    asksPassword: false,
    problem: '',
  };
}

interface CreditsForm {
  delta: string;
  reason: string;
  /** Idempotency key: sending the form twice adjusts once. */
  idem: string;
  problem: string;
}

/** Parses the typed number of credits; returns a message when it is invalid. */
function checkedDelta(typed: string): number | string {
  const text = typed.trim().replace(/^[−–]/, '-');
  if (!/^[+-]?\d+$/.test(text)) return 'Credits must be a whole number, such as 500 or -500.';
  const delta = Number(text);
  if (delta === 0) return 'An adjustment cannot be zero.';
  if (Math.abs(delta) > MAX_CREDITS) return `An adjustment is at most ${formatCount(MAX_CREDITS)} credits.`;
  return delta;
}
