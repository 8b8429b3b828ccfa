/**
 * Adds up the archive for every account in one pass over the summaries: enough to tell which accounts agree.
 *
 * Reading part by part is left to `archive-details.ts` and to accounts whose totals disagree: with 100,000 accounts and
 * 36.5 million entries in 365 parts, totals make a reconciliation take 10 s.
 *
 * Only the newest part may hold entries that Redis does not count as archived yet, because each part is recorded in Redis
 * before the next is written. It is therefore added up separately.
 */
import { readSql } from '../../data/runtime/sql-files.ts';
import type { LedgerArchivedThrough } from '../../data/schema/archive.ts';
import {
  type ArchiveEngine,
  formatStreamId,
  integerOf,
  parseStreamId,
  type SqlRow,
  type StreamId,
  streamIdOf,
} from '../../gateway/commerce/history/history.ts';
import type { SummarisedArchive, Summary } from './archive-summaries.ts';
import { type ArchivedLedger, debitedByDay, type LiveAccount, sumOfMaps } from './compare.ts';

const LEDGER_TOTALS = readSql(import.meta.url, 'sql/ledger-totals.sql');
const ORDER_TOTALS = readSql(import.meta.url, 'sql/order-totals.sql');
const USAGE_TOTALS = readSql(import.meta.url, 'sql/usage-totals.sql');
const USAGE_BY_DAY = readSql(import.meta.url, 'sql/usage-by-day.sql');

/** Entries of one account in one or several parts. */
export interface LedgerFacts {
  entries: number;
  /** Sum of all deltas. */
  moved: number;
  spent: number;
  first: StreamId;
  last: StreamId;
  opening: number;
  closing: number;
}

/** Some parts added up for one account. */
interface LedgerTotals extends LedgerFacts {
  /** Whether every entry follows from the one before it, and every part from another. */
  isWhole: boolean;
  /** Checksum of the credits spent on each day; see `weightOf`. */
  weighed: bigint;
  orders: ReadonlyMap<string, number>;
}

interface Totals {
  hasLedger: boolean;
  /** All parts but the newest. */
  older: ReadonlyMap<string, LedgerTotals>;
  newest: ReadonlyMap<string, LedgerTotals>;
  /** Checksum of the credits used on each archived day, by account. */
  usage: ReadonlyMap<string, bigint>;
  /** Credits used on the compared days, by account. */
  usageByDay: ReadonlyMap<string, ReadonlyMap<number, number>>;
  /** Days whose usage is archived. */
  days: ReadonlySet<number>;
}

const EMPTY: ArchivedLedger = { entries: 0, moved: 0, spent: 0, last: '', faults: [], orders: new Map() };
const NO_ORDERS: ReadonlyMap<string, number> = new Map();

export class ArchiveTotals {
  readonly #totals: Totals;

  private constructor(totals: Totals) {
    this.#totals = totals;
  }

  /** Whether the archive has any ledger part, readable or not. */
  get isReadable(): boolean {
    return this.#totals.hasLedger;
  }

  /** @param compared archived days whose usage is compared with live usage */
  static async read(
    engine: ArchiveEngine,
    { ledger, usage, hasLedger }: SummarisedArchive,
    compared: ReadonlySet<number>,
  ): Promise<ArchiveTotals> {
    return new ArchiveTotals({
      hasLedger,
      older: await addUp(engine, ledger.slice(0, -1)),
      newest: await addUp(engine, ledger.slice(-1)),
      usage: await addUpUsage(engine, usage),
      usageByDay: await archivedUsageByDay(
        engine,
        usage.filter(({ source }) => compared.has(source.day)),
      ),
      days: new Set(usage.map(({ source }) => source.day)),
    });
  }

