/**
 * The archived entries of one account, newest first.
 *
 * The parts that hold the account must form a chain: each opens with the balance that the one before closed with, the
 * first with nothing, and the last closes with what Redis says was carried over. Where a part is gone or damaged the
 * chain is torn, and the page ends there and says so: a hole never looks like an account without history.
 */
import type { LedgerArchivedThrough } from '../../data/schema/archive.ts';
import { BoundedCache } from '../metering/bounded-cache.ts';
import { type ArchiveEngine, readSql, type SqlRow } from './engine.ts';
import {
  type ArchivedPage,
  archivedEntryOf,
  compareStreamIds,
  damagedPart,
  earlierStreamId,
  formatStreamId,
  type Gap,
  integerOf,
  nextStreamId,
  parseStreamId,
  type StreamId,
} from './entries.ts';
import { listParts, type Part } from './parts.ts';

const INDEX = readSql(import.meta.url, 'sql/ledger-index.sql');
const INDEX_FROM_ENTRIES = readSql(import.meta.url, 'sql/ledger-index-from-entries.sql');
const PAGE = readSql(import.meta.url, 'sql/ledger-page.sql');

/** Accounts whose place in the parts is remembered from one page to the next. */
const REMEMBERED = 200;

/** What one part holds of the account. */
interface Holding {
  part: Part;
  first: StreamId;
  last: StreamId;
  opening: number;
  closing: number;
}

/** Newest first. A part of which it cannot be said what it holds stands as its name. */
type Chain = readonly (Holding | string)[];

export interface LedgerQuery {
  carried: LedgerArchivedThrough;
  /** Entries older than this one. */
  before: StreamId;
  limit: number;
}

export class LedgerArchive {
  readonly #directory: string;
  readonly #engine: ArchiveEngine;
  readonly #chains = new BoundedCache<{ parts: string; chain: Chain }>(REMEMBERED);

  constructor(directory: string, engine: ArchiveEngine) {
    this.#directory = directory;
    this.#engine = engine;
  }

  /** Whether there is anything to read here: a gateway may run where the archive is not. */
  async isReachable(): Promise<boolean> {
    return (await listParts(this.#directory, 'ledger')).length > 0;
  }

  /** Entries at or before what was carried over; those that are still live, too, are left to the live ledger. */
  async page(account_id: string, { carried, before, limit }: LedgerQuery): Promise<ArchivedPage> {
    const through = parseStreamId(carried.through);
    const chain = await this.#chain(account_id);
    const walk = new Walk(earlierStreamId(before, nextStreamId(through)), through, carried.balance);
    const page: ArchivedPage = { entries: [], gap: null };
    for (const [index, link] of chain.entries()) {
      if (typeof link !== 'string' && compareStreamIds(link.first, through) > 0) continue;
      const wanted = limit - page.entries.length;
      if (wanted === 0) return page;
      page.gap = walk.step(link, nextHolding(chain, index));
      if (page.gap) return page;
      if (typeof link === 'string' || compareStreamIds(link.first, walk.before) >= 0) continue;
      try {
        page.entries.push(...(await this.#read(account_id, link.part, walk.before, wanted)));
      } catch {
        return { ...page, gap: { message: damagedPart(link.part.name), before: formatStreamId(link.first) } };
      }
    }
    return page.entries.length < limit ? { ...page, gap: walk.end() } : page;
  }

  async #read(account: string, { entries: file }: Part, { ms, seq }: StreamId, limit: number) {
    const values = { file, account, ms: BigInt(ms), seq: BigInt(seq), limit: BigInt(limit) };
    return (await this.#engine.rows(PAGE, values)).map(archivedEntryOf);
  }

  /** Looked up in all parts once, and again when there are others. */
  async #chain(account_id: string): Promise<Chain> {
    const parts = await listParts(this.#directory, 'ledger');
    const names = parts.map(({ name }) => name).join();
    const known = this.#chains.get(account_id);
    if (known?.parts === names) return known.chain;
    const chain = await this.#lookUp(account_id, parts);
    // What could not be read may be repaired under the same name.
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
      return holdings.sort((a, b) => compareStreamIds(b.first, a.first));
    } catch {
      const chain = await Promise.all(parts.map((part) => this.#lookIn(account, part)));
      return chain.reverse().filter((link) => link !== null);
    }
  }

  /** One part at a time, when not all can be read together: null when it does not hold the account. */
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

const idOf = (row: SqlRow, name: 'first' | 'last'): StreamId => ({
  ms: integerOf(row, `${name}_ms`),
  seq: integerOf(row, `${name}_seq`),
});

const holdingOf = (part: Part, row: SqlRow): Holding => ({
  part,
  first: idOf(row, 'first'),
  last: idOf(row, 'last'),
  opening: integerOf(row, 'opening'),
  closing: integerOf(row, 'closing'),
});

const nextHolding = (chain: Chain, index: number): Holding | null =>
  chain.slice(index + 1).find((link) => typeof link !== 'string') ?? null;

/** Follows the chain from the newest entry to the oldest and notices where it is torn. */
class Walk {
  /** Only what is older is wanted. */
  readonly before: StreamId;
  /** Everything newer has been accounted for. */
  #upTo: StreamId;
  #balance: number;
  #isFirst = true;

  constructor(before: StreamId, through: StreamId, balance: number) {
    this.before = before;
    this.#upTo = nextStreamId(through);
    this.#balance = balance;
  }

  /** The gap between what was read and this link; null when there is none, or when it is newer than what is wanted. */
  step(link: Holding | string, next: Holding | null): Gap | null {
    if (typeof link === 'string') {
      const before = next ? nextStreamId(next.last) : null;
      return this.#isWanted(before) ? { message: damagedPart(link), before: textOrNull(before) } : null;
    }
    const before = nextStreamId(link.last);
    // Of a part that is being carried over, the newest entries are live still.
    const isCut = compareStreamIds(before, this.#upTo) > 0;
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

  /** The newest part must end with the very entry that was carried over last. */
  #isFirstLinkShort(before: StreamId): boolean {
    return this.#isFirst && compareStreamIds(before, this.#upTo) !== 0;
  }

  /** The gap before the oldest entry. */
  end(): Gap | null {
    if (this.#balance === 0 && !this.#isFirst) return null;
    return { message: 'The entries before these are missing: the archive does not hold them.', before: null };
  }

  /** Whether a gap that ends at an id lies, in part, before what is wanted. */
  #isWanted(end: StreamId | null): boolean {
    return end === null || compareStreamIds(end, this.before) < 0;
  }
}

const textOrNull = (id: StreamId | null): string | null => (id === null ? null : formatStreamId(id));
