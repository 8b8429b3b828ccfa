/** The commands of `npm run account`: what each takes, and what it answers with. */
import { OPERATOR_COMMANDS } from '../../../admin/operator-commands.ts';
import type { RedisClient } from '../../../data/runtime/redis.ts';
import type { Settings } from '../../../data/runtime/settings.ts';
import type { AccountStore } from '../account-store.ts';
import { subjectOf } from '../privacy/data-export.ts';
import { AccountError, type LedgerEntry, type OrderRecord, type OrderState } from '../records.ts';
import { BY, change } from './command-audit.ts';
import { RIGHTS_COMMANDS } from './privacy-commands.ts';

/** What was typed cannot be understood; the message says what was expected. */
export class UsageError extends Error {
  override name = 'UsageError';
}

export type OptionValues = Readonly<Record<string, string | boolean | undefined>>;
type OptionTypes = Readonly<Record<string, { type: 'string' | 'boolean'; value?: string; help: string }>>;

export interface AccountCommand {
  help: string;
  options: OptionTypes;
  /** Answers with one JSON object. @throws {AccountError} @throws {UsageError} */
  run(
    store: AccountStore,
    values: OptionValues,
    redis: RedisClient,
    settings: Settings,
  ): Promise<Record<string, unknown>>;
}

const SHOWN_LEDGER_ENTRIES = 20;
const MOVES = ['paid', 'failed', 'cancelled', 'refunded'] as const satisfies readonly OrderState[];

const email = { type: 'string', value: 'ADDRESS', help: 'whose account' } as const;
const credits = { type: 'string', value: 'N', help: 'how many credits' } as const;

function textOf(values: OptionValues, name: string): string {
  const value = values[name];
  if (typeof value === 'string' && value.trim() !== '') return value;
  throw new UsageError(`--${name} is needed.`);
}

function optionalText(values: OptionValues, name: string): string | undefined {
  return values[name] === undefined ? undefined : textOf(values, name);
}

function countOf(values: OptionValues, name: string): number {
  const text = textOf(values, name);
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new UsageError(`--${name} takes a whole number, not "${text}".`);
}

function momentOf(values: OptionValues, name: string): number | null {
  const text = optionalText(values, name);
  if (text === undefined) return null;
  const isoMoment = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/;
  const moment_ms = isoMoment.test(text) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(moment_ms)) return moment_ms;
  throw new UsageError(`--${name} takes a moment like 2027-01-01T00:00:00Z, not "${text}".`);
}

async function accountOf(store: AccountStore, values: OptionValues): Promise<string> {
  const { account_id } = await store.findByEmail(textOf(values, 'email'));
  return account_id;
}

/** Sent where a time is answered: ISO 8601 in UTC. */
const iso = (moment_ms: number | null): string | null =>
  moment_ms === null ? null : new Date(moment_ms).toISOString();

const create: AccountCommand = {
  help: 'create an account',
  options: {
    email,
    name: { type: 'string', value: 'TEXT', help: 'display name' },
    verified: { type: 'boolean', help: 'its e-mail address counts as verified' },
    credits,
  },
  async run(store, values, redis) {
    const name = optionalText(values, 'name');
    const account = {
      email: textOf(values, 'email'),
      ...(name !== undefined && { name }),
      verified: values.verified === true,
      credits: values.credits === undefined ? 0 : countOf(values, 'credits'),
      by: BY,
    };
    const after = { verified: account.verified, credits: account.credits };
    const { account_id, credits } = await change(
      redis,
      { action: 'account.create', account_id: 'not known yet', after },
      () => store.create(account),
      (made) => ({ subject: subjectOf(made.account_id) }),
    );
    return { account_id, balance: credits.balance };
  },
};

const verify: AccountCommand = {
  help: 'mark its e-mail address as verified',
  options: { email },
  async run(store, values, redis) {
    const account_id = await accountOf(store, values);
    const { verified, tier } = await change(redis, { action: 'account.verify', account_id }, () =>
      store.verify(account_id, { by: BY }),
    );
    return { account_id, verified, tier };
  },
};

const key: AccountCommand = {
  help: 'make a key; it is shown this once',
  options: {
    email,
    label: { type: 'string', value: 'TEXT', help: 'what the key is for' },
    expires: { type: 'string', value: 'MOMENT', help: 'when it ends, such as 2027-01-01T00:00:00Z' },
  },
  async run(store, values, redis) {
    const label = optionalText(values, 'label');
    const expires_at_ms = momentOf(values, 'expires');
    const account_id = await accountOf(store, values);
    const minted = await change(
      redis,
      { action: 'key.create', account_id, after: { expires_at_ms } },
      () => store.mintKey(account_id, { ...(label !== undefined && { label }), expires_at_ms }),
      ({ key_id }) => ({ after: { key_id, expires_at_ms } }),
    );
    const { key, key_id } = minted;
    return { key, key_id, ...(expires_at_ms !== null && { expires_at: iso(expires_at_ms) }) };
  },
};

const revoke: AccountCommand = {
  help: 'revoke a key, for good',
  options: { 'key-id': { type: 'string', value: 'ID', help: 'the 12 characters that name the key' } },
  async run(store, values, redis) {
    const id = textOf(values, 'key-id');
    const account_id = await store.accountOfKey(id);
    const { key_id, state } = await change(
      redis,
      { action: 'key.revoke', account_id, after: { key_id: id, state: 'revoked' } },
      () => store.revokeKey(id),
    );
    return { key_id, state };
  },
};

