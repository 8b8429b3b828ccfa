/**
 * Low-balance alerts: one mail each time the balance falls below the threshold that the account holder set.
 *
 * A periodic job finds crossings in the ledger, so that short dips are not missed and requests do no extra work. A
 * crossing counts as notified only after its mail was sent, so a failed mail is retried.
 */
import type { RedisClient } from '../../../data/runtime/redis.ts';
import { readScript, ScriptRunner } from '../../../data/runtime/redis-scripts.ts';
import { redisKeys } from '../../../data/schema/redis-keys.ts';
import { expectOpenAccount, throwUnavailable, validateCredits } from '../store/store.ts';

const SET = readScript(import.meta.url, 'lua/set-alert.lua', 3);
const COUNT_CROSSINGS = readScript(import.meta.url, 'lua/count-crossings.lua', 3);
const BATCH = 200;

export class BalanceAlerts {
  readonly #redis: RedisClient;
  readonly #runner: ScriptRunner;

  constructor(redis: RedisClient) {
    this.#redis = redis;
    this.#runner = new ScriptRunner(redis);
  }

  /** The threshold in credits, or null. */
  async get(account_id: string): Promise<number | null> {
    const low_at = await this.#redis.hget(redisKeys.alert(account_id), 'low_at').catch(throwUnavailable);
    return low_at === null ? null : Number(low_at);
  }

  /** @throws {AccountError} `bad_input`, `account_state` */
  async set(account_id: string, low_at: number | null): Promise<void> {
    const threshold = low_at === null ? 0 : validateCredits(low_at, 1);
    // Indexed first: an index entry without an alert is skipped, an alert without one would never be sent.
    if (threshold > 0) await this.#redis.zadd(redisKeys.alerts, 'NX', 0, account_id).catch(throwUnavailable);
    const names = [redisKeys.account(account_id), redisKeys.alert(account_id), redisKeys.ledger(account_id)];
    const result = await this.#runner.runIdempotent(SET, [...names, threshold]).catch(throwUnavailable);
    expectOpenAccount(result, account_id);
    if (threshold === 0) await this.#redis.zrem(redisKeys.alerts, account_id).catch(throwUnavailable);
  }

  /** Accounts with crossings that were not notified yet. */
  async *findCrossed(): AsyncGenerator<string> {
    for (let from = 0; ; from += BATCH) {
      const ids = await this.#redis.zrange(redisKeys.alerts, String(from), String(from + BATCH - 1));
      if (ids.length === 0) return;
      const counts = await Promise.all(ids.map((account_id) => this.pendingCrossings(account_id)));
      yield* ids.filter((_, index) => (counts[index] ?? 0) > 0);
    }
  }

  /** Number of all crossings so far if some were not notified yet, otherwise 0. */
  pendingCrossings(account_id: string): Promise<number> {
    return this.#countCrossings(account_id, 0);
  }

  /** Records that the mail about `crossings` was sent. */
  async markNotified(account_id: string, crossings: number): Promise<void> {
    await this.#countCrossings(account_id, crossings);
  }

  async #countCrossings(account_id: string, notified: number): Promise<number> {
    const { alert, ledger, webhooks } = redisKeys;
    const names = [alert(account_id), ledger(account_id), webhooks(account_id)];
    return Number(await this.#runner.run(COUNT_CROSSINGS, [...names, notified]).catch(throwUnavailable));
  }
}
