/**
 * Alerts about the ledger: a low balance, and spending. An account sets one; the sweep reads the entries since then, so that
 * no short dip is missed and requests do no extra work. One script writes the event and notes how far it read.
 */
import { readScript, type Script } from '../../../../data/runtime/redis-scripts.ts';
import { DAY_MS, redisKeys } from '../../../../data/schema/redis-keys.ts';
import { expectOpenAccount, readBatches, Store, validateCredits } from '../../store/store.ts';

const SET = readScript(import.meta.url, 'set-alert.lua', 3);
const COUNT_CROSSINGS = readScript(import.meta.url, 'count-crossings.lua', 3);
const COUNT_SPENDING = readScript(import.meta.url, 'count-spending.lua', 3);

abstract class LedgerAlerts extends Store {
  /** Sorted set of the accounts that have one. */
  protected abstract readonly index: string;
  /** Reads the ledger on: `1` writes the event, `0` only says whether there is one. */
  protected abstract readonly count: Script;

  /** Hash of an account's alert. */
  protected abstract alertKey(account_id: string): string;

  /** @param fields null removes the alert */
  protected async store(account_id: string, fields: Record<string, string | number> | null): Promise<void> {
    // Indexed first: an index entry without an alert is skipped, an alert without one would never be sent.
    if (fields) await this.redis.zadd(this.index, 'NX', 0, account_id);
    const names = [redisKeys.account(account_id), this.alertKey(account_id), redisKeys.ledger(account_id)];
    const [result] = await this.run(SET, [...names, ...Object.entries(fields ?? {}).flat()]);
    expectOpenAccount(result, account_id);
    if (!fields) await this.redis.zrem(this.index, account_id);
  }

  /** Looks at all accounts that have one. */
  async lookAtAll(): Promise<void> {
    for await (const ids of readBatches(this.redis, this.index))
      await Promise.all(ids.map((account_id) => this.look(account_id)));
  }

  /** Reads the ledger to its end, and writes an event if there is one to tell. */
  async look(account_id: string): Promise<void> {
    if ((await this.#read(account_id, '0')) !== 'passed') return;
    await this.expectEvents(account_id);
    await this.#read(account_id, '1');
  }

  async #read(account_id: string, writes: '0' | '1'): Promise<unknown> {
    const { ledger, accountOutbox } = redisKeys;
    const names = [this.alertKey(account_id), ledger(account_id), accountOutbox(account_id)];
    for (;;) {
      const [result] = await this.run(this.count, [...names, writes, this.now()]);
      if (result !== 'more') return result;
    }
  }
}

/** An event each time the balance falls below the threshold that the account holder set. */
export class BalanceAlerts extends LedgerAlerts {
  protected readonly index = redisKeys.alerts;
  protected readonly count = COUNT_CROSSINGS;

  protected alertKey(account_id: string): string {
    return redisKeys.alert(account_id);
  }

  /** The threshold in credits, or null. */
  async get(account_id: string): Promise<number | null> {
    const low_at = await this.redis.hget(this.alertKey(account_id), 'low_at');
    return low_at === null ? null : Number(low_at);
  }

  /** A balance that is already below the threshold is not told. @throws {AccountError} `bad_input`, `account_state` */
  async set(account_id: string, low_at: number | null): Promise<void> {
    await this.store(account_id, low_at === null ? null : { low_at: validateCredits(low_at, 1) });
  }
}

/** UTC hours or UTC days. */
export const PERIODS = { hour: 3_600_000, day: DAY_MS } as const;
export type Period = keyof typeof PERIODS;

const parsePeriod = (per_ms: string | null | undefined): Period =>
  Number(per_ms) === PERIODS.hour ? 'hour' : 'day';

export interface SpendingLimit {
  /** Credits. */
  above: number;
  per: Period;
}

/** An event for each hour or day in which calls cost more than the account holder set. */
export class SpendingAlerts extends LedgerAlerts {
  protected readonly index = redisKeys.spendingAlerts;
  protected readonly count = COUNT_SPENDING;

  protected alertKey(account_id: string): string {
    return redisKeys.spending(account_id);
  }

  /** Null where there is no alert. */
  async get(account_id: string): Promise<SpendingLimit | null> {
    const [above, per_ms] = await this.redis.hmget(this.alertKey(account_id), 'above', 'per_ms');
    return above ? { above: Number(above), per: parsePeriod(per_ms) } : null;
  }

  /** @param limit null removes the alert. @throws {AccountError} `bad_input`, `account_state` */
  async set(account_id: string, limit: SpendingLimit | null): Promise<void> {
    const fields = limit && { above: validateCredits(limit.above, 1), per_ms: PERIODS[limit.per], told: -1 };
    await this.store(account_id, fields);
  }
}
