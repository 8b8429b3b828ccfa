/**
 * Operators from the command line, the only place where they are made. A password is made here and shown once, so none
 * ever stands in a shell's history.
 */
import { randomBytes } from 'node:crypto';
import type { RedisClient } from '../data/runtime/redis.ts';
import { AuditLog, type Facts } from '../gateway/accounts/audit/audit-log.ts';
import { AccountError } from '../gateway/accounts/records.ts';
import { isRole, OperatorStore, ROLES, type Role } from './operators.ts';

const BY = 'command line';
const PASSWORD_BYTES = 15;

type Values = Readonly<Record<string, string | boolean | undefined>>;

interface OperatorCommand {
  help: string;
  options: Readonly<Record<string, { type: 'string' | 'boolean'; value?: string; help: string }>>;
  run(redis: RedisClient, values: Values): Promise<Record<string, unknown>>;
}

const email = { type: 'string', value: 'ADDRESS', help: 'which operator' } as const;
const role = { type: 'string', value: 'ROLE', help: `${ROLES.join(' or ')}; default operator` } as const;

function emailOf({ email: address }: Values): string {
  if (typeof address === 'string' && address.trim() !== '') return address.trim().toLowerCase();
  throw new AccountError('bad_input', '--email is needed.');
}

function roleOf({ role: word }: Values, fallback: Role): Role {
  if (word === undefined) return fallback;
  if (typeof word === 'string' && isRole(word)) return word;
  throw new AccountError('bad_input', `--role takes ${ROLES.join(' or ')}, not "${String(word)}".`);
}

const find = async (operators: OperatorStore, address: string) =>
  (await operators.list()).find((operator) => operator.email === address) ?? null;

/** With its entry in the audit log. */
function change<Outcome>(
  redis: RedisClient,
  asked: { action: string; address: string; before: Facts; after: Facts },
  work: (operators: OperatorStore) => Promise<Outcome>,
): Promise<Outcome> {
  const { address, ...facts } = asked;
  const whole = { ...facts, by: BY, subject: `operator ${address}`, reason: '', request_id: '' };
  const operators = new OperatorStore(redis, Date.now);
  return new AuditLog(redis, Date.now).attempt(
    whole,
    () => work(operators),
    () => ({}),
  );
}

/** Writes an operator with a new password, and says it. */
async function write(redis: RedisClient, address: string, newRole: Role, before: Role | null) {
  const password = randomBytes(PASSWORD_BYTES).toString('base64url');
  const asked = {
    action: before === null ? 'operator.create' : 'operator.reset',
    address,
    before: before === null ? {} : { role: before },
    after: { role: newRole },
  };
  const { email: written } = await change(redis, asked, (operators) =>
    operators.put(address, newRole, password),
  );
  return { email: written, role: newRole, password };
}

const create: OperatorCommand = {
  help: 'let somebody into the operator area; the password is shown this once',
  options: { email, role },
  async run(redis, values) {
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
  async run(redis, values) {
    const address = emailOf(values);
    const known = await find(new OperatorStore(redis, Date.now), address);
    if (!known) throw new AccountError('account_unknown', `There is no operator ${address}.`);
    return write(redis, address, roleOf(values, known.role), known.role);
  },
};

const remove: OperatorCommand = {
  help: 'let an operator in no longer',
  options: { email },
  async run(redis, values) {
    const known = await find(new OperatorStore(redis, Date.now), emailOf(values));
    if (!known) throw new AccountError('account_unknown', `There is no operator ${emailOf(values)}.`);
    const { email: address, role } = known;
    await change(redis, { action: 'operator.remove', address, before: { role }, after: {} }, (operators) =>
      operators.remove(address),
    );
    return { email: address, removed: true };
  },
};

const list: OperatorCommand = {
  help: 'list the operators',
  options: {},
  async run(redis) {
    const operators = await new OperatorStore(redis, Date.now).list();
    return {
      operators: operators.map(({ created_at_ms, ...rest }) => ({
        ...rest,
        created_at: new Date(created_at_ms).toISOString(),
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
