/**
 * Alerts about spending: one for each hour or day in which calls cost more than the account holder set.
 *
 * A periodic job adds up the ledger, so that requests do no extra work. A window counts as told only after its mail was
 * sent, so a failed mail is retried.
 */
import type { RedisClient } from '../../../../data/runtime/redis.ts';
import { readScript, ScriptRunner } from '../../../../data/runtime/redis-scripts.ts';
import { DAY_MS, redisKeys } from '../../../../data/schema/redis-keys.ts';
import { expectOpenAccount, throwUnavailable, validateCredits } from '../../store/store.ts';

const SET = readScript(import.meta.url, 'set-spending.lua', 3);
const COUNT = readScript(import.meta.url, 'count-spending.lua', 2);
const BATCH = 200;

/** UTC hours or UTC days. */
export const PERIODS = { hour: 3_600_000, day: DAY_MS } as const;
export type Period = keyof typeof PERIODS;

const periodOf = (per_ms: string | null | undefined): Period =>
  Number(per_ms) === PERIODS.hour ? 'hour' : 'day';

export interface SpendingLimit {
  /** Credits. */
  above: number;
  per: Period;
}

/** A window in which more was spent than set, of which the holder was not told yet. */
export interface PassedWindow extends SpendingLimit {
  /** Number of the window since the epoch. */
  window: number;
  /** Credits so far. */
  spent: number;
}

export class SpendingAlerts {
  readonly #redis: RedisClient;
  readonly #runner: ScriptRunner;

  constructor(redis: RedisClient) {
    this.#redis = redis;
    this.#runner = new ScriptRunner(redis);
  }

  /** Null where there is no alert. */
  async get(account_id: string): Promise<SpendingLimit | null> {
    const [above, per_ms] = await this.#redis
      .hmget(redisKeys.spending(account_id), 'above', 'per_ms')
      .catch(throwUnavailable);
    if (!above) return null;
    return { above: Number(above), per: periodOf(per_ms) };
  }

  /** @param limit null removes the alert. @throws {AccountError} `bad_input`, `account_state` */
  async set(account_id: string, limit: SpendingLimit | null): Promise<void> {
    const above = limit === null ? 0 : validateCredits(limit.above, 1);
    // Indexed first: an index entry without an alert is skipped, an alert without one would never be sent.
    if (above > 0)
      await this.#redis.zadd(redisKeys.spendingAlerts, 'NX', 0, account_id).catch(throwUnavailable);
    const names = [redisKeys.account(account_id), ...this.#names(account_id)];
    const per_ms = PERIODS[limit?.per ?? 'day'];
    const result = await this.#runner.runIdempotent(SET, [...names, above, per_ms]).catch(throwUnavailable);
    expectOpenAccount(result, account_id);
    if (above === 0) await this.#redis.zrem(redisKeys.spendingAlerts, account_id).catch(throwUnavailable);
  }

  /** Accounts that have spent more than they set in a window of which they were not told yet. */
  async *findPassed(): AsyncGenerator<{ account_id: string; window: number }> {
    for (let from = 0; ; from += BATCH) {
      const ids = await this.#redis.zrange(redisKeys.spendingAlerts, String(from), String(from + BATCH - 1));
      if (ids.length === 0) return;
      const passed = await Promise.all(ids.map((account_id) => this.passed(account_id)));
      for (const [index, account_id] of ids.entries()) {
        const window = passed[index]?.window;
        if (window !== undefined) yield { account_id, window };
      }
    }
  }

  /** Reads the ledger to its end. The newest window to tell of, or null. */
  async passed(account_id: string): Promise<PassedWindow | null> {
    for (;;) {
      const { read, found } = await this.#count(account_id, null);
      if (read === 0) return found;
    }
  }

  /** Records that the holder was told of this window, unless the alert was changed since it was found. */
  async markTold(account_id: string, told: PassedWindow): Promise<void> {
    await this.#count(account_id, told);
  }

  async #count(
    account_id: string,
    told: PassedWindow | null,
  ): Promise<{ read: number; found: PassedWindow | null }> {
    const marked = told === null ? ['', '', ''] : [told.window, told.above, PERIODS[told.per]];
    const reply = await this.#runner
      .run(COUNT, [...this.#names(account_id), ...marked])
      .catch(throwUnavailable);
    const [read, window, spent, above, per_ms] = reply as [number, string, string, string?, string?];
    const isFound = window !== '' && above !== undefined;
    const limit = isFound ? { above: Number(above), per: periodOf(per_ms) } : null;
    return { read, found: limit && { ...limit, window: Number(window), spent: Number(spent) } };
  }

  #names(account_id: string): [string, string] {
    return [redisKeys.spending(account_id), redisKeys.ledger(account_id)];
  }
}