const changeState = (help: string, method: 'suspend' | 'restore' | 'close'): AccountCommand => ({
  help,
  options: { email },
  async run(store, values, redis) {
    const account_id = await accountOf(store, values);
    const before = { state: (await store.get(account_id)).state };
    const { state } = await change(
      redis,
      { action: `account.${method}`, account_id },
      () => store[method](account_id),
      (after) => (after.state === before.state ? null : { before, after: { state: after.state } }),
    );
    return { account_id, state };
  },
});

const grant: AccountCommand = {
  help: 'add credits',
  options: {
    email,
    credits,
    reason: { type: 'string', value: 'TEXT', help: 'why, for the ledger' },
    idem: {
      type: 'string',
      value: 'WORD',
      help: 'applies once for each account, however often it is repeated',
    },
  },
  async run(store, values, redis) {
    const account_id = await accountOf(store, values);
    const reason = optionalText(values, 'reason');
    const idem = optionalText(values, 'idem');
    const credits = countOf(values, 'credits');
    const words = { ...(reason !== undefined && { reason }), ...(idem !== undefined && { idem }) };
    const { applied, balance } = await change(
      redis,
      { action: 'credits.grant', account_id, after: { credits } },
      () => store.grant(account_id, { credits, by: BY, ...words }),
      (granted) => (granted.repeated ? null : { after: { credits, balance: granted.balance } }),
    );
    return { account_id, granted: applied, balance };
  },
};

const order: AccountCommand = {
  help: 'order a credit pack, or move an order on',
  options: {
    email,
    pack: { type: 'string', value: 'ID', help: 'which pack to order' },
    order: { type: 'string', value: 'ID', help: 'an order that exists, instead of --email and --pack' },
    paid: { type: 'boolean', help: 'it is paid: grants its credits' },
    failed: { type: 'boolean', help: 'its payment failed' },
    cancelled: { type: 'boolean', help: 'it was cancelled' },
    refunded: { type: 'boolean', help: 'its payment was given back: takes back what is left of its credits' },
  },
  async run(store, values, redis) {
    const moves = MOVES.filter((move) => values[move] === true);
    if (moves.length > 1)
      throw new UsageError('Only one of --paid, --failed, --cancelled and --refunded can be said.');
    const [to] = moves;
    const placed =
      values.order === undefined
        ? await store.order(await accountOf(store, values), textOf(values, 'pack'))
        : await store.getOrder(textOf(values, 'order'));
    const { order_id, state, pack_id, credits, shortfall } = to
      ? (await moved(store, redis, placed, to)).order
      : placed;
    const account = await store.get(placed.account_id);
    return { order_id, state, pack: pack_id, credits, shortfall, balance: account.credits.balance };
  },
};

const moved = (store: AccountStore, redis: RedisClient, placed: OrderRecord, to: (typeof MOVES)[number]) =>
  change(
    redis,
    { action: `order.${to}`, account_id: placed.account_id, after: { order: placed.order_id, state: to } },
    () => store.moveOrder(placed.order_id, to),
    ({ changed }) => (changed ? { before: { order: placed.order_id, state: placed.state } } : null),
  );

const ledgerLine = ({ at_ms, ...entry }: LedgerEntry): Record<string, unknown> => ({
  at: iso(at_ms),
  ...entry,
});

const show: AccountCommand = {
  help: 'show an account with its keys, orders and latest ledger entries',
  options: { email },
  async run(store, values) {
    const { created_at_ms, ...account } = await store.findByEmail(textOf(values, 'email'));
    const { account_id } = account;
    const keys = await store.listKeys(account_id);
    const orders = await store.listOrders(account_id);
    const { entries: ledger, gap } = await store.ledgerPage(account_id, { limit: SHOWN_LEDGER_ENTRIES });
    return {
      ...account,
      balance: account.credits.balance,
      created_at: iso(created_at_ms),
      keys: keys.map(({ created_at_ms, expires_at_ms, revoked_at_ms, last_used_at_ms, ...rest }) => ({
        ...rest,
        created_at: iso(created_at_ms),
        expires_at: iso(expires_at_ms),
        revoked_at: iso(revoked_at_ms),
        last_used_at: iso(last_used_at_ms),
      })),
      orders: orders.map(({ created_at_ms, moved_at_ms, ...rest }) => ({
        ...rest,
        created_at: iso(created_at_ms),
        moved_at: iso(moved_at_ms),
      })),
      ledger: ledger.map(ledgerLine),
      ...(gap && { ledger_missing: gap.message }),
    };
  },
};

export const COMMANDS: Readonly<Record<string, AccountCommand>> = {
  create,
  verify,
  key,
  revoke,
  suspend: changeState('refuse its keys from the next request on', 'suspend'),
  restore: changeState('end a suspension', 'restore'),
  close: changeState('close it for good and revoke its keys', 'close'),
  grant,
  order,
  show,
  ...Object.fromEntries(
    Object.entries(RIGHTS_COMMANDS).map(([name, { run, ...command }]): [string, AccountCommand] => [
      name,
      { ...command, run: (store, values, redis, settings) => run({ store, redis, settings }, values) },
    ]),
  ),
  ...Object.fromEntries(
    Object.entries(OPERATOR_COMMANDS).map(([name, { run, ...command }]): [string, AccountCommand] => [
      name,
      { ...command, run: (_store, values, redis) => run(redis, values) },
    ]),
  ),
};

/** A sentence for whatever a command may throw, or null for a fault of ours. */
export const sentenceFor = (error: unknown): string | null =>
  error instanceof AccountError || error instanceof UsageError ? error.message : null;
