/**
 * Low-balance alerts: a mail when the balance has gone below a threshold that the person set, once for each crossing.
 *
 * Crossings are found in the ledger, every half minute, away from the path of requests: none is missed, however short.
 * One counts as told only when its mail was handed over, so a mail that fails is tried again.
 */
import type { RedisClient } from '../../data/runtime/redis.ts';
import { readScript, ScriptRunner } from '../../data/runtime/redis-scripts.ts';
import { redisKeys } from '../../data/schema/redis-keys.ts';
import { checkedCredits, expectAccount, unavailable } from './validation.ts';

const SET = readScript(import.meta.url, 'lua/set-alert.lua', 3);
const CROSS = readScript(import.meta.url, 'lua/cross-alert.lua', 2);
/** Accounts looked at side by side. */
const CHUNK = 200;

export class Alerts {
  readonly #redis: RedisClient;
  readonly #runner: ScriptRunner;

  constructor(redis: RedisClient) {
    this.#redis = redis;
    this.#runner = new ScriptRunner(redis);
  }

  /** Credits below which a mail is wanted; null for none. */
  async get(account_id: string): Promise<number | null> {
    const low_at = await this.#redis.hget(redisKeys.alert(account_id), 'low_at').catch(unavailable);
    return low_at === null ? null : Number(low_at);
  }

  /** @throws {AccountError} `bad_input`, `account_state` */
  async set(account_id: string, low_at: number | null): Promise<void> {
    const wanted = low_at === null ? 0 : checkedCredits(low_at, 1);
    // Listed first: an entry without an alert is passed over, an alert without its entry would never be told.
    if (wanted > 0) await this.#redis.zadd(redisKeys.alerts, 'NX', 0, account_id).catch(unavailable);
    const names = [redisKeys.account(account_id), redisKeys.alert(account_id), redisKeys.ledger(account_id)];
    const outcome = await this.#runner.runIdempotent(SET, [...names, wanted]).catch(unavailable);
    expectAccount(outcome, account_id);
    if (wanted === 0) await this.#redis.zrem(redisKeys.alerts, account_id).catch(unavailable);
  }

  /** Accounts that went below their threshold and have not been told. */
  async *crossed(): AsyncGenerator<string> {
    for (let from = 0; ; from += CHUNK) {
      const ids = await this.#redis.zrange(redisKeys.alerts, String(from), String(from + CHUNK - 1));
      if (ids.length === 0) return;
      const outcomes = await Promise.all(ids.map((account_id) => this.untold(account_id)));
      yield* ids.filter((_, index) => (outcomes[index] ?? 0) > 0);
    }
  }

  /** How many crossings there have been, when the person has not been told of all of them; otherwise 0. */
  untold(account_id: string): Promise<number> {
    return this.#cross(account_id, 0);
  }

  /** The mail about that many crossings has been handed over. */
  async told(account_id: string, crossings: number): Promise<void> {
    await this.#cross(account_id, crossings);
  }

  async #cross(account_id: string, told: number): Promise<number> {
    const names = [redisKeys.alert(account_id), redisKeys.ledger(account_id)];
    return Number(await this.#runner.run(CROSS, [...names, told]).catch(unavailable));
  }
}
