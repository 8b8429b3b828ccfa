/**
 * In-memory search index over e-mail address, name, id and state of every account.
 *
 * Each search first reads what changed since the last one: new accounts by creation time, changed ones from
 * `accounts:changed`, where every change is announced before it is made. The reads overlap by more than any change takes
 * and any clocks differ. When the number of accounts differs from Redis, everything is read again.
 *
 * `npm run bench -- --only users` measures pages with 100,000 accounts.
 */
import type { RedisClient } from '../data/runtime/redis.ts';
import { redisKeys } from '../data/schema/redis-keys.ts';
import { TableSort } from '../gateway/web/forms.ts';

/** Accounts read at once; other work of the process runs between batches. */
const BATCH = 500;
const OVERLAP_MS = 60_000;

interface Entry {
  id: string;
  created_at_ms: number;
  state: string;
  /** Case-folded e-mail address, name and id, joined by a character that queries cannot contain. */
  text: string;
}

interface IndexQuery {
  q: string;
  /** Empty for any. */
  state: string;
  /** Column, with `-` in front for descending order; blank for newest first. */
  sort?: string;
  limit: number;
  offset: number;
}

const SEPARATOR = '\u0000';
export const ACCOUNT_SORT = new TableSort<Entry>({
  email: ({ text }) => text.split(SEPARATOR)[0] ?? null,
  name: ({ text }) => text.split(SEPARATOR)[1] || null,
  id: ({ id }) => id,
  status: ({ state }) => state,
  created: ({ created_at_ms }) => created_at_ms,
});

const fold = (text: string): string => text.normalize('NFC').toLowerCase();

export class AccountIndex {
  readonly #redis: RedisClient;
  readonly #now: () => number;
  readonly #entries = new Map<string, Entry>();
  /** Newest first; null when it must be sorted again. */
  #ordered: Entry[] | null = null;
  /** When new and changed accounts were last read. */
  #created_ms = 0;
  #changed_ms = 0;
  #refreshing: Promise<void> | null = null;

  /** @param now clock that dates accounts and changes, Unix milliseconds */
  constructor(redis: RedisClient, now: () => number) {
    this.#redis = redis;
    this.#now = now;
  }

  /** Returns the number of matching accounts and the ids of one page. */
  async search({
    q,
    state,
    sort = '',
    limit,
    offset,
  }: IndexQuery): Promise<{ total: number; ids: string[] }> {
    await this.refresh();
    const wanted = fold(q.trim());
    this.#ordered ??= [...this.#entries.values()].sort(newestFirst);
    const matching = this.#ordered.filter(
      (entry) => (state === '' || entry.state === state) && (wanted === '' || entry.text.includes(wanted)),
    );
    const sorted = ACCOUNT_SORT.sort(matching, sort);
    return { total: sorted.length, ids: sorted.slice(offset, offset + limit).map(({ id }) => id) };
  }

  /** Reads new and changed accounts. Concurrent callers share one read. */
  refresh(): Promise<void> {
    this.#refreshing ??= this.#refresh().finally(() => {
      this.#refreshing = null;
    });
    return this.#refreshing;
  }

  async #refresh(): Promise<void> {
    const asked_ms = this.#now();
    await this.#read(await this.#since(redisKeys.accountsChanged, this.#changed_ms));
    this.#changed_ms = asked_ms;
    if (await this.#isComplete()) return;
    const created = await this.#since(redisKeys.accounts, this.#created_ms);
    await this.#read(created.filter((id) => !this.#entries.has(id)));
    this.#created_ms = asked_ms;
    if (!(await this.#isComplete())) await this.#readAll();
  }

  /** Accounts are never removed from the list, so equal counts mean equal sets. */
  async #isComplete(): Promise<boolean> {
    return (await this.#redis.zcard(redisKeys.accounts)) === this.#entries.size;
  }

  /** Ids added to a sorted set since a moment, with the overlap. */
  #since(key: string, moment_ms: number): Promise<string[]> {
    return this.#redis.zrangebyscore(key, moment_ms - OVERLAP_MS, '+inf');
  }

  async #readAll(): Promise<void> {
    const ids = await this.#redis.zrange(redisKeys.accounts, '0', '-1');
    const present = new Set(ids);
    for (const id of this.#entries.keys()) if (!present.has(id)) this.#entries.delete(id);
    this.#ordered = null;
    await this.#read(ids);
  }

  async #read(ids: readonly string[]): Promise<void> {
    for (let from = 0; from < ids.length; from += BATCH) {
      const batch = ids.slice(from, from + BATCH);
      const rows = await Promise.all(
        batch.map((id) =>
          this.#redis.hmget(redisKeys.account(id), 'email', 'name', 'state', 'created_at_ms'),
        ),
      );
      for (const [index, id] of batch.entries()) this.#update(id, rows[index] ?? []);
    }
  }

  #update(id: string, [email, name, state, created_at_ms]: (string | null)[]): void {
    if (!state) return;
    const text = fold([email ?? '', name ?? '', id].join(SEPARATOR));
    const known = this.#entries.get(id);
    if (known) Object.assign(known, { state, text });
    else {
      this.#entries.set(id, { id, state, text, created_at_ms: Number(created_at_ms) });
      this.#ordered = null;
    }
  }
}

const newestFirst = (a: Entry, b: Entry): number =>
  b.created_at_ms - a.created_at_ms || (a.id < b.id ? 1 : -1);
