/**
 * What the archive comes to for every account, in one pass over the summaries: enough to tell which accounts agree.
 *
 * A part is carried over before the next is written, so only the newest may hold entries that Redis does not count as
 * archived yet; it is kept apart. What cannot be told from sums is left to `archived-details.ts`.
 */
import type { LedgerArchivedThrough } from '../../data/schema/archive.ts';
import { type ArchiveEngine, readSql, type SqlRow } from '../../gateway/archive/engine.ts';
import {
  compareStreamIds,
  formatStreamId,
  integerOf,
  parseStreamId,
  type StreamId,
} from '../../gateway/archive/entries.ts';
import type { SummarisedArchive, Summary } from './archive-summaries.ts';
import { type Archived, debitedByDay, type LiveAccount } from './compare.ts';

const TOTALS = readSql(import.meta.url, 'sql/ledger-totals.sql');
const USED = readSql(import.meta.url, 'sql/used.sql');
const USED_DETAILS = readSql(import.meta.url, 'sql/used-details.sql');
const ORDERS = readSql(import.meta.url, 'sql/orders.sql');

/** What some parts come to for one account. */
interface Totals {
  entries: number;
  moved: number;
  spent: number;
  /** Every entry follows from the one before it, and every part from another. */
  isWhole: boolean;
  first: StreamId;
  last: StreamId;
  opening: number;
  closing: number;
  /** What was spent, each day by its weight. */
  weighed: bigint;
  orders: ReadonlyMap<string, number>;
}

const NOTHING: Archived = { entries: 0, moved: 0, spent: 0, last: '', tears: [], orders: new Map() };
const NO_ORDERS: ReadonlyMap<string, number> = new Map();

export class ArchiveTotals {
  readonly #settled: ReadonlyMap<string, Totals>;
  readonly #newest: ReadonlyMap<string, Totals>;
  readonly #used: ReadonlyMap<string, bigint>;
  readonly #usedOn: ReadonlyMap<string, ReadonlyMap<number, number>>;
  readonly #days: ReadonlySet<number>;
  /** Whether there is a part at all: without one, a carried balance cannot be held against anything. */
  readonly isReachable: boolean;

  private constructor(parts: {
    settled: ReadonlyMap<string, Totals>;
    newest: ReadonlyMap<string, Totals>;
    used: ReadonlyMap<string, bigint>;
    usedOn: ReadonlyMap<string, ReadonlyMap<number, number>>;
    days: ReadonlySet<number>;
    isReachable: boolean;
  }) {
    this.#settled = parts.settled;
    this.#newest = parts.newest;
    this.#used = parts.used;
    this.#usedOn = parts.usedOn;
    this.#days = parts.days;
    this.isReachable = parts.isReachable;
  }

  /** @param compared days whose live usage will be held against the archived */
  static async read(
    engine: ArchiveEngine,
    { ledger, usage, isThere }: SummarisedArchive,
    compared: ReadonlySet<number>,
  ): Promise<ArchiveTotals> {
    const settled = await totalsOf(engine, ledger.slice(0, -1));
    const newest = await totalsOf(engine, ledger.slice(-1));
    const used = await usedIn(engine, usage);
    const days = new Set(usage.map(({ source }) => source.day));
    const usedOn = await archivedUsageByDay(
      engine,
      usage.filter(({ source }) => compared.has(source.day)),
    );
    return new ArchiveTotals({ settled, newest, used, usedOn, days, isReachable: isThere });
  }

