/**
 * Operators from the command line, the only place where they are made. A password is made here and shown once, so none
 * ever stands in a shell's history.
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
} from '../gateway/accounts/cli/command.ts';
import { AccountError } from '../gateway/accounts/records.ts';
import { isRole, OperatorStore, ROLES, type Role } from './operators.ts';

const PASSWORD_BYTES = 15;

type OperatorCommand = Command<Pick<CommandContext, 'redis'>>;

const email = { type: 'string', value: 'ADDRESS', help: 'which operator' } as const;
const role = { type: 'string', value: 'ROLE', help: `${ROLES.join(' or ')}; default operator` } as const;

const emailOf = (values: OptionValues): string => requiredText(values, 'email').toLowerCase();

function roleOf({ role: word }: OptionValues, fallback: Role): Role {
  if (word === undefined) return fallback;
  if (typeof word === 'string' && isRole(word)) return word;
  throw new UsageError(`--role takes ${ROLES.join(' or ')}, not "${String(word)}".`);
}

const find = async (operators: OperatorStore, address: string) =>
  (await operators.list()).find((operator) => operator.email === address) ?? null;

/** Creates or changes an operator and returns the new password. */
async function write(redis: RedisClient, address: string, newRole: Role, before: Role | null) {
  const password = randomBytes(PASSWORD_BYTES).toString('base64url');
  const change = {
    action: before === null ? 'operator.create' : 'operator.reset',
    subject: `operator ${address}`,
    before: before === null ? {} : { role: before },
    after: { role: newRole },
  };
  const { email: written } = await auditedChange(redis, change, () =>
    new OperatorStore(redis, Date.now).put(address, newRole, password),
  );
  return { email: written, role: newRole, password };
}

const create: OperatorCommand = {
  help: 'let somebody into the operator area; the password is shown this once',
  options: { email, role },
  async run({ redis }, values) {
    const address = emailOf(values);
    if (await find(new OperatorStore(redis, Date.now), address))
      throw new AccountError(
        'account_exists',
        `There is already an operator ${address}; operator-reset gives a new password.`,
      );
    return write(redis, address, roleOf(values, 'operator'), null);
  },
};

const reset: OperatorCommand = {
  help: 'give an operator a new password, or another role; ends all sessions',
  options: { email, role: { ...role, help: `${ROLES.join(' or ')}; default as it is` } },
  async run({ redis }, values) {
    const address = emailOf(values);
    const known = await find(new OperatorStore(redis, Date.now), address);
    if (!known) throw new AccountError('account_unknown', `There is no operator ${address}.`);
    return write(redis, address, roleOf(values, known.role), known.role);
  },
};

const remove: OperatorCommand = {
  help: 'let an operator in no longer',
  options: { email },
  async run({ redis }, values) {
    const known = await find(new OperatorStore(redis, Date.now), emailOf(values));
    if (!known) throw new AccountError('account_unknown', `There is no operator ${emailOf(values)}.`);
    const { email: address, role } = known;
    const change = { action: 'operator.remove', subject: `operator ${address}`, before: { role } };
    await auditedChange(redis, change, () => new OperatorStore(redis, Date.now).remove(address));
    return { email: address, removed: true };
  },
};

const list: OperatorCommand = {
  help: 'list the operators',
  options: {},
  async run({ redis }) {
    const operators = await new OperatorStore(redis, Date.now).list();
    return {
      operators: operators.map(({ created_at_ms, ...rest }) => ({
        ...rest,
        created_at: formatTime(created_at_ms),
      })),
    };
  },
};

/** By the word that is typed after `npm run account --`. */
export const OPERATOR_COMMANDS: Readonly<Record<string, OperatorCommand>> = {
  'operator-create': create,
  'operator-reset': reset,
  'operator-remove': remove,
  'operator-list': list,
};
