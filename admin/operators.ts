/**
 * Stores operators: who may sign in to the operator area, as `viewer` (reads) or `operator` (changes).
 *
 * Only the command line and the service's start create operators. A password reset, a role change and a global sign-out
 * raise the operator's epoch, which ends all sessions of that operator.
 */

import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { RedisClient } from '../data/runtime/redis.ts';
import type { Settings } from '../data/runtime/settings.ts';
import { addressDigest, redisKeys } from '../data/schema/redis-keys.ts';
import type { AuditLog } from '../gateway/accounts/audit/audit-log.ts';
import { AccountError } from '../gateway/accounts/records.ts';
import { passwordProblem } from '../gateway/accounts/sign-in/password-policy.ts';
import { HASHES_AT_A_TIME, PasswordHasher } from '../gateway/accounts/sign-in/passwords.ts';
import type { Session, SignedInUser } from '../gateway/accounts/sign-in/sessions.ts';
import type { LoginRecord } from '../gateway/accounts/sign-in/sign-in.ts';
import { validateEmail } from '../gateway/accounts/validation.ts';

export const ROLES = ['viewer', 'operator'] as const;
export type Role = (typeof ROLES)[number];

export interface OperatorRecord {
  email: string;
  role: Role;
  created_at_ms: number;
}

export class OperatorStore {
  readonly #redis: RedisClient;
  readonly #now: () => number;
  readonly #passwords: PasswordHasher;

  constructor(
    redis: RedisClient,
    now: () => number,
    passwords = new PasswordHasher({ concurrency: HASHES_AT_A_TIME.operator }),
  ) {
    this.#redis = redis;
    this.#now = now;
    this.#passwords = passwords;
  }

  /** Creates an operator, or sets role and password of an existing one and ends its sessions. */
  async put(email: string, role: Role, password: string): Promise<OperatorRecord> {
    const address = validateEmail(email);
    const problem = await passwordProblem(password, address);
    if (problem !== null) throw new AccountError('bad_input', problem);
    const key = redisKeys.operator(address);
    const hashed = await this.#passwords.hash(password);
    const now_ms = this.#now();
    await this.#redis.hset(key, { email: address, role, password: hashed });
    await this.#redis.hsetnx(key, 'created_at_ms', now_ms);
    await this.#redis.hincrby(key, 'epoch', 1);
    await this.#redis.zadd(redisKeys.operators, 'NX', now_ms, addressDigest(address));
    return { email: address, role, created_at_ms: Number(await this.#redis.hget(key, 'created_at_ms')) };
  }

  /** Returns false when there was no such operator. */
  async remove(email: string): Promise<boolean> {
    const address = validateEmail(email);
    await this.#redis.zrem(redisKeys.operators, addressDigest(address));
    return (await this.#redis.del(redisKeys.operator(address))) > 0;
  }

  /** Oldest first. */
  async list(): Promise<OperatorRecord[]> {
    const digests = await this.#redis.zrange(redisKeys.operators, '0', '-1');
    const hashes = await Promise.all(
      digests.map((digest) => this.#redis.hgetall(redisKeys.operatorOf(digest))),
    );
    return hashes.flatMap(({ email, role, created_at_ms }) =>
      email && isRole(role) ? [{ email, role, created_at_ms: Number(created_at_ms) }] : [],
    );
  }

  /** Returns the credentials to check at sign-in; null for an unknown address. */
  async findLogin(email: string): Promise<LoginRecord | null> {
    const { email: subject, password, epoch = '' } = await this.#redis.hgetall(redisKeys.operator(email));
    return subject && password ? { subject, password, epoch } : null;
  }

  /** The operator of a session; null after the session has been ended. */
  async findUser({ subject, epoch }: Session): Promise<SignedInUser | null> {
    const operator = await this.#redis.hgetall(redisKeys.operator(subject));
    if (!operator.email || operator.epoch !== epoch || !isRole(operator.role)) return null;
    return {
      subject,
      email: operator.email,
      role: operator.role,
      canWrite: operator.role === 'operator',
    };
  }

  /** Whether the credentials are right. */
  async accepts({ email, password }: SignIn): Promise<boolean> {
    const login = await this.findLogin(email);
    return this.#passwords.verify(password, login?.password ?? null);
  }

  async endSessions(subject: string): Promise<void> {
    await this.#redis.hincrby(redisKeys.operator(subject), 'epoch', 1);
  }
}

export const isRole = (word: string | undefined): word is Role => ROLES.some((role) => role === word);

const TRIAL_EMAIL = 'operator@almanac.example';
const PASSWORD_FILE = 'operator';

export interface SignIn {
  email: string;
  password: string;
}

/**
 * @param trial whether to create an operator without settings
 * @returns the trial operator's credentials, to show at the terminal; null otherwise
 */
export async function ensureFirstOperator(
  operators: OperatorStore,
  audit: AuditLog,
  settings: Pick<Settings, 'ADMIN_EMAIL' | 'ADMIN_PASSWORD' | 'VAR_DIR'>,
  trial: boolean,
): Promise<SignIn | null> {
  const existing = await operators.list();
  const put = ({ email, password }: SignIn) =>
    audit.attempt(
      {
        ...{ by: 'start of the service', action: 'operator.create', subject: `operator ${email}` },
        ...{ before: {}, after: { role: 'operator' }, reason: '', request_id: '' },
      },
      () => operators.put(email, 'operator', password),
      () => ({}),
    );
  const { ADMIN_EMAIL: email, ADMIN_PASSWORD: password } = settings;
  if (email !== undefined && password !== undefined) {
    if (existing.length === 0) await put({ email, password });
    return null;
  }
  if (!trial) return null;
  const file = join(settings.VAR_DIR, PASSWORD_FILE);
  if (existing.length > 0) {
    // The file is outdated once the password has been changed.
    const stored = (await readFile(file, 'utf8').catch(() => '')).trim();
    const known = { email: TRIAL_EMAIL, password: stored };
    return stored !== '' && (await operators.accepts(known)) ? known : null;
  }
  const created = { email: TRIAL_EMAIL, password: randomBytes(12).toString('base64url') };
  await writeFile(file, `${created.password}\n`, { mode: 0o600 });
  await put(created);
  return created;
}
