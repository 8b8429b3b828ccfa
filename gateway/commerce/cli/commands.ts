/**
 * The command line `npm run account`: accounts, keys, credits, orders and privacy requests; this file is the door of the room.
 *
 * - A command takes named options, prints one JSON object and says what it expected when they are not valid.
 * - Every change is audited as one of `command line`, by the same stores as the pages use.
 */
import { pino } from 'pino';
import { accountSubject } from '../history/history.ts';
import { openPrivacy, type PrivacyRequestKind } from '../privacy/privacy.ts';
import type { OrderRecord, OrderState } from '../store/store.ts';
import {
  auditedChange,
  BY,
  type Command,
  type CommandContext,
  email,
  findAccountId,
  formatTime,
  optionalText,
  requiredCount,
  requiredText,
  UsageError,
} from './command.ts';
import { KEY_COMMANDS } from './key-commands.ts';
import { reviewer } from './reviewer-command.ts';

const SHOWN_LEDGER_ENTRIES = 20;
const MOVES = ['paid', 'failed', 'cancelled', 'refunded'] as const satisfies readonly OrderState[];
const KINDS: readonly PrivacyRequestKind[] = ['export', 'erasure'];

const credits = { type: 'string', value: 'N', help: 'how many credits' } as const;

/** Replaces times in Unix milliseconds (`…_at_ms`) by ISO 8601 (`…_at`). */
const withIsoTimes = (record: object): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(record).map(([name, value]) =>
      /(^|_)at_ms$/.test(name) ? [name.slice(0, -'_ms'.length), formatTime(value)] : [name, value],
    ),
  );

const create: Command = {
  help: 'create an account',
  options: {
    email,
    name: { type: 'string', value: 'TEXT', help: 'display name' },
    verified: { type: 'boolean', help: 'mark its e-mail address as verified' },
    credits,
  },
  async run({ store, redis }, values) {
    const account = {
      email: requiredText(values, 'email'),
      name: optionalText(values, 'name'),
      verified: values.verified === true,
      credits: values.credits === undefined ? 0 : requiredCount(values, 'credits'),
      by: BY,
    };
    const after = { verified: account.verified, credits: account.credits };
    const { account_id, credits } = await auditedChange(
      redis,
      { action: 'account.create', subject: accountSubject('not known yet'), after },
      () => store.create(account),
      (created) => ({ subject: accountSubject(created.account_id) }),
    );
    return { account_id, balance: credits.balance };
  },
};

const verify: Command = {
  help: 'mark its e-mail address as verified',
  options: { email },
  async run(context, values) {
    const { store, redis } = context;
    const account_id = await findAccountId(context, values);
    const change = { action: 'account.verify', subject: accountSubject(account_id) };
    const { verified, tier } = await auditedChange(redis, change, () => store.verify(account_id, { by: BY }));
    return { account_id, verified, tier };
  },
};

const changeState = (help: string, method: 'suspend' | 'restore' | 'close'): Command => ({
  help,
  options: { email },
  async run(context, values) {
    const { store, redis } = context;
    const account_id = await findAccountId(context, values);
    const before = await store.holdings(account_id);
    const { state } = await auditedChange(
      redis,
      { action: `account.${method}`, subject: accountSubject(account_id) },
      () => store[method](account_id, BY),
      (after) =>
        after.state === before.state ? null : { before: { ...before }, after: { state: after.state } },
    );
    return { account_id, state };
  },
});

const grant: Command = {
  help: 'add credits',
  options: {
    email,
    credits,
    reason: { type: 'string', value: 'TEXT', help: 'reason, for the ledger' },
    idem: {
      type: 'string',
      value: 'KEY',
      help: 'idempotency key: the grant applies once per account',
    },
  },
  async run(context, values) {
    const { store, redis } = context;
    const account_id = await findAccountId(context, values);
    const reason = optionalText(values, 'reason');
    const idem = optionalText(values, 'idem');
    const credits = requiredCount(values, 'credits');
    const { applied, balance } = await auditedChange(
      redis,
      { action: 'credits.grant', subject: accountSubject(account_id), after: { credits } },
      () => store.grant(account_id, { credits, by: BY, reason, idem }),
      (granted) => (granted.repeated ? null : { after: { credits, balance: granted.balance } }),
    );
    return { account_id, granted: applied, balance };
  },
};

