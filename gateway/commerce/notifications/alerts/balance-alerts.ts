/**
 * Low-balance alerts: an event each time the balance falls below the threshold that the account holder set.
 *
 * The sweep finds crossings in the ledger, so that short dips are not missed and requests do no extra work. One script
 * writes the event and notes how far it read.
 */
import { readScript } from '../../../../data/runtime/redis-scripts.ts';
import { redisKeys } from '../../../../data/schema/redis-keys.ts';
import {
  createRunScript,
  expectEvents,
  expectOpenAccount,
  type RunScript,
  type StoreDependencies,
  throwUnavailable,
  validateCredits,
} from '../../store/store.ts';

const SET = readScript(import.meta.url, 'set-alert.lua', 3);
const COUNT_CROSSINGS = readScript(import.meta.url, 'count-crossings.lua', 3);
const BATCH = 200;

export class BalanceAlerts {
  readonly #deps: Pick<StoreDependencies, 'redis' | 'now'>;
  readonly #run: RunScript;

  constructor(dependencies: Pick<StoreDependencies, 'redis' | 'now'>) {
    this.#deps = dependencies;
    this.#run = createRunScript(dependencies.redis);
  }

  /** The threshold in credits, or null. */
  async get(account_id: string): Promise<number | null> {
    const low_at = await this.#deps.redis.hget(redisKeys.alert(account_id), 'low_at').catch(throwUnavailable);
    return low_at === null ? null : Number(low_at);
  }

  /** @throws {AccountError} `bad_input`, `account_state` */
  async set(account_id: string, low_at: number | null): Promise<void> {
    const { redis } = this.#deps;
    const threshold = low_at === null ? 0 : validateCredits(low_at, 1);
    // Indexed first: an index entry without an alert is skipped, an alert without one would never be sent.
    if (threshold > 0) await redis.zadd(redisKeys.alerts, 'NX', 0, account_id).catch(throwUnavailable);
    const names = [redisKeys.account(account_id), redisKeys.alert(account_id), redisKeys.ledger(account_id)];
    const [result] = await this.#run(SET, [...names, threshold]);
    expectOpenAccount(result, account_id);
    if (threshold === 0) await redis.zrem(redisKeys.alerts, account_id).catch(throwUnavailable);
  }

  /** Looks for crossings in the ledgers of all accounts with an alert. */
  async findCrossings(): Promise<void> {
    for (let from = 0; ; from += BATCH) {
      const ids = await this.#deps.redis.zrange(redisKeys.alerts, String(from), String(from + BATCH - 1));
      if (ids.length === 0) return;
      await Promise.all(ids.map((account_id) => this.look(account_id)));
    }
  }

  /** Writes an event if the balance fell below the threshold since the last look. */
  async look(account_id: string): Promise<void> {
    const { alert, ledger, accountOutbox } = redisKeys;
    const names = [alert(account_id), ledger(account_id), accountOutbox(account_id)];
    if ((await this.#run(COUNT_CROSSINGS, [...names, '0']))[0] !== 1) return;
    await expectEvents(this.#deps, account_id);
    await this.#run(COUNT_CROSSINGS, [...names, '1']);
  }
}
