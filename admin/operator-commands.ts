/**
 * Commands of `npm run account` that create, reset, remove and list operators. Passwords are generated and shown once,
 * so none is typed into a shell's history.
 */
import { randomBytes } from 'node:crypto';
import type { RedisClient } from '../data/runtime/redis.ts';
import {
  auditedChange,
  type Command,
  type CommandContext,
  formatTime,
  type OptionValues,
  requiredText,
  UsageError,
} from '../gateway/commerce/cli/commands.ts';
import { AccountError } from '../gateway/commerce/store/store.ts';
import { isRole, OperatorStore, type Role } from './operators.ts';

const PASSWORD_BYTES = 15;

type OperatorCommand = Command<Pick<CommandContext, 'redis'>>;

const email = { type: 'string', value: 'ADDRESS', help: 'which operator' } as const;
const ROLE_WORDS = 'viewer, operator or owner';
const role = {
  type: 'string',
  value: 'ROLE',
  help: `${ROLE_WORDS}; default operator, and owner for the first`,
} as const;

const readEmail = (values: OptionValues): string => requiredText(values, 'email').toLowerCase();

function readRole({ role: word }: OptionValues, fallback: Role): Role {
  if (word === undefined) return fallback;
  if (typeof word === 'string' && isRole(word)) return word;
  throw new UsageError(`--role takes ${ROLE_WORDS}, not "${String(word)}".`);
}

async function openOperators(redis: RedisClient) {
  const operators = new OperatorStore(redis, Date.now);
  const all = await operators.list();
  return { operators, all, find: (address: string) => all.find(({ email }) => email === address) ?? null };
}

/** Creates or changes an operator and returns the new password. */
async function setPassword(redis: RedisClient, address: string, newRole: Role, before: Role | null) {
  const password = randomBytes(PASSWORD_BYTES).toString('base64url');
  const change = {
    action: before === null ? 'operator.create' : 'operator.reset',
    subject: `operator ${address}`,
    before: before === null ? {} : { role: before },
    after: { role: newRole, ...(before !== null && { second_factor: false }) },
  };
  const { email: written } = await auditedChange(redis, change, () =>
    new OperatorStore(redis, Date.now).put(address, newRole, password),
  );
  return { email: written, role: newRole, password };
}

const create: OperatorCommand = {
  help: 'create an operator and show the generated password once',
  options: { email, role },
  async run({ redis }, values) {
    const address = readEmail(values);
    const { all, find } = await openOperators(redis);
    if (find(address))
      throw new AccountError(
        'account_exists',
        `There is already an operator ${address}; use operator-reset to set a new password.`,
      );
    return setPassword(redis, address, readRole(values, all.length === 0 ? 'owner' : 'operator'), null);
  },
};

const reset: OperatorCommand = {
  help: 'set a new password, and optionally another role; turns the second factor off and ends all sessions',
  options: { email, role: { ...role, help: `${ROLE_WORDS}; default unchanged` } },
  async run({ redis }, values) {
    const address = readEmail(values);
    const known = (await openOperators(redis)).find(address);
    if (!known) throw new AccountError('account_unknown', `There is no operator ${address}.`);
    return setPassword(redis, address, readRole(values, known.role), known.role);
  },
};

const remove: OperatorCommand = {
  help: 'remove an operator; the last owner stays',
  options: { email },
  async run({ redis }, values) {
    const { operators, find } = await openOperators(redis);
    const known = find(readEmail(values));
    if (!known) throw new AccountError('account_unknown', `There is no operator ${readEmail(values)}.`);
    const { email: address, role } = known;
    const change = { action: 'operator.remove', subject: `operator ${address}`, before: { role } };
    await auditedChange(redis, change, () => operators.remove(address));
    return { email: address, removed: true };
  },
};

const list: OperatorCommand = {
  help: 'list the operators',
  options: {},
  async run({ redis }) {
    const { all } = await openOperators(redis);
    return {
      operators: all.map(({ email: address, role, created_at_ms, hasPassword }) => ({
        email: address,
        role,
        state: hasPassword ? 'active' : 'invited',
        created_at: formatTime(created_at_ms),
      })),
    };
  },
};

/** Commands by name. */
export const OPERATOR_COMMANDS: Readonly<Record<string, OperatorCommand>> = {
  'operator-create': create,
  'operator-reset': reset,
  'operator-remove': remove,
  'operator-list': list,
};
