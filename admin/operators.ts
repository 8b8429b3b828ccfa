/**
 * Stores operators: who may sign in to the operator area, as `viewer` (reads), `operator` (changes) or `owner` (also
 * manages operators).
 *
 * Roles are in one hash, so that one script can refuse to take the role of the last owner. An operator's epoch is random
 * and renewed by a new password, a global sign-out and by ending its sessions, which ends all sessions of that operator;
 * also those of an earlier operator with the same address. Roles are read with each request.
 */

import { randomBytes } from 'node:crypto';
import type { RedisClient } from '../data/runtime/redis.ts';
import { readScript, ScriptRunner } from '../data/runtime/redis-scripts.ts';
import { addressDigest, DAY_MS, redisKeys } from '../data/schema/redis-keys.ts';
import type { LoginRecord } from '../gateway/commerce/accounts/accounts.ts';
import { type Mailer, type SignedLinks, templates } from '../gateway/commerce/notifications/notifications.ts';
import {
  PasswordHasher,
  passwordProblem,
  SecondFactorStore,
  type Session,
  type SignedInUser,
} from '../gateway/commerce/people/people.ts';
import { AccountError, validateEmail } from '../gateway/commerce/store/store.ts';

const SET_ROLE = readScript(import.meta.url, 'lua/set-operator-role.lua', 1);
const SET_PASSWORD = readScript(import.meta.url, 'lua/set-operator-password.lua', 1);
const EPOCH_BYTES = 12;

/** Each may do what those before it may. */
export const ROLES = ['viewer', 'operator', 'owner'] as const;
export type Role = (typeof ROLES)[number];

export interface OperatorRecord {
  /** Digest of the address, which names the operator in paths. */
  id: string;
  email: string;
  role: Role;
  created_at_ms: number;
  /** False for an invited one who has not chosen a password. */
  hasPassword: boolean;
}

export interface SignIn {
  email: string;
  password: string;
}

export class OperatorStore {
  readonly #redis: RedisClient;
  readonly #runner: ScriptRunner;
  readonly #now: () => number;
  readonly #passwords: PasswordHasher;
  readonly #secondFactor: SecondFactorStore;

  constructor(redis: RedisClient, now: () => number, passwords = new PasswordHasher()) {
    this.#redis = redis;
    this.#runner = new ScriptRunner(redis);
    this.#now = now;
    this.#passwords = passwords;
    this.#secondFactor = new SecondFactorStore({ redis, now, random: randomBytes }, 'operator');
  }

  /**
   * Creates an operator, or sets role and password of an existing one, turns its second factor off and ends its sessions.
   * @throws {AccountError} `bad_input`; `account_state` when it would leave no owner
   */
  async put(email: string, role: Role, password: string): Promise<OperatorRecord> {
    const address = validateEmail(email);
    const problem = await passwordProblem(password, address);
    if (problem !== null) throw new AccountError('bad_input', problem);
    const hashed = await this.#passwords.hash(password);
    await this.setRole(address, role);
    return this.#write(address, role, { password: hashed });
  }

