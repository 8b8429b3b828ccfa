/**
 * The archived ledger entries of one account, newest first.
 *
 * The parts that hold an account must form a chain: the first opens with balance 0, each later one with the closing
 * balance of the part before, and the last closes with the archived balance in Redis. Where a part is missing or damaged
 * the page ends with a gap, so that lost entries never look like an account without history.
 */

import { LRUCache } from 'lru-cache';
import { readSql } from '../../../data/runtime/sql-files.ts';
import type { LedgerArchivedThrough } from '../../../data/schema/archive.ts';
import type { ArchiveEngine, SqlRow } from './engine.ts';
import {
  type ArchivedPage,
  archivedEntryOf,
  damagedPart,
  earlierStreamId,
  formatStreamId,
  type Gap,
  integerOf,
  parseStreamId,
  partsOf,
  type StreamId,
  streamIdOf,
} from './entries.ts';
import { listParts, type Part } from './parts.ts';

const INDEX = readSql(import.meta.url, 'sql/ledger-index.sql');
const INDEX_FROM_ENTRIES = readSql(import.meta.url, 'sql/ledger-index-from-entries.sql');
const PAGE = readSql(import.meta.url, 'sql/ledger-page.sql');

/** Accounts whose chain is cached between pages. */
const CACHED_CHAINS = 200;

/** Newest first. An unreadable part is its name. */
type Chain = readonly (Holding | string)[];

export interface LedgerQuery {
  archivedThrough: LedgerArchivedThrough;
  /** Entries older than this one. */
  before: StreamId;
  limit: number;
}

export class LedgerArchive {
  readonly #directory: string;
  readonly #engine: ArchiveEngine;
  readonly #chains = new LRUCache<string, { parts: string; chain: Chain }>({ max: CACHED_CHAINS });

  constructor(directory: string, engine: ArchiveEngine) {
    this.#directory = directory;
    this.#engine = engine;
  }

  /** False where the gateway runs without the archive. */
  async isReachable(): Promise<boolean> {
    return (await listParts(this.#directory, 'ledger')).length > 0;
  }

  /** Entries up to `archivedThrough`. Archived entries after it are still live, and are read from Redis. */
  async page(account_id: string, { archivedThrough, before, limit }: LedgerQuery): Promise<ArchivedPage> {
    const through = parseStreamId(archivedThrough.through);
    const chain = await this.#chain(account_id);
    const walk = new Walk(earlierStreamId(before, through + 1n), through, archivedThrough.balance);
    const page: ArchivedPage = { entries: [], gap: null };
    for (const [index, link] of chain.entries()) {
      if (typeof link !== 'string' && link.first > through) continue;
      const wanted = limit - page.entries.length;
      if (wanted === 0) return page;
      page.gap = walk.step(link, nextHolding(chain, index));
      if (page.gap) return page;
      if (typeof link === 'string' || link.first >= walk.before) continue;
      try {
        page.entries.push(...(await this.#read(account_id, link.part, walk.before, wanted)));
      } catch {
        return { ...page, gap: { message: damagedPart(link.part.name), before: formatStreamId(link.first) } };
      }
    }
    return page.entries.length < limit ? { ...page, gap: walk.end() } : page;
  }

  async #read(account: string, { entries: file }: Part, before: StreamId, limit: number) {
    const values = { file, account, ...partsOf(before), limit: BigInt(limit) };
    return (await this.#engine.rows(PAGE, values)).map(archivedEntryOf);
  }

  /** Cached until the list of parts changes. */
  async #chain(account_id: string): Promise<Chain> {
    const parts = await listParts(this.#directory, 'ledger');
    const names = parts.map(({ name }) => name).join();
    const known = this.#chains.get(account_id);
    if (known?.parts === names) return known.chain;
    const chain = await this.#lookUp(account_id, parts);
    // An unreadable part may be repaired under the same name.
    if (chain.every((link) => typeof link !== 'string'))
      this.#chains.set(account_id, { parts: names, chain });
    return chain;
  }

  async #lookUp(account: string, parts: readonly Part[]): Promise<Chain> {
    const byFile = new Map(parts.map((part) => [part.accounts, part]));
    if (byFile.size === 0) return [];
    try {
      const rows = await this.#engine.rows(INDEX, { files: [...byFile.keys()], account });
      const holdings = rows.flatMap((row) => {
        const part = byFile.get(String(row.file));
        return part ? [holdingOf(part, row)] : [];
      });
      return holdings.sort((a, b) => Number(b.first - a.first));
    } catch {
      const chain = await Promise.all(parts.map((part) => this.#lookIn(account, part)));
      return chain.reverse().filter((link) => link !== null);
    }
  }

  /** Reads one part when not all can be read together. Null when it does not hold the account. */
  async #lookIn(account: string, part: Part): Promise<Holding | string | null> {
    const ask = (sql: string, values: Record<string, string | string[]>) =>
      this.#engine.rows(sql, { ...values, account });
    try {
      const [row] = await ask(INDEX, { files: [part.accounts] }).catch(() =>
        ask(INDEX_FROM_ENTRIES, { file: part.entries }),
      );
      return row ? holdingOf(part, row) : null;
    } catch {
      return part.name;
    }
  }
}

/** What one part holds of the account. */
type Holding = ReturnType<typeof holdingOf>;
const holdingOf = (part: Part, row: SqlRow) => ({
  part,
  first: streamIdOf(row, 'first'),
  last: streamIdOf(row, 'last'),
  opening: integerOf(row, 'opening'),
  closing: integerOf(row, 'closing'),
});

const nextHolding = (chain: Chain, index: number): Holding | null =>
  chain.slice(index + 1).find((link) => typeof link !== 'string') ?? null;

/** Walks the chain from the newest entry to the oldest and finds gaps. */
class Walk {
  /** Only older entries are wanted. */
  readonly before: StreamId;
  /** Everything from here on has been visited. */
  #upTo: StreamId;
  #balance: number;
  #isFirst = true;

  constructor(before: StreamId, through: StreamId, balance: number) {
    this.before = before;
    this.#upTo = through + 1n;
    this.#balance = balance;
  }

  /** The gap between the entries read so far and this link; null without one, or when only newer entries lie in it. */
  step(link: Holding | string, next: Holding | null): Gap | null {
    if (typeof link === 'string') {
      const before = next ? next.last + 1n : null;
      return this.#isWanted(before) ? { message: damagedPart(link), before: textOrNull(before) } : null;
    }
    const before = link.last + 1n;
    // While a part is being carried over, its newest entries are still live.
    const isCut = before > this.#upTo;
    const isTorn = !isCut && (link.closing !== this.#balance || this.#isFirstLinkShort(before));
    this.#upTo = link.first;
    this.#balance = link.opening;
    this.#isFirst = false;
    if (!isTorn || !this.#isWanted(before)) return null;
    return {
      message: 'Entries are missing here: the archive does not hold them.',
      before: formatStreamId(before),
    };
  }

  /** True unless the newest part ends with the entry archived last. */
  #isFirstLinkShort(before: StreamId): boolean {
    return this.#isFirst && before !== this.#upTo;
  }

  /** The gap before the oldest entry, if any. */
  end(): Gap | null {
    if (this.#balance === 0 && !this.#isFirst) return null;
    return { message: 'The entries before these are missing: the archive does not hold them.', before: null };
  }

  /** Whether a gap that ends at an id contains wanted entries. */
  #isWanted(end: StreamId | null): boolean {
    return end === null || end < this.before;
  }
}

const textOrNull = (id: StreamId | null): string | null => (id === null ? null : formatStreamId(id));
