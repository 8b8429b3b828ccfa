/**
 * Compares what Redis and the archive hold of one account:
 *
 * - `archive`: archived entries against the counters that Redis keeps of them, and part against part.
 * - `balance`: the balance against the sum of the ledger, and each entry against the balance it leaves.
 * - `lifetime`: credits ever granted and spent against the ledger, and granted − spent against the balance.
 * - `orders`: credits of each order against its ledger entries, and the number of paid orders.
 * - `usage`: credits counted as used on each day against that day's debits.
 *
 * Pure functions: state in, discrepancies out.
 */

import type { LedgerArchivedThrough } from '../../data/schema/archive.ts';
import { dateOfDay, dayOf } from '../../data/schema/redis-keys.ts';
import type { LedgerEntry, OrderRecord } from '../../gateway/commerce/store/store.ts';

/** What Redis holds of an account at one moment. */
export interface LiveAccount {
  account_id: string;
  email: string;
  balance: number;
  granted: number;
  spent: number;
  /** Number of paid orders, by the account's own counter. */
  paid_orders: number;
  /** Counters of archived entries; null when nothing is archived. */
  archived_through: LedgerArchivedThrough | null;
  /** Live entries, oldest first. */
  ledger: readonly LedgerEntry[];
  orders: readonly OrderRecord[];
  /** Credits used, by UTC day number: every day that is only live, and some archived days. */
  used: ReadonlyMap<number, number>;
}

/** A place where archived entries do not follow from each other. */
export interface ArchiveFault {
  what: string;
  actual: number;
  expected: number;
  since_ms: number;
}

/** Archived ledger of an account, up to the last entry that Redis counts as archived. */
export interface ArchivedLedger {
  entries: number;
  /** Sum of all deltas. */
  moved: number;
  spent: number;
  /** Id of the last entry; empty without entries. */
  last: string;
  /** Oldest first. */
  faults: readonly ArchiveFault[];
  /** Sum of deltas by order id. */
  orders: ReadonlyMap<string, number>;
}

/** Archived debits and usage of an account, by UTC day number. */
export interface ArchivedUsage {
  debited: ReadonlyMap<number, number>;
  /** Credits used on the days whose usage is archived. */
  used: ReadonlyMap<number, number>;
  isArchived(day: number): boolean;
}

export interface Finding {
  check: 'archive' | 'balance' | 'lifetime' | 'orders' | 'usage';
  /** What is compared with what, in words. */
  what: string;
  actual: number;
  expected: number;
  /** When the discrepancy began; null when unknown. */
  since_ms: number | null;
}

export interface Discrepancy extends Finding {
  account_id: string;
  email: string;
}

/**
 * Every check except `usage`.
 * @param archived null when the archive cannot be read; skips what depends on it.
 */
export function compareLedger(live: LiveAccount, archived: ArchivedLedger | null): Finding[] {
  return [
    ...(archived ? compareArchive(live, archived) : []),
    ...compareBalance(live),
    ...compareLifetime(live, archived),
    ...compareOrders(live, archived),
  ];
}

const sumDeltas = (entries: readonly LedgerEntry[]): number =>
  entries.reduce((sum, { delta }) => sum + delta, 0);

/** A finding when the two numbers differ. */
const differ = (
  check: Finding['check'],
  what: string,
  actual: number,
  expected: number,
  since_ms: number | null,
): Finding[] => (actual === expected ? [] : [{ check, what, actual, expected, since_ms }]);

function compareArchive(
  { archived_through }: LiveAccount,
  { entries, moved, last, faults }: ArchivedLedger,
): Finding[] {
  const since_ms = faults[0]?.since_ms ?? archived_through?.at_ms ?? null;
  const through = archived_through?.through ?? '';
  const count = archived_through?.entries ?? 0;
  const sum = archived_through?.balance ?? 0;
  const found = [
    ...faults.flatMap((fault) => differ('archive', fault.what, fault.actual, fault.expected, fault.since_ms)),
    ...differ('archive', 'archived entries against the count in Redis', entries, count, since_ms),
    ...differ('archive', 'sum of archived entries against the archived balance', moved, sum, since_ms),
  ];
  if (found.length > 0 || last === through) return found;
  const what = `last archived entry is ${last || 'none'}, but Redis has archived through ${through || 'none'}`;
  return [{ check: 'archive', what, actual: entryTime(last), expected: entryTime(through), since_ms }];
}

const entryTime = (id: string): number => Number(id.split('-')[0]);

function compareBalance({ balance, archived_through, ledger }: LiveAccount): Finding[] {
  let sum = archived_through?.balance ?? 0;
  const broken = ledger.find((entry) => {
    sum += entry.delta;
    return entry.balance !== sum;
  });
  const total = (archived_through?.balance ?? 0) + sumDeltas(ledger);
  // An entry that does not add up dates the discrepancy; otherwise it began after the last entry.
  const since_ms = broken?.at_ms ?? ledger.at(-1)?.at_ms ?? archived_through?.at_ms ?? null;
  const found = differ('balance', 'balance against the sum of the ledger', balance, total, since_ms);
  if (found.length > 0 || !broken) return found;
  const what = `balance at entry ${broken.id} against the sum of entries up to it`;
  return differ('balance', what, broken.balance, sum, broken.at_ms);
}

