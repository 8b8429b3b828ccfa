/**
 * What the archive holds of a few accounts, part by part and day by day: for those that the sums of
 * `archived-books.ts` find something wrong with, or cannot tell of. Where a part does not hold together, or has been
 * carried over only to the middle, its entries themselves are read.
 */

import { dayOf } from '../../data/schema/redis-keys.ts';
import { type ArchiveEngine, readSql, type SqlRow } from '../../gateway/archive/engine.ts';
import {
  compareStreamIds,
  formatStreamId,
  integerOf,
  LAST_STREAM_ID,
  parseStreamId,
  type StreamId,
} from '../../gateway/archive/entries.ts';
import type { Source, SummarisedArchive } from './archive-summaries.ts';
import { archivedUsageByDay } from './archive-totals.ts';
import type { Archived, ArchivedUsage, LiveAccount, Tear } from './compare.ts';

const DETAILS = readSql(import.meta.url, 'sql/ledger-details.sql');
const CUT_OFF = readSql(import.meta.url, 'sql/ledger-entries.sql');

export interface Details {
  archived: Archived;
  days: ArchivedUsage;
}

/** What one part holds of one account. */
interface Holding {
  source: Source;
  entries: number;
  moved: number;
  spent: number;
  first: StreamId;
  last: StreamId;
  opening: number;
  closing: number;
  since_ms: number;
  astray: number;
  days: Map<number, number>;
  orders: Map<string, number>;
  /** The first entry that does not follow from the one before it, once the entries were read. */
  tear: Tear | null;
}

/** @returns by account; one of which the archive holds nothing has details, too, which say so. */
export async function readDetails(
  engine: ArchiveEngine,
  { ledger, usage }: SummarisedArchive,
  accounts: readonly LiveAccount[],
): Promise<Map<string, Details>> {
  const ids = accounts.map(({ account_id }) => account_id);
  const sources = new Map(ledger.map(({ file, source }) => [file, source]));
  const holdings = new Map<string, Holding[]>(ids.map((id) => [id, []]));
  const details =
    ledger.length === 0 ? [] : await engine.rows(DETAILS, { files: [...sources.keys()], accounts: ids });
  for (const rows of Map.groupBy(details, ({ file, account_id }) => `${file} ${account_id}`).values()) {
    const [row] = rows;
    const source = sources.get(String(row?.file));
    if (source) holdings.get(String(row?.account_id))?.push(holdingFrom(source, rows));
  }
  const through = new Map(
    accounts.map(({ account_id, carried }) => [account_id, carried ? parseStreamId(carried.through) : NEVER]),
  );
  await readTorn(engine, holdings, through);
  const used = ids.length === 0 ? new Map() : await archivedUsageByDay(engine, usage, ids);
  const archivedDays = new Set(usage.map(({ source }) => source.day));
  return new Map(
    ids.map((id) => {
      const counted = (holdings.get(id) ?? []).filter(
        ({ first }) => compareStreamIds(first, through.get(id) ?? NEVER) <= 0,
      );
      counted.sort(byTime);
      const days: ArchivedUsage = {
        debited: sumOfMaps(counted.map((holding) => holding.days)),
        used: used.get(id) ?? new Map(),
        isArchived: (day) => archivedDays.has(day),
      };
      return [id, { archived: joined(counted), days }];
    }),
  );
}

const byTime = (a: Holding, b: Holding): number =>
  compareStreamIds(a.first, b.first) ||
  compareStreamIds(a.last, b.last) ||
  (a.source.name < b.source.name ? -1 : 1);

const NEVER: StreamId = { ms: -1, seq: 0 };

function holdingFrom(source: Source, rows: readonly SqlRow[]): Holding {
  const whole: SqlRow = rows.find((row) => integerOf(row, 'entries') > 0) ?? {};
  const days = new Map<number, number>();
  const orders = new Map<string, number>();
  for (const row of rows) {
    if (row.order !== null) orders.set(String(row.order), integerOf(row, 'moved'));
    else if (row.day !== null) days.set(integerOf(row, 'day'), integerOf(row, 'of_day'));
  }
  return {
    source,
    entries: integerOf(whole, 'entries'),
    moved: integerOf(whole, 'moved'),
    spent: integerOf(whole, 'spent'),
    first: { ms: integerOf(whole, 'first_ms'), seq: integerOf(whole, 'first_seq') },
    last: { ms: integerOf(whole, 'last_ms'), seq: integerOf(whole, 'last_seq') },
    opening: integerOf(whole, 'opening'),
    closing: integerOf(whole, 'closing'),
    since_ms: integerOf(whole, 'since_ms'),
    astray: integerOf(whole, 'astray'),
    ...{ days, orders, tear: null },
  };
}

