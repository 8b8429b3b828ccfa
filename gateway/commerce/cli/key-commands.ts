/** The commands of `npm run account` for keys. */

import { HOUR_MS } from '../../../data/schema/redis-keys.ts';
import { auditedRules, GRACE_MS } from '../accounts/accounts.ts';
import { accountSubject } from '../history/history.ts';
import type { KeyRules } from '../store/store.ts';
import {
  auditedChange,
  BY,
  type Command,
  type CommandContext,
  email,
  findAccountId,
  formatTime,
  type OptionValues,
  optionalText,
  requiredCount,
  requiredText,
  UsageError,
} from './command.ts';

const ISO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/;

const keyId = { type: 'string', value: 'ID', help: 'the 12 characters of the key id' } as const;
const label = { type: 'string', value: 'TEXT', help: 'what the key is for' } as const;
const RULES = {
  limit: { type: 'string', value: 'N', help: 'credits that it may spend in a UTC calendar month' },
  ranges: {
    type: 'string',
    value: 'LIST',
    help: 'addresses and CIDR ranges that may use it, separated by commas',
  },
  origins: { type: 'string', value: 'LIST', help: 'web origins whose pages may use it; needs a limit' },
} as const;

function optionalTime(values: OptionValues, name: string): number | null {
  const text = optionalText(values, name);
  if (text === undefined) return null;
  const time_ms = ISO_TIME.test(text) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(time_ms)) return time_ms;
  throw new UsageError(`--${name} takes a time like 2027-01-01T00:00:00Z, not "${text}".`);
}

const parseList = (values: OptionValues, name: string): string[] =>
  (optionalText(values, name) ?? '')
    .split(',')
    .map((item) => item.trim())
    .filter(Boolean);

const parseRules = (values: OptionValues): KeyRules => ({
  monthly_limit: values.limit === undefined ? null : requiredCount(values, 'limit'),
  ranges: parseList(values, 'ranges'),
  origins: parseList(values, 'origins'),
});

const key: Command = {
  help: 'create a key; it is shown only once',
  options: {
    email,
    label,
    expires: { type: 'string', value: 'TIME', help: 'when it expires, such as 2027-01-01T00:00:00Z' },
    ...RULES,
  },
  async run(context, values) {
    const { store, redis } = context;
    const label = optionalText(values, 'label') ?? '';
    const expires_at_ms = optionalTime(values, 'expires');
    const rules = parseRules(values);
    const account_id = await findAccountId(context, values);
    const after = { expires_at_ms, ...auditedRules(rules) };
    const { key, key_id } = await auditedChange(
      redis,
      { action: 'key.create', subject: accountSubject(account_id), after },
      () => store.keys.mint(account_id, { label, expires_at_ms, rules, by: BY }),
      (minted) => ({ after: { key_id: minted.key_id, ...after } }),
    );
    return { key, key_id, ...(expires_at_ms !== null && { expires_at: formatTime(expires_at_ms) }) };
  },
};

const revoke: Command = {
  help: 'revoke a key permanently',
  options: { 'key-id': keyId },
  async run({ store, redis }, values) {
    const id = requiredText(values, 'key-id');
    const subject = accountSubject(await store.keys.accountOf(id));
    const change = { action: 'key.revoke', subject, after: { key_id: id, state: 'revoked' } };
    const { key_id, state } = await auditedChange(redis, change, () => store.keys.revoke(id, { by: BY }));
    return { key_id, state };
  },
};

const rename: Command = {
  help: 'change the label of a key',
  options: { 'key-id': keyId, label },
  async run(context, values) {
    const text = requiredText(values, 'label');
    return changeKey(context, values, 'key.rename', async (id) => {
      const { key_id, label } = await context.store.keys.rename(id, text);
      return { key_id, label };
    });
  },
};

const rules: Command = {
  help: 'set the rules of a key; rules that are not given are removed',
  options: { 'key-id': keyId, ...RULES },
  async run(context, values) {
    const wanted = parseRules(values);
    return changeKey(context, values, 'key.rules', async (id) => {
      const { key_id, monthly_limit, ranges, origins } = await context.store.keys.setRules(id, wanted);
      return { key_id, monthly_limit, ranges, origins };
    });
  },
};

const rotate: Command = {
  help: 'replace a key by a new one, which is shown only once',
  options: {
    'key-id': keyId,
    hours: {
      type: 'string',
      value: 'N',
      help: 'how long the old key stays valid: 1 to 168, or 0 to end it now',
    },
  },
  async run(context, values) {
    const hours = requiredCount(values, 'hours');
    if (hours * HOUR_MS > GRACE_MS.most) throw new UsageError('--hours takes a whole number from 0 to 168.');
    return changeKey(context, values, 'key.rotate', async (id) => {
      const { key, key_id, old } = await context.store.keys.rotate(id, { grace_ms: hours * HOUR_MS, by: BY });
      const ends_at = formatTime(old.state === 'active' ? old.expires_at_ms : old.revoked_at_ms);
      return { key, key_id, replaces: old.key_id, replaced_ends_at: ends_at };
    });
  },
};

async function changeKey(
  { store, redis }: CommandContext,
  values: OptionValues,
  action: string,
  work: (key_id: string) => Promise<Record<string, unknown>>,
): Promise<Record<string, unknown>> {
  const id = requiredText(values, 'key-id');
  const subject = accountSubject(await store.keys.accountOf(id));
  return auditedChange(redis, { action, subject, after: { key_id: id } }, () => work(id));
}

export const KEY_COMMANDS: Readonly<Record<string, Command>> = { key, rename, rules, rotate, revoke };