  /** Every account with archived entries. */
  accounts(): Set<string> {
    return new Set([...this.#totals.older.keys(), ...this.#totals.newest.keys()]);
  }

  /** Number of entries of all accounts. */
  get entries(): number {
    let sum = 0;
    for (const { entries } of this.#totals.older.values()) sum += entries;
    for (const { entries } of this.#totals.newest.values()) sum += entries;
    return sum;
  }

  /** Number of entries of an account, counted as archived or not. */
  entriesOf(account_id: string): number {
    const { older, newest } = this.#totals;
    return (older.get(account_id)?.entries ?? 0) + (newest.get(account_id)?.entries ?? 0);
  }

  /** The archived ledger of an account; null when totals cannot tell. */
  ledgerOf(account_id: string, archived_through: LedgerArchivedThrough | null): ArchivedLedger | null {
    const totals = this.#archivedTotals(account_id, archived_through);
    if (totals === null) return null;
    const [one, two] = totals;
    if (!one) return EMPTY;
    const isJoined = !two || (one.closing === two.opening && one.last < two.first);
    if (!isJoined || one.opening !== 0 || !totals.every(({ isWhole }) => isWhole)) return null;
    return {
      entries: one.entries + (two?.entries ?? 0),
      moved: one.moved + (two?.moved ?? 0),
      spent: one.spent + (two?.spent ?? 0),
      last: formatStreamId((two ?? one).last),
      faults: [],
      orders: two ? sumOfMaps([one.orders, two.orders]) : one.orders,
    };
  }

  /** Whether usage equals debits on every day, archived and live together. */
  usageAgrees({ account_id, archived_through, ledger, used }: LiveAccount): boolean {
    const totals = this.#archivedTotals(account_id, archived_through);
    if (totals === null) return false;
    let off =
      totals.reduce((sum, { weighed }) => sum + weighed, 0n) - (this.#totals.usage.get(account_id) ?? 0n);
    for (const [day, credits] of debitedByDay(ledger)) off += BigInt(credits) * weightOf(day);
    const archived = this.#totals.usageByDay.get(account_id);
    for (const [day, credits] of used) {
      if (!this.#totals.days.has(day)) off -= BigInt(credits) * weightOf(day);
      else if (credits !== (archived?.get(day) ?? 0)) return false;
    }
    return off === 0n;
  }

  /** Totals of the parts that Redis counts as archived; null when it counts one of them in part. */
  #archivedTotals(account_id: string, archived_through: LedgerArchivedThrough | null): LedgerTotals[] | null {
    const through = archived_through ? parseStreamId(archived_through.through) : -1n;
    const older = this.#totals.older.get(account_id);
    const newest = this.#totals.newest.get(account_id);
    if (older && older.last > through) return null;
    const isCounted = newest !== undefined && newest.last <= through;
    if (newest && !isCounted && newest.first <= through) return null;
    return [...(older ? [older] : []), ...(isCounted ? [newest] : [])];
  }
}

const weights = new Map<number, bigint>();

/**
 * A pseudo-random factor of a day, the same as in `summarise-ledger.sql` and `summarise-usage.sql`. A sum of credits times
 * factors is a checksum over days: differences of two days do not cancel each other.
 */
function weightOf(day: number): bigint {
  const known = weights.get(day);
  if (known !== undefined) return known;
  const spread = BigInt((day * 2_654_435_761) % 2_147_483_647);
  const weight = ((spread * spread) % 268_435_399n) + 1n;
  weights.set(day, weight);
  return weight;
}

const filesOf = (summaries: readonly Summary[]): string[] => summaries.map(({ file }) => file);

async function addUp(engine: ArchiveEngine, parts: readonly Summary[]): Promise<Map<string, LedgerTotals>> {
  if (parts.length === 0) return new Map();
  const files = filesOf(parts);
  const orders = new Map<string, Map<string, number>>();
  for (const row of await engine.rows(ORDER_TOTALS, { files }))
    entryOf(orders, String(row.account_id)).set(String(row.order), integerOf(row, 'moved'));
  const rows = await engine.rows(LEDGER_TOTALS, { files });
  return new Map(
    rows.map((row) => {
      const account_id = String(row.account_id);
      const totals = {
        ...ledgerFactsFrom(row),
        isWhole: row.chained === true && integerOf(row, 'astray') === 0,
        weighed: BigInt(String(row.weighed)),
        orders: orders.get(account_id) ?? NO_ORDERS,
      };
      return [account_id, totals];
    }),
  );
}

export const ledgerFactsFrom = (row: SqlRow): LedgerFacts => ({
  entries: integerOf(row, 'entries'),
  moved: integerOf(row, 'moved'),
  spent: integerOf(row, 'spent'),
  first: streamIdOf(row, 'first'),
  last: streamIdOf(row, 'last'),
  opening: integerOf(row, 'opening'),
  closing: integerOf(row, 'closing'),
});

async function addUpUsage(engine: ArchiveEngine, days: readonly Summary[]): Promise<Map<string, bigint>> {
  if (days.length === 0) return new Map();
  const rows = await engine.rows(USAGE_TOTALS, { files: filesOf(days) });
  return new Map(rows.map((row) => [String(row.account_id), BigInt(String(row.weighed))]));
}

/** Credits used, by account and UTC day number. @param accounts all accounts when empty */
export async function archivedUsageByDay(
  engine: ArchiveEngine,
  days: readonly Summary[],
  accounts: readonly string[] = [],
): Promise<Map<string, Map<number, number>>> {
  const used = new Map<string, Map<number, number>>();
  if (days.length === 0) return used;
  for (const row of await engine.rows(USAGE_BY_DAY, { files: filesOf(days), accounts }))
    entryOf(used, String(row.account_id)).set(integerOf(row, 'day'), integerOf(row, 'used'));
  return used;
}

/** The inner map of an account, created when absent. */
function entryOf<Key>(maps: Map<string, Map<Key, number>>, account_id: string): Map<Key, number> {
  const known = maps.get(account_id) ?? new Map<Key, number>();
  maps.set(account_id, known);
  return known;
}