/** Debits and their refunds: a reversed debit spends nothing. */
const isSpending = (entry: LedgerEntry): boolean =>
  entry.kind === 'debit' || (entry.kind === 'refund' && 'route' in entry.cause);

function compareLifetime(live: LiveAccount, archived: ArchivedLedger | null): Finding[] {
  const { balance, granted, spent, ledger, archived_through } = live;
  const last_ms = ledger.at(-1)?.at_ms ?? archived_through?.at_ms ?? null;
  const found = differ('lifetime', 'granted − spent against the balance', granted - spent, balance, last_ms);
  if (!archived) return found;
  const debited = archived.spent - sumDeltas(ledger.filter(isSpending));
  return [...found, ...differ('lifetime', 'credits ever spent against the debits', spent, debited, last_ms)];
}

/** Net credits of an order: all when paid, what could not be taken back when refunded. */
function expectedOf({ state, credits, shortfall }: OrderRecord): number {
  if (state === 'paid') return credits;
  return state === 'refunded' ? shortfall : 0;
}

function compareOrders(
  { orders, ledger, paid_orders, archived_through }: LiveAccount,
  archived: ArchivedLedger | null,
): Finding[] {
  const moved = new Map(archived?.orders);
  const since = new Map<string, number>();
  for (const { cause, delta, at_ms } of ledger) {
    if (!('order_id' in cause)) continue;
    addTo(moved, cause.order_id, delta);
    if (!since.has(cause.order_id)) since.set(cause.order_id, at_ms);
  }
  // Without the archive, nothing is known of orders that may have archived entries.
  const from_ms = archived ? Number.NEGATIVE_INFINITY : (archived_through?.at_ms ?? Number.NEGATIVE_INFINITY);
  const known = new Set(orders.map(({ order_id }) => order_id));
  const paid = orders.filter(({ state }) => state === 'paid').length;
  return [
    ...orders
      .filter(({ created_at_ms }) => created_at_ms > from_ms)
      .flatMap((order) => {
        const what = `order ${order.order_id} (${order.state})`;
        return differ('orders', what, moved.get(order.order_id) ?? 0, expectedOf(order), order.moved_at_ms);
      }),
    ...[...moved]
      .filter(([id]) => !known.has(id))
      .flatMap(([id, delta]) =>
        differ('orders', `order ${id}, missing from the account`, delta, 0, since.get(id) ?? null),
      ),
    ...differ('orders', 'number of paid orders', paid_orders, paid, null),
  ];
}

/** A refund of a debit counts on the day of the debit. */
const countedAt = ({ cause, at_ms }: LedgerEntry): number =>
  'route' in cause ? (cause.of_ms ?? at_ms) : at_ms;

/** Credits that live entries debit, by UTC day number. */
export function debitedByDay(ledger: readonly LedgerEntry[]): Map<number, number> {
  const debited = new Map<number, number>();
  for (const entry of ledger.filter(isSpending)) addTo(debited, dayOf(countedAt(entry)), -entry.delta);
  return debited;
}

/** @param archived null when the archive cannot be read; compares only the days after it. */
export function compareUsage(
  { used, ledger, archived_through }: LiveAccount,
  archived: ArchivedUsage | null,
): Finding[] {
  const debited = sumOfMaps([debitedByDay(ledger), archived?.debited ?? new Map()]);
  const first = !archived && archived_through ? dayOf(archived_through.at_ms) + 1 : Number.NEGATIVE_INFINITY;
  const days = new Set([...used.keys(), ...debited.keys(), ...(archived?.used.keys() ?? [])]);
  return [...days]
    .filter((day) => day >= first)
    .sort((a, b) => a - b)
    .flatMap((day) => {
      const isArchived = archived?.isArchived(day) ?? false;
      const counted = isArchived ? (archived?.used.get(day) ?? 0) : used.get(day);
      // Usage of a day that is neither live nor archived is unknown; see `findMissingUsage`.
      if (counted === undefined) return [];
      const date = dateOfDay(day);
      const since_ms = Date.parse(date);
      const what = `credits used on ${date}`;
      const live = used.get(day) ?? counted;
      return [
        ...differ('usage', `${what} against its debits`, counted, debited.get(day) ?? 0, since_ms),
        ...differ('usage', `${what}, live against archived`, live, counted, since_ms),
      ];
    });
}

/** Adds maps key by key. */
export function sumOfMaps<Key>(maps: readonly ReadonlyMap<Key, number>[]): Map<Key, number> {
  const sum = new Map<Key, number>();
  for (const map of maps) for (const [key, value] of map) addTo(sum, key, value);
  return sum;
}

export function addTo<Key>(map: Map<Key, number>, key: Key, value: number): void {
  map.set(key, (map.get(key) ?? 0) + value);
}
