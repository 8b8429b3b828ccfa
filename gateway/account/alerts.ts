/**
 * Low-balance alerts: a mail when the balance has gone below a threshold that the person set, once for each crossing.
 *
 * Balances are looked at every half minute, away from the path of requests. A crossing counts as told only when its
 * mail was handed over, so one that fails is tried again. A balance that was topped up before anyone looked is not
 * low, and is not told.
 */
import type { RedisClient } from '../../data/runtime/redis.ts';
import { redisKeys } from '../../data/schema/redis-keys.ts';
import { readScript, ScriptRunner } from '../metering/scripts.ts';
import { checkedCredits, expectAccount, unavailable } from './checks.ts';

const SET = readScript(import.meta.url, 'lua/set-alert.lua', 2);
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
    const outcome = await this.#run(SET, account_id, wanted);
    expectAccount(outcome, account_id);
    if (wanted === 0) await this.#redis.zrem(redisKeys.alerts, account_id).catch(unavailable);
  }

  /** Accounts that went below their threshold and have not been told. */
  async *crossed(): AsyncGenerator<string> {
    for (let from = 0; ; from += CHUNK) {
      const ids = await this.#redis.zrange(redisKeys.alerts, String(from), String(from + CHUNK - 1));
      if (ids.length === 0) return;
      const outcomes = await Promise.all(ids.map((account_id) => this.hasCrossed(account_id)));
      yield* ids.filter((_, index) => outcomes[index] === true);
    }
  }

  async hasCrossed(account_id: string): Promise<boolean> {
    return (await this.#run(CROSS, account_id, '0')) === 'crossed';
  }

  /** The mail about the crossing has been handed over. */
  async told(account_id: string): Promise<void> {
    await this.#run(CROSS, account_id, '1');
  }

  #run(script: typeof SET, account_id: string, value: string | number): Promise<unknown> {
    const names = [redisKeys.account(account_id), redisKeys.alert(account_id)];
    return this.#runner.runRepeatable(script, [...names, value]).catch(unavailable);
  }
}
