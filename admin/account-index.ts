/**
 * What a search for people looks at, in memory: e-mail address, name, id and state of every account.
 *
 * It stays true without being told: accounts are found by their creation time, and whatever a search shows is noted in
 * `accounts:changed` before it changes. Each search first reads what was noted since the last one, with an overlap that
 * is longer than any change may be under way and than clocks differ. When counts do not agree everything is read again.
 *
 * `npm run bench -- --only users` measures whole pages at 100,000 accounts.
 */
import type { RedisClient } from '../data/runtime/redis.ts';
import { redisKeys } from '../data/schema/redis-keys.ts';

/** Accounts read at once; between two pieces other work of the process gets its turn. */
const PIECE = 500;
const OVERLAP_MS = 60_000;

interface Entry {
  id: string;
  created_at_ms: number;
  state: string;
  /** All that is searched, folded; the parts are kept apart by a character that nobody can type. */
  text: string;
}

export interface IndexQuery {
  q: string;
  /** Empty for any. */
  state: string;
  limit: number;
  offset: number;
}

const SEPARATOR = '\u0000';
const fold = (text: string): string => text.normalize('NFC').toLowerCase();

export class AccountIndex {
  readonly #redis: RedisClient;
  readonly #now: () => number;
  readonly #entries = new Map<string, Entry>();
  /** Newest first; null when it must be made anew. */
  #ordered: Entry[] | null = null;
  /** When it was last asked what was created, and what was changed. */
  #created_ms = 0;
  #changed_ms = 0;
  #refreshing: Promise<void> | null = null;

  /** @param now the clock of whoever creates and changes accounts, Unix milliseconds. */
  constructor(redis: RedisClient, now: () => number) {
    this.#redis = redis;
    this.#now = now;
  }

  /** Matching accounts, newest first: how many there are in all, and the ids of one page. */
  async search({ q, state, limit, offset }: IndexQuery): Promise<{ total: number; ids: string[] }> {
    await this.refresh();
    const wanted = fold(q.trim());
    this.#ordered ??= [...this.#entries.values()].sort(newestFirst);
    const matching = this.#ordered.filter(
      (entry) => (state === '' || entry.state === state) && (wanted === '' || entry.text.includes(wanted)),
    );
    return { total: matching.length, ids: matching.slice(offset, offset + limit).map(({ id }) => id) };
  }

  /** Reads what is new. Several callers share one reading. */
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
    if (await this.#isWhole()) return;
    const created = await this.#since(redisKeys.accounts, this.#created_ms);
    await this.#read(created.filter((id) => !this.#entries.has(id)));
    this.#created_ms = asked_ms;
    if (!(await this.#isWhole())) await this.#readAll();
  }

  /** Accounts are never removed from the list, so equal counts are equal sets. */
  async #isWhole(): Promise<boolean> {
    return (await this.#redis.zcard(redisKeys.accounts)) === this.#entries.size;
  }

  /** What was noted since a moment, with the overlap. */
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
    for (let from = 0; from < ids.length; from += PIECE) {
      const piece = ids.slice(from, from + PIECE);
      const rows = await Promise.all(
        piece.map((id) =>
          this.#redis.hmget(redisKeys.account(id), 'email', 'name', 'state', 'created_at_ms'),
        ),
      );
      for (const [index, id] of piece.entries()) this.#note(id, rows[index] ?? []);
    }
  }

  #note(id: string, [email, name, state, created_at_ms]: (string | null)[]): void {
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
