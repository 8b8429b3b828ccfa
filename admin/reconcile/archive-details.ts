/**
 * Reads the archived ledger and usage of some accounts, part by part and day by day: for accounts whose totals
 * (`archive-totals.ts`) disagree or cannot tell. Replays the entries of a part that is inconsistent, or that Redis counts
 * as archived only in part.
 */
import { readSql } from '../../data/runtime/sql-files.ts';
import { dayOf } from '../../data/schema/redis-keys.ts';
import {
  type ArchiveEngine,
  formatStreamId,
  integerOf,
  LAST_STREAM_ID,
  parseStreamId,
  partsOf,
  type SqlRow,
  type StreamId,
  streamIdOf,
} from '../../gateway/commerce/history/history.ts';
import type { Source, SummarisedArchive } from './archive-summaries.ts';
import { archivedUsageByDay, type LedgerFacts, ledgerFactsFrom } from './archive-totals.ts';
import {
  type ArchivedLedger,
  type ArchivedUsage,
  type ArchiveFault,
  addTo,
  type LiveAccount,
  sumOfMaps,
} from './compare.ts';

const LEDGER_DETAILS = readSql(import.meta.url, 'sql/ledger-details.sql');
const LEDGER_ENTRIES = readSql(import.meta.url, 'sql/ledger-entries.sql');

/** What one part holds of one account. */
interface PartLedger extends LedgerFacts {
  source: Source;
  since_ms: number;
  /** Number of entries that do not follow from the one before. */
  astray: number;
  /** Credits debited, by UTC day number. */
  days: Map<number, number>;
  orders: Map<string, number>;
  /** The first entry that does not follow from the one before it; null until the entries are replayed. */
  fault: ArchiveFault | null;
}

/** Returns details by account, empty ones for accounts without archived entries. */
export async function readDetails(
  engine: ArchiveEngine,
  { ledger, usage }: SummarisedArchive,
  accounts: readonly LiveAccount[],
) {
  const ids = accounts.map(({ account_id }) => account_id);
  const sources = new Map(ledger.map(({ file, source }) => [file, source]));
  const parts = new Map<string, PartLedger[]>(ids.map((id) => [id, []]));
  const rows =
    ledger.length === 0
      ? []
      : await engine.rows(LEDGER_DETAILS, { files: [...sources.keys()], accounts: ids });
  for (const group of Map.groupBy(rows, ({ file, account_id }) => `${file} ${account_id}`).values()) {
    const [row] = group;
    const source = sources.get(String(row?.file));
    if (source) parts.get(String(row?.account_id))?.push(partLedgerFrom(source, group));
  }
  const through = new Map(
    accounts.map(({ account_id, archived_through }) => [
      account_id,
      archived_through ? parseStreamId(archived_through.through) : NEVER,
    ]),
  );
  await replayInconsistent(engine, parts, through);
  const used = ids.length === 0 ? new Map() : await archivedUsageByDay(engine, usage, ids);
  const archivedDays = new Set(usage.map(({ source }) => source.day));
  return new Map(
    ids.map((id) => {
      const archived = (parts.get(id) ?? [])
        .filter(({ first }) => first <= (through.get(id) ?? NEVER))
        .sort(byTime);
      const days: ArchivedUsage = {
        debited: sumOfMaps(archived.map((part) => part.days)),
        used: used.get(id) ?? new Map(),
        isArchived: (day) => archivedDays.has(day),
      };
      return [id, { ledger: join(archived), usage: days }];
    }),
  );
}

const byTime = (a: PartLedger, b: PartLedger): number =>
  Number(a.first - b.first) || Number(a.last - b.last) || (a.source.name < b.source.name ? -1 : 1);

/** Before every entry. */
const NEVER: StreamId = -1n;

