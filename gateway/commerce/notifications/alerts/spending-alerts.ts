/**
 * Alerts about spending: an event for each hour or day in which calls cost more than the account holder set.
 *
 * The sweep adds up the ledger, so that requests do no extra work. One script writes the event and notes its window.
 */
import { readScript } from '../../../../data/runtime/redis-scripts.ts';
import { DAY_MS, redisKeys } from '../../../../data/schema/redis-keys.ts';
import {
  createRunScript,
  expectEvents,
  expectOpenAccount,
  type RunScript,
  type StoreDependencies,
  throwUnavailable,
  validateCredits,
} from '../../store/store.ts';

const SET = readScript(import.meta.url, 'set-spending.lua', 3);
const COUNT = readScript(import.meta.url, 'count-spending.lua', 3);
const BATCH = 200;

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

export class SpendingAlerts {
  readonly #deps: Pick<StoreDependencies, 'redis' | 'now'>;
  readonly #run: RunScript;

  constructor(dependencies: Pick<StoreDependencies, 'redis' | 'now'>) {
    this.#deps = dependencies;
    this.#run = createRunScript(dependencies.redis);
  }

  /** Null where there is no alert. */
  async get(account_id: string): Promise<SpendingLimit | null> {
    const [above, per_ms] = await this.#deps.redis
      .hmget(redisKeys.spending(account_id), 'above', 'per_ms')
      .catch(throwUnavailable);
    if (!above) return null;
    return { above: Number(above), per: parsePeriod(per_ms) };
  }

  /** @param limit null removes the alert. @throws {AccountError} `bad_input`, `account_state` */
  async set(account_id: string, limit: SpendingLimit | null): Promise<void> {
    const { redis } = this.#deps;
    const above = limit === null ? 0 : validateCredits(limit.above, 1);
    // Indexed first: an index entry without an alert is skipped, an alert without one would never be sent.
    if (above > 0) await redis.zadd(redisKeys.spendingAlerts, 'NX', 0, account_id).catch(throwUnavailable);
    const names = [
      redisKeys.account(account_id),
      redisKeys.spending(account_id),
      redisKeys.ledger(account_id),
    ];
    const per_ms = PERIODS[limit?.per ?? 'day'];
    const [result] = await this.#run(SET, [...names, above, per_ms]);
    expectOpenAccount(result, account_id);
    if (above === 0) await redis.zrem(redisKeys.spendingAlerts, account_id).catch(throwUnavailable);
  }

  /** Looks at the spending of all accounts with an alert. */
  async findPassed(): Promise<void> {
    for (let from = 0; ; from += BATCH) {
      const ids = await this.#deps.redis.zrange(
        redisKeys.spendingAlerts,
        String(from),
        String(from + BATCH - 1),
      );
      if (ids.length === 0) return;
      await Promise.all(ids.map((account_id) => this.look(account_id)));
    }
  }

  /** Reads the ledger to its end, and writes an event about the newest window that passed, unless it has one. */
  async look(account_id: string): Promise<void> {
    if ((await this.#count(account_id, '0')) !== 'passed') return;
    await expectEvents(this.#deps, account_id);
    await this.#count(account_id, '1');
  }

  async #count(account_id: string, writes: '0' | '1'): Promise<unknown> {
    const { spending, ledger, accountOutbox } = redisKeys;
    const names = [spending(account_id), ledger(account_id), accountOutbox(account_id)];
    for (;;) {
      const [result] = await this.#run(COUNT, [...names, writes, this.#deps.now()]);
      if (result !== 'more') return result;
    }
  }
}
