/** Access to Redis that all stores share: scripts that may be repeated, errors as `AccountError`. */
import type { RedisClient } from '../../../data/runtime/redis.ts';
import {
  readScript,
  type Script,
  type ScriptArguments,
  ScriptRunner,
} from '../../../data/runtime/redis-scripts.ts';
import { redisKeys } from '../../../data/schema/redis-keys.ts';
import { type RandomBytes, randomId } from '../../api/metering/metering.ts';
import { AccountError, type Hash } from './records.ts';
import { expectOpenAccount } from './validation.ts';

const SET_IF_OPEN = readScript(import.meta.url, 'lua/set-if-open.lua', 2);
const CHANGE_RECORD = readScript(import.meta.url, 'lua/change-record.lua', 1);

const ID_LENGTH = 16;

export interface StoreDependencies {
  redis: RedisClient;
  /** Unix milliseconds. */
  now: () => number;
  random: RandomBytes;
}

/** Records in Redis. Every method throws `AccountError` `unavailable` when Redis does not answer. */
export class Store<Dependencies extends StoreDependencies = StoreDependencies> {
  protected readonly deps: Dependencies;
  protected readonly redis: RedisClient;
  protected readonly now: () => number;
  protected readonly random: RandomBytes;
  readonly #runner: ScriptRunner;

  constructor(dependencies: Dependencies) {
    this.deps = dependencies;
    this.redis = guarded(dependencies.redis);
    this.now = dependencies.now;
    this.random = dependencies.random;
    this.#runner = new ScriptRunner(dependencies.redis);
  }

  /** Runs an idempotent script. A single reply comes as a list of one. */
  protected async run(script: Script, values: ScriptArguments): Promise<unknown[]> {
    const reply = await this.#runner.runIdempotent(script, values).catch(throwUnavailable);
    return Array.isArray(reply) ? reply : [reply];
  }

  /** Sets fields of a record of an account. @throws {AccountError} `account_unknown`; `account_state` when it is closed */
  protected async setIfOpen(account_id: string, record: string, fields: Hash): Promise<void> {
    const values = Object.entries(fields).flat();
    const [result] = await this.run(SET_IF_OPEN, [redisKeys.account(account_id), record, ...values]);
    expectOpenAccount(result, account_id);
  }

  /** Changes a record that has a certain field. @param value of that field; '' for any @returns false where it has not */
  protected async changeRecord(
    record: string,
    [field, value]: readonly [field: string, value: string],
    set: Hash,
    remove: readonly string[] = [],
  ): Promise<boolean> {
    const sets = Object.entries(set);
    const values = [record, field, value, sets.length, ...sets.flat(), ...remove];
    const [result] = await this.run(CHANGE_RECORD, values);
    return result === 'changed';
  }

  /** See `expectEvents` below. */
  protected expectEvents(owner: string): Promise<void> {
    return expectEvents({ redis: this.redis, now: this.now }, owner);
  }

  /** A new id, such as `acc_…`. */
  protected newId(prefix: string): string {
    return `${prefix}_${randomId(ID_LENGTH, this.random)}`;
  }
}

/** The client, whose commands fail with `AccountError`. It runs no scripts. */
export function guarded(redis: RedisClient): RedisClient {
  return new Proxy(redis, {
    get(client, name) {
      const member: unknown = Reflect.get(client, name);
      if (typeof member !== 'function') return member;
      return (...values: unknown[]) => {
        const reply: unknown = member.apply(client, values);
        return reply instanceof Promise ? reply.catch(throwUnavailable) : reply;
      };
    },
  });
}

/**
 * Lets the sweep find the events that a script is about to write to the outbox of an account or a person. Before the
 * script: an index entry without an event is dropped later, an event without one would never be told.
 */
export async function expectEvents(
  { redis, now }: Pick<StoreDependencies, 'redis' | 'now'>,
  owner: string,
): Promise<void> {
  await redis.zadd(redisKeys.outbox, now(), owner).catch(throwUnavailable);
}

const BATCH = 200;

/** Members of a sorted set, some at a time, such as all accounts. */
export async function* readBatches(redis: RedisClient, key: string): AsyncGenerator<string[]> {
  for (let from = 0; ; from += BATCH) {
    const ids = await redis.zrange(key, String(from), String(from + BATCH - 1)).catch(throwUnavailable);
    if (ids.length === 0) return;
    yield ids;
  }
}

const SECRET_BYTES = 32;

/** A secret of this Redis, which the first call makes. */
export async function sharedSecret(
  { redis, random }: Pick<StoreDependencies, 'redis' | 'random'>,
  key: string,
): Promise<string> {
  const fresh = random(SECRET_BYTES).toString('base64url');
  return (await redis.set(key, fresh, 'NX', 'GET')) ?? fresh;
}

export function throwUnavailable(cause: unknown): never {
  throw new AccountError('unavailable', 'Redis did not answer; try again.', { cause });
}
