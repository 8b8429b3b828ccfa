/**
 * Alerts about indicators that an account used in the 30 days before a new edition, and that it revised, renamed or
 * withdrew: one for each account and edition.
 *
 * Every gateway looks for new editions. The first edition that is seen is told to nobody, nor is one that was served
 * before. That an account was told is stored with it after its mail was sent, so that a repeated job tells nothing.
 */
import type { RedisClient } from '../../../../data/runtime/redis.ts';
import { publishedMs } from '../../../../data/schema/editions.ts';
import { DAY_MS, dayOf, redisKeys } from '../../../../data/schema/redis-keys.ts';
import type { EditionChanges, LogEntry } from '../../../../data/schema/snapshot.ts';
import { readUsedIndicators } from '../../../api/metering/metering.ts';
import { throwUnavailable } from '../../store/store.ts';
import { readToldKinds } from './change-settings.ts';
import { type ChangedIndicator, changedIndicators } from './changed-indicators.ts';

const BATCH = 200;
const TOLD_KEPT_MS = 60 * DAY_MS;

/** The editions that a gateway serves. */
export interface ServedEditions {
  current(): { editions: EditionsRead } | null;
}

/** What is read of them; see `Editions`. */
interface EditionsRead {
  readonly chain: readonly LogEntry[];
  history: { shownChanges(entry: LogEntry): Promise<EditionChanges> };
  /** The id that an indicator has today. */
  resolve(id: string): { id: string };
}

interface AskedEdition {
  editions: EditionsRead;
  entry: LogEntry;
  changes: EditionChanges;
}

export interface EditionDigest {
  edition: string;
  /** ISO 8601. */
  published_at: string;
  changed: ChangedIndicator[];
}

export class ChangeAlerts {
  readonly #redis: RedisClient;
  readonly #served: ServedEditions;

  constructor(redis: RedisClient, served: ServedEditions) {
    this.#redis = redis;
    this.#served = served;
  }

  /** Accounts to tell of editions that are new since the last time that this was asked, by any gateway. */
  async *findConcerned(): AsyncGenerator<{ account_id: string; edition: string }> {
    const { editions } = this.#served.current() ?? {};
    const newest = editions?.chain.at(-1);
    if (!editions || !newest) return;
    const text = await this.#redis.get(redisKeys.toldEdition).catch(throwUnavailable);
    if (text === null) await this.#redis.set(redisKeys.toldEdition, publishedMs(newest), 'NX');
    else
      for (const entry of editions.chain.filter((one) => publishedMs(one) > Number(text))) {
        const asked = { editions, entry, changes: await editions.history.shownChanges(entry) };
        for await (const account_id of this.#concerned(asked)) yield { account_id, edition: entry.edition };
        // Only now, so that a process that ends before this leaves it to the next.
        await this.#redis.set(redisKeys.toldEdition, publishedMs(entry));
      }
  }

  /**
   * What to tell an account of an edition; null when there is nothing, or it was told.
   * @throws {Error} while this gateway does not serve the edition yet
   */
  async digest(account_id: string, edition: string): Promise<EditionDigest | null> {
    if ((await this.#redis.exists(redisKeys.toldOf(account_id, edition)).catch(throwUnavailable)) === 1)
      return null;
    const { editions } = this.#served.current() ?? {};
    const entry = editions?.chain.find((one) => one.edition === edition);
    if (!editions || !entry) {
      const newest = editions?.chain.at(-1);
      // One that is older than what is served was rolled back.
      if (newest && newest.edition > edition) return null;
      throw new Error(`edition ${edition} is not served here yet`);
    }
    const changes = await editions.history.shownChanges(entry);
    const changed = await this.#changed(account_id, { editions, entry, changes });
    return changed.length === 0 ? null : { edition, published_at: entry.published_at, changed };
  }

  async markTold(account_id: string, edition: string): Promise<void> {
    await this.#redis
      .set(redisKeys.toldOf(account_id, edition), '1', 'PX', TOLD_KEPT_MS)
      .catch(throwUnavailable);
  }

  async #changed(
    account_id: string,
    { editions, entry, changes }: AskedEdition,
  ): Promise<ChangedIndicator[]> {
    const day = dayOf(publishedMs(entry));
    const used = await readUsedIndicators(this.#redis, account_id, day).catch(throwUnavailable);
    const all = changedIndicators(used, changes, (id) => editions.resolve(id).id);
    if (all.length === 0) return all;
    const told = await readToldKinds(this.#redis, account_id);
    return all.filter(({ change }) => told.includes(change));
  }

  async *#concerned(asked: AskedEdition): AsyncGenerator<string> {
    for (let from = 0; ; from += BATCH) {
      const ids = await this.#redis.zrange(redisKeys.accounts, String(from), String(from + BATCH - 1));
      if (ids.length === 0) return;
      const changed = await Promise.all(ids.map((account_id) => this.#changed(account_id, asked)));
      yield* ids.filter((_, index) => (changed[index] ?? []).length > 0);
    }
  }
}