function partLedgerFrom(source: Source, rows: readonly SqlRow[]): PartLedger {
  const whole: SqlRow = rows.find((row) => integerOf(row, 'entries') > 0) ?? {};
  const days = new Map<number, number>();
  const orders = new Map<string, number>();
  for (const row of rows) {
    if (row.order !== null) orders.set(String(row.order), integerOf(row, 'moved'));
    else if (row.day !== null) days.set(integerOf(row, 'day'), integerOf(row, 'of_day'));
  }
  return {
    source,
    ...ledgerFactsFrom(whole),
    since_ms: integerOf(whole, 'since_ms'),
    astray: integerOf(whole, 'astray'),
    days,
    orders,
    fault: null,
  };
}

/** Replays the entries of parts that are inconsistent or archived only in part. */
async function replayInconsistent(
  engine: ArchiveEngine,
  parts: ReadonlyMap<string, PartLedger[]>,
  through: ReadonlyMap<string, StreamId>,
): Promise<void> {
  const chosen = [...parts].flatMap(([account_id, own]) => {
    const end = through.get(account_id) ?? NEVER;
    return own
      .filter(({ first, last, astray }) => first <= end && (astray > 0 || last > end))
      .map((part) => ({
        account_id,
        part,
        end: part.last > end ? end : LAST_STREAM_ID,
      }));
  });
  for (const [source, group] of Map.groupBy(chosen, ({ part }) => part.source)) {
    const rows = await engine.rows(LEDGER_ENTRIES, {
      entries: source.entries,
      accounts: group.map(({ account_id }) => account_id),
      through_ms: group.map(({ end }) => String(partsOf(end).ms)),
      through_seq: group.map(({ end }) => String(partsOf(end).seq)),
    });
    const byAccount = Map.groupBy(rows, ({ account_id }) => String(account_id));
    for (const { account_id, part } of group) replay(part, byAccount.get(account_id) ?? []);
  }
}

/** Recomputes a part from its entries, which are sorted by id. */
function replay(part: PartLedger, rows: readonly SqlRow[]): void {
  Object.assign(part, { entries: 0, moved: 0, spent: 0, days: new Map(), orders: new Map(), fault: null });
  for (const row of rows) {
    const [delta, balance, at_ms] = [
      integerOf(row, 'delta'),
      integerOf(row, 'balance'),
      integerOf(row, 'at_ms'),
    ];
    const id = streamIdOf(row, 'id');
    if (part.entries === 0) Object.assign(part, { first: id, opening: balance - delta, since_ms: at_ms });
    else if (balance !== part.closing + delta && part.fault === null) {
      const what = `balance at entry ${formatStreamId(id)} in ${part.source.name} against the entry before it`;
      part.fault = { what, actual: balance, expected: part.closing + delta, since_ms: at_ms };
    }
    const isSpending = row.kind === 'debit' || (row.kind === 'refund' && row.route !== null);
    part.entries += 1;
    part.moved += delta;
    part.closing = balance;
    part.last = id;
    if (row.order !== null) addTo(part.orders, String(row.order), delta);
    if (!isSpending) continue;
    part.spent -= delta;
    addTo(part.days, dayOf(integerOf(row, 'counted_ms')), -delta);
  }
}

/** Joins an account's parts, oldest first, and reports where they do not fit. */
function join(parts: readonly PartLedger[]): ArchivedLedger {
  const faults: ArchiveFault[] = [];
  const sum = { entries: 0, moved: 0, spent: 0 };
  let before: PartLedger | null = null;
  for (const part of parts) {
    const { source, entries, first, opening, since_ms, fault } = part;
    if (before && first <= before.last) {
      const what = `entries in ${source.name} that ${before.source.name} also holds`;
      faults.push({ what, actual: entries, expected: 0, since_ms });
    } else if (opening !== (before?.closing ?? 0)) {
      const what = before
        ? `opening balance of ${source.name} against the closing balance of ${before.source.name}`
        : `opening balance of ${source.name}, the oldest part`;
      faults.push({ what, actual: opening, expected: before?.closing ?? 0, since_ms });
    }
    if (fault) faults.push(fault);
    sum.entries += entries;
    sum.moved += part.moved;
    sum.spent += part.spent;
    before = part;
  }
  return {
    ...sum,
    last: before ? formatStreamId(before.last) : '',
    faults,
    orders: sumOfMaps(parts.map(({ orders }) => orders)),
  };
}