  /** Every account of which the archive holds entries. */
  accounts(): Set<string> {
    return new Set([...this.#settled.keys(), ...this.#newest.keys()]);
  }

  /** How many entries there are in all. */
  get entries(): number {
    return [...this.#settled.values(), ...this.#newest.values()].reduce(
      (sum, { entries }) => sum + entries,
      0,
    );
  }

  /** How many entries it holds of an account, carried over or not. */
  entriesOf(account_id: string): number {
    return (this.#settled.get(account_id)?.entries ?? 0) + (this.#newest.get(account_id)?.entries ?? 0);
  }

  /** What was carried over of an account; null when sums do not tell. */
  archivedOf(account_id: string, carried: LedgerArchivedThrough | null): Archived | null {
    const totals = this.#carriedOver(account_id, carried);
    if (totals === null) return null;
    const [one, two] = totals;
    if (!one) return NOTHING;
    const last = two ?? one;
    const isJoined = !two || (one.closing === two.opening && compareStreamIds(one.last, two.first) < 0);
    if (!isJoined || one.opening !== 0 || !totals.every(({ isWhole }) => isWhole)) return null;
    return {
      entries: one.entries + (two?.entries ?? 0),
      moved: one.moved + (two?.moved ?? 0),
      spent: one.spent + (two?.spent ?? 0),
      last: formatStreamId(last.last),
      tears: [],
      orders: two ? sumOfOrders(one.orders, two.orders) : one.orders,
    };
  }

  /** Whether each day's usage is that day's debits, archived and live together. */
  daysAgree({ account_id, carried, ledger, used }: LiveAccount): boolean {
    const totals = this.#carriedOver(account_id, carried);
    if (totals === null) return false;
    let off = totals.reduce((sum, { weighed }) => sum + weighed, 0n) - (this.#used.get(account_id) ?? 0n);
    for (const [day, credits] of debitedByDay(ledger)) off += BigInt(credits) * weightOf(day);
    const archived = this.#usedOn.get(account_id);
    for (const [day, credits] of used) {
      if (!this.#days.has(day)) off -= BigInt(credits) * weightOf(day);
      else if (credits !== (archived?.get(day) ?? 0)) return false;
    }
    return off === 0n;
  }

  /** Totals of settled parts and of the newest, as far as they count; null when one is carried over in part. */
  #carriedOver(account_id: string, carried: LedgerArchivedThrough | null): Totals[] | null {
    const through = carried ? parseStreamId(carried.through) : { ms: -1, seq: 0 };
    const settled = this.#settled.get(account_id);
    const newest = this.#newest.get(account_id);
    if (settled && compareStreamIds(settled.last, through) > 0) return null;
    const isCounted = newest !== undefined && compareStreamIds(newest.last, through) <= 0;
    if (newest && !isCounted && compareStreamIds(newest.first, through) <= 0) return null;
    return [...(settled ? [settled] : []), ...(isCounted ? [newest] : [])];
  }
}

const weights = new Map<number, bigint>();

/** A number of each day's own; the same as in `summarise-ledger.sql` and `summarise-usage.sql`. */
function weightOf(day: number): bigint {
  const known = weights.get(day);
  if (known !== undefined) return known;
  const spread = BigInt((day * 2_654_435_761) % 2_147_483_647);
  const weight = ((spread * spread) % 268_435_399n) + 1n;
  weights.set(day, weight);
  return weight;
}

const filesOf = (summaries: readonly Summary[]): string[] => summaries.map(({ file }) => file);

async function totalsOf(engine: ArchiveEngine, parts: readonly Summary[]): Promise<Map<string, Totals>> {
  if (parts.length === 0) return new Map();
  const files = filesOf(parts);
  const orders = new Map<string, Map<string, number>>();
  for (const row of await engine.rows(ORDERS, { files })) {
    const account_id = String(row.account_id);
    const known = orders.get(account_id) ?? new Map<string, number>();
    orders.set(account_id, known.set(String(row.order), integerOf(row, 'moved')));
  }
  const rows = await engine.rows(TOTALS, { files });
  return new Map(
    rows.map((row) => {
      const account_id = String(row.account_id);
      return [account_id, totalsFrom(row, orders.get(account_id) ?? NO_ORDERS)];
    }),
  );
}

const totalsFrom = (row: SqlRow, orders: ReadonlyMap<string, number>): Totals => ({
  entries: integerOf(row, 'entries'),
  moved: integerOf(row, 'moved'),
  spent: integerOf(row, 'spent'),
  isWhole: row.chained === true && integerOf(row, 'astray') === 0,
  first: { ms: integerOf(row, 'first_ms'), seq: integerOf(row, 'first_seq') },
  last: { ms: integerOf(row, 'last_ms'), seq: integerOf(row, 'last_seq') },
  opening: integerOf(row, 'opening'),
  closing: integerOf(row, 'closing'),
  weighed: BigInt(String(row.weighed)),
  orders,
});

async function usedIn(engine: ArchiveEngine, days: readonly Summary[]): Promise<Map<string, bigint>> {
  if (days.length === 0) return new Map();
  const rows = await engine.rows(USED, { files: filesOf(days) });
  return new Map(rows.map((row) => [String(row.account_id), BigInt(String(row.weighed))]));
}

function sumOfOrders(
  one: ReadonlyMap<string, number>,
  two: ReadonlyMap<string, number>,
): Map<string, number> {
  const sum = new Map(one);
  for (const [order, moved] of two) sum.set(order, (sum.get(order) ?? 0) + moved);
  return sum;
}

/** Credits used by account and day. @param accounts all unless told */
export async function archivedUsageByDay(
  engine: ArchiveEngine,
  days: readonly Summary[],
  accounts: readonly string[] = [],
): Promise<Map<string, Map<number, number>>> {
  const used = new Map<string, Map<number, number>>();
  if (days.length === 0) return used;
  for (const row of await engine.rows(USED_DETAILS, { files: filesOf(days), accounts })) {
    const own = used.get(String(row.account_id)) ?? new Map<number, number>();
    used.set(String(row.account_id), own.set(integerOf(row, 'day'), integerOf(row, 'used')));
  }
  return used;
}