const order: Command = {
  help: 'order a credit pack, or change the state of an order',
  options: {
    email,
    pack: { type: 'string', value: 'ID', help: 'which pack to order' },
    order: { type: 'string', value: 'ID', help: 'an existing order, instead of --email and --pack' },
    paid: { type: 'boolean', help: 'mark as paid and grant its credits' },
    failed: { type: 'boolean', help: 'mark as failed' },
    cancelled: { type: 'boolean', help: 'mark as cancelled' },
    refunded: { type: 'boolean', help: 'mark as refunded and take back its remaining credits' },
  },
  async run(context, values) {
    const { store } = context;
    const moves = MOVES.filter((move) => values[move] === true);
    if (moves.length > 1)
      throw new UsageError('Only one of --paid, --failed, --cancelled and --refunded can be given.');
    const [to] = moves;
    const placed =
      values.order === undefined
        ? await placeOrder(context, await findAccountId(context, values), requiredText(values, 'pack'))
        : await store.orders.get(requiredText(values, 'order'));
    const { order_id, state, pack_id, credits, shortfall } = to
      ? await moveOrder(context, placed, to)
      : placed;
    const account = await store.get(placed.account_id);
    return { order_id, state, pack: pack_id, credits, shortfall, balance: account.credits.balance };
  },
};

function placeOrder(
  { store, redis }: CommandContext,
  account_id: string,
  pack: string,
): Promise<OrderRecord> {
  return auditedChange(
    redis,
    { action: 'order.place', subject: accountSubject(account_id), after: { pack } },
    () => store.orders.create(account_id, pack, 'invoice', BY),
    ({ order_id, credits, payment }) => ({ after: { order_id, pack, credits, payment } }),
  );
}

async function moveOrder(
  { store, redis }: CommandContext,
  { order_id, account_id, state }: OrderRecord,
  to: (typeof MOVES)[number],
): Promise<OrderRecord> {
  const { order } = await auditedChange(
    redis,
    {
      action: `order.${to}`,
      subject: accountSubject(account_id),
      after: { order: order_id, state: to },
    },
    () => store.orders.move(order_id, to, BY),
    ({ changed }) => (changed ? { before: { order: order_id, state } } : null),
  );
  return order;
}

const show: Command = {
  help: 'show an account with its keys, orders and latest ledger entries',
  options: { email },
  async run({ store }, values) {
    const account = await store.findByEmail(requiredText(values, 'email'));
    const { account_id, credits } = account;
    const keys = await store.keys.list(account_id);
    const orders = await store.orders.list(account_id);
    const { entries, gap } = await store.ledgerPage(account_id, { limit: SHOWN_LEDGER_ENTRIES });
    return {
      ...withIsoTimes(account),
      balance: credits.balance,
      keys: keys.map(withIsoTimes),
      orders: orders.map(withIsoTimes),
      ledger: entries.map(withIsoTimes),
      ...(gap && { ledger_missing: gap.message }),
    };
  },
};

const openRequests = ({ store: accounts, redis, settings, archive }: CommandContext) =>
  openPrivacy({ settings, redis, accounts, archive, now: Date.now, log: pino({ level: 'silent' }) });

const request: Command = {
  help: 'open a privacy request for an account holder',
  options: { email, kind: { type: 'string', value: 'KIND', help: 'export or erasure' } },
  async run(context, values) {
    const text = requiredText(values, 'kind');
    const kind = KINDS.find((known) => known === text);
    if (!kind) throw new UsageError(`--kind takes ${KINDS.join(' or ')}, not "${text}".`);
    const account_id = await findAccountId(context, values);
    const { requests, privacy } = openRequests(context);
    const { request_id } = await requests.open(account_id, kind);
    const { status, plan } = await privacy.prepare(request_id);
    return { request_id, account_id, kind, status, plan };
  },
};

const erase: Command = {
  help: 'carry out one erasure, or all that are ready',
  options: {
    request: { type: 'string', value: 'ID', help: 'which request' },
    ready: { type: 'boolean', help: 'all that are ready, as the nightly run does' },
  },
  async run(context, values) {
    const { privacy } = openRequests(context);
    const { erasures } = privacy;
    if (values.ready !== true) return erasures.erase(requiredText(values, 'request'), { by: BY });
    const erased = [];
    for (const { request_id } of await privacy.listErasable())
      erased.push(await erasures.erase(request_id, { by: BY }));
    return { erased };
  },
};

export const ACCOUNT_COMMANDS: Readonly<Record<string, Command>> = {
  create,
  verify,
  ...KEY_COMMANDS,
  suspend: changeState('reject its keys from the next request on', 'suspend'),
  restore: changeState('end a suspension', 'restore'),
  close: changeState('close it permanently and revoke its keys', 'close'),
  grant,
  order,
  show,
  request,
  erase,
  reviewer,
};

export {
  auditedChange,
  type Command,
  type CommandContext,
  formatTime,
  type OptionValues,
  requiredText,
  UsageError,
} from './command.ts';