  /**
   * Creates an operator without a password. @throws {AccountError} `bad_input`, `account_exists`
   */
  async invite(email: string, role: Role): Promise<OperatorRecord> {
    const address = validateEmail(email);
    const isNew = await this.#redis.hsetnx(redisKeys.operatorRoles, addressDigest(address), role);
    if (isNew === 0 && (await this.#redis.hexists(redisKeys.operator(address), 'email')))
      throw new AccountError('account_exists', `There is already an operator ${address}.`);
    // An invitation that was interrupted here before is completed.
    if (isNew === 0) await this.setRole(address, role);
    return this.#write(address, role, {});
  }

  async #write(address: string, role: Role, login: { password?: string }): Promise<OperatorRecord> {
    const key = redisKeys.operator(address);
    const id = addressDigest(address);
    const now_ms = this.#now();
    await this.#secondFactor.turnOff(address);
    await this.#redis.hset(key, { email: address, epoch: newEpoch(), ...login });
    await this.#redis.hsetnx(key, 'created_at_ms', now_ms);
    await this.#redis.zadd(redisKeys.operators, 'NX', now_ms, id);
    const [password, created_at_ms] = await this.#redis.hmget(key, 'password', 'created_at_ms');
    return { id, email: address, role, created_at_ms: Number(created_at_ms), hasPassword: Boolean(password) };
  }

  /**
   * From the next request on; no role for ''. @returns false when it had that role
   * @throws {AccountError} `account_state` when it would leave no owner
   */
  async setRole(email: string, role: Role | ''): Promise<boolean> {
    const result = await this.#runner.run(SET_ROLE, [redisKeys.operatorRoles, addressDigest(email), role]);
    if (result === 'last-owner')
      throw new AccountError('account_state', `${email} is the last owner. Make somebody else owner first.`);
    return result === 'changed';
  }

  /**
   * From the next request on. @returns false when there was no such operator
   * @throws {AccountError} `account_state` for the last owner
   */
  async remove(email: string): Promise<boolean> {
    const address = validateEmail(email);
    await this.setRole(address, '');
    await this.#redis.zrem(redisKeys.operators, addressDigest(address));
    await this.#secondFactor.turnOff(address);
    return (await this.#redis.del(redisKeys.operator(address))) > 0;
  }

  /** Oldest first. */
  async list(): Promise<OperatorRecord[]> {
    const [ids, roles] = await Promise.all([
      this.#redis.zrange(redisKeys.operators, '0', '-1'),
      this.#redis.hgetall(redisKeys.operatorRoles),
    ]);
    const hashes = await Promise.all(ids.map((id) => this.#redis.hgetall(redisKeys.operatorOf(id))));
    return ids.flatMap((id, index) => {
      const { email, password, created_at_ms } = hashes[index] ?? {};
      const role = roles[id];
      if (!email || !isRole(role)) return [];
      return [{ id, email, role, created_at_ms: Number(created_at_ms), hasPassword: Boolean(password) }];
    });
  }

  /** Returns the credentials to check at sign-in; null for an unknown address, and before a password is chosen. */
  async findLogin(email: string): Promise<LoginRecord | null> {
    const { email: subject, password, epoch = '' } = await this.#redis.hgetall(redisKeys.operator(email));
    return subject && password ? { subject, password, epoch } : null;
  }

  /** The operator of a session; null after the session has been ended. */
  async findUser({ subject, epoch }: Session): Promise<SignedInUser | null> {
    const [operator, role] = await Promise.all([
      this.#redis.hgetall(redisKeys.operator(subject)),
      this.#roleOf(subject),
    ]);
    if (!operator.email || operator.epoch !== epoch || role === null) return null;
    return { subject, email: operator.email, role, canWrite: role !== 'viewer' };
  }

  /** Whether the credentials are right. */
  async accepts({ email, password }: SignIn): Promise<boolean> {
    const login = await this.findLogin(email);
    return this.#passwords.verify(password, login?.password ?? null);
  }

  /** Null for an unknown address. */
  async epochOf(email: string): Promise<string | null> {
    return this.#redis.hget(redisKeys.operator(email), 'epoch');
  }

  /**
   * Sets the password that an operator chose, and ends its sessions.
   * @param epoch of the operator when it was asked to choose
   * @returns false when the operator has been changed or removed since
   */
  async choosePassword(email: string, epoch: string, password: string): Promise<boolean> {
    const hashed = await this.#passwords.hash(password);
    const values = [redisKeys.operator(email), epoch, hashed, newEpoch()];
    return (await this.#runner.run(SET_PASSWORD, values)) === 1;
  }

  async endSessions(subject: string): Promise<void> {
    const key = redisKeys.operator(subject);
    if (await this.#redis.hexists(key, 'email')) await this.#redis.hset(key, 'epoch', newEpoch());
  }

  async #roleOf(email: string): Promise<Role | null> {
    const role = await this.#redis.hget(redisKeys.operatorRoles, addressDigest(email));
    return isRole(role) ? role : null;
  }
}

const newEpoch = (): string => randomBytes(EPOCH_BYTES).toString('base64url');

export const isRole = (word: string | null | undefined): word is Role => ROLES.some((role) => role === word);

const INVITATION_MS = 7 * DAY_MS;
const RESET_MS = DAY_MS;

interface Dependencies {
  operators: OperatorStore;
  links: SignedLinks;
  mailer: Mailer;
  areaUrl: () => string;
}

/**
 * Single-use links by which an operator chooses a password: an invitation, or a reset. A link ends when it is used or too
 * old, with the operator's sessions, and an invitation also when another is made.
 */
export class OperatorLinks {
  readonly #deps: Dependencies;

  constructor(dependencies: Dependencies) {
    this.#deps = dependencies;
  }

  /**
   * Mails a link: an invitation as long as the operator has no password, else a reset.
   * @param by who asks for it, named in the mail
   * @returns null when it is mailed; the link when no mail server is set, for the owner to hand over
   * @throws {AccountError} `unavailable` when the mail server did not accept the mail
   */
  async send({ email, hasPassword }: OperatorRecord, by: string): Promise<string | null> {
    const { operators, links, mailer, areaUrl } = this.#deps;
    if (!hasPassword) await operators.endSessions(email);
    const epoch = await operators.epochOf(email);
    if (epoch === null) throw new AccountError('account_unknown', `There is no operator ${email}.`);
    const ttl_ms = hasPassword ? RESET_MS : INVITATION_MS;
    const token = await links.create('operator-password', { email, epoch }, ttl_ms);
    const link = `${areaUrl()}/password/${encodeURIComponent(token)}`;
    if (!mailer.delivers) return link;
    const template = hasPassword ? templates.operatorPassword : templates.operatorInvitation;
    try {
      await mailer.send(template(email, link, by));
    } catch (cause) {
      const message = `The mail server did not accept the mail to ${email}. Send another link in a moment.`;
      throw new AccountError('unavailable', message, { cause });
    }
    return null;
  }

  /** The address of the operator who may choose a password with a link; null for an invalid one. */
  async peek(token: string): Promise<string | null> {
    const { operators, links } = this.#deps;
    const found = await links.peek('operator-password', token);
    return found && (await operators.epochOf(found.email)) === found.epoch ? found.email : null;
  }

  /** @returns the address of the operator whose password is set; null for an invalid link */
  async choosePassword(token: string, password: string): Promise<string | null> {
    const { operators, links } = this.#deps;
    const found = await links.redeem('operator-password', token);
    if (found === null) return null;
    return (await operators.choosePassword(found.email, found.epoch, password)) ? found.email : null;
  }
}