/** Reads the entries of holdings that do not hold together, or end after what was carried over. */
async function readTorn(
  engine: ArchiveEngine,
  holdings: ReadonlyMap<string, Holding[]>,
  through: ReadonlyMap<string, StreamId>,
): Promise<void> {
  const torn = [...holdings].flatMap(([account_id, own]) => {
    const end = through.get(account_id) ?? NEVER;
    return own
      .filter(
        ({ first, last, astray }) =>
          compareStreamIds(first, end) <= 0 && (astray > 0 || compareStreamIds(last, end) > 0),
      )
      .map((holding) => ({
        account_id,
        holding,
        end: compareStreamIds(holding.last, end) > 0 ? end : LAST_STREAM_ID,
      }));
  });
  for (const [source, group] of Map.groupBy(torn, ({ holding }) => holding.source)) {
    const rows = await engine.rows(CUT_OFF, {
      entries: source.entries,
      accounts: group.map(({ account_id }) => account_id),
      through_ms: group.map(({ end }) => String(end.ms)),
      through_seq: group.map(({ end }) => String(end.seq)),
    });
    const byAccount = Map.groupBy(rows, ({ account_id }) => String(account_id));
    for (const { account_id, holding } of group) replay(holding, byAccount.get(account_id) ?? []);
  }
}

/** A holding made anew from its entries, in the order of their ids. */
function replay(holding: Holding, rows: readonly SqlRow[]): void {
  Object.assign(holding, { entries: 0, moved: 0, spent: 0, days: new Map(), orders: new Map(), tear: null });
  for (const row of rows) {
    const [delta, balance, at_ms] = [
      integerOf(row, 'delta'),
      integerOf(row, 'balance'),
      integerOf(row, 'at_ms'),
    ];
    const id = { ms: integerOf(row, 'id_ms'), seq: integerOf(row, 'id_seq') };
    if (holding.entries === 0)
      Object.assign(holding, { first: id, opening: balance - delta, since_ms: at_ms });
    else if (balance !== holding.closing + delta && holding.tear === null) {
      const what = `entry ${formatStreamId(id)} in ${holding.source.name} against the entry before it`;
      holding.tear = { what, stands: balance, should_be: holding.closing + delta, since_ms: at_ms };
    }
    const isSpending = row.kind === 'debit' || (row.kind === 'refund' && row.route !== null);
    holding.entries += 1;
    holding.moved += delta;
    holding.closing = balance;
    holding.last = id;
    if (row.order !== null) add(holding.orders, String(row.order), delta);
    if (!isSpending) continue;
    holding.spent -= delta;
    add(holding.days, dayOf(integerOf(row, 'counted_ms')), -delta);
  }
}

/** Puts holdings together, oldest first, and notices where they do not fit. */
function joined(holdings: readonly Holding[]): Archived {
  const tears: Tear[] = [];
  let before: Holding | null = null;
  for (const holding of holdings) {
    const { source, first, opening, since_ms, tear } = holding;
    if (before && compareStreamIds(first, before.last) <= 0) {
      const what = `entries in ${source.name} that ${before.source.name} holds, too`;
      tears.push({ what, stands: holding.entries, should_be: 0, since_ms });
    } else if (opening !== (before?.closing ?? 0)) {
      const what = before
        ? `balance that ${source.name} opens with against that at the end of ${before.source.name}`
        : `balance that ${source.name}, the oldest part, opens with`;
      tears.push({ what, stands: opening, should_be: before?.closing ?? 0, since_ms });
    }
    if (tear) tears.push(tear);
    before = holding;
  }
  return {
    entries: total(holdings, 'entries'),
    moved: total(holdings, 'moved'),
    spent: total(holdings, 'spent'),
    last: before ? formatStreamId(before.last) : '',
    tears,
    orders: sumOfMaps(holdings.map(({ orders }) => orders)),
  };
}

const total = (holdings: readonly Holding[], what: 'entries' | 'moved' | 'spent'): number =>
  holdings.reduce((sum, holding) => sum + holding[what], 0);

function sumOfMaps<Key>(maps: readonly ReadonlyMap<Key, number>[]): Map<Key, number> {
  const sum = new Map<Key, number>();
  for (const map of maps) for (const [key, value] of map) add(sum, key, value);
  return sum;
}

function add<Key>(map: Map<Key, number>, key: Key, value: number): void {
  map.set(key, (map.get(key) ?? 0) + value);
}
