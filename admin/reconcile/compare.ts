/**
 * Holds one account against itself, in every way that money can go astray:
 *
 * - `archive`: what the archive holds against what was carried over to it, entry after entry and part after part.
 * - `balance`: the wallet's balance against the sum of its ledger, and each entry against the balance it leaves.
 * - `lifetime`: what was ever granted and spent against the ledger, and granted − spent against the balance.
 * - `orders`: what orders granted and took back against their ledger entries, and how many are paid.
 * - `usage`: credits counted as used on each day against that day's debits.
 *
 * Pure: facts in, discrepancies out. Where the facts come from is `account-facts.ts` and `archived-books.ts`.
 */

import type { LedgerArchivedThrough } from '../../data/schema/archive.ts';
import { dateOfDay, dayOf } from '../../data/schema/redis-keys.ts';
import type { LedgerEntry, OrderRecord } from '../../gateway/accounts/records.ts';

/** What Redis says of an account, as of one moment. */
export interface LiveAccount {
  account_id: string;
  email: string;
  balance: number;
  granted: number;
  spent: number;
  /** How many orders the account believes are paid. */
  paid_orders: number;
  /** What has left the live ledger; null when nothing has. */
  carried: LedgerArchivedThrough | null;
  /** Live entries, oldest first. */
  ledger: readonly LedgerEntry[];
  orders: readonly OrderRecord[];
  /** Credits counted as used, by number of the UTC day: of days that are live only, and of some that are archived, too. */
  used: ReadonlyMap<number, number>;
}

/** A place in the archive that does not hold together. */
export interface Tear {
  what: string;
  stands: number;
  should_be: number;
  since_ms: number;
}

/** What the archive holds of an account, as far as it was carried over. */
export interface Archived {
  entries: number;
  /** The sum of all deltas. */
  moved: number;
  spent: number;
  /** Id of the last entry; empty when there is none. */
  last: string;
  /** Oldest first. */
  tears: readonly Tear[];
  /** What the entries of each order moved. */
  orders: ReadonlyMap<string, number>;
}

/** The same by number of the UTC day. */
export interface ArchivedUsage {
  debited: ReadonlyMap<number, number>;
  /** Credits used, of the days whose usage is archived. */
  used: ReadonlyMap<number, number>;
  isArchived(day: number): boolean;
}

export interface Discrepancy {
  account_id: string;
  email: string;
  check: 'archive' | 'balance' | 'lifetime' | 'orders' | 'usage';
  /** What is off, in words. */
  what: string;
  stands: number;
  should_be: number;
  /** When it began, as far as can be told; null when nothing tells. */
  since_ms: number | null;
}

export type Finding = Pick<Discrepancy, 'check' | 'what' | 'stands' | 'should_be' | 'since_ms'>;

/**
 * Every check but that of usage.
 * @param archived null when the archive cannot be read at all: what depends on it is left out.
 */
export function compareLedger(facts: LiveAccount, archived: Archived | null): Finding[] {
  return [
    ...(archived ? checkArchive(facts, archived) : []),
    ...checkBalance(facts),
    ...checkLifetime(facts, archived),
    ...checkOrders(facts, archived),
  ];
}

const sumOf = (entries: readonly LedgerEntry[]): number => entries.reduce((sum, { delta }) => sum + delta, 0);

const finding = (
  check: Finding['check'],
  what: string,
  stands: number,
  should_be: number,
  since_ms: number | null,
): Finding[] => (stands === should_be ? [] : [{ check, what, stands, should_be, since_ms }]);

function checkArchive({ carried }: LiveAccount, { entries, moved, last, tears }: Archived): Finding[] {
  const since_ms = tears[0]?.since_ms ?? carried?.at_ms ?? null;
  const through = carried?.through ?? '';
  const off = [
    ...tears.flatMap((tear) => finding('archive', tear.what, tear.stands, tear.should_be, tear.since_ms)),
    ...finding(
      'archive',
      'entries in the archive against those carried over',
      entries,
      carried?.entries ?? 0,
      since_ms,
    ),
    ...finding(
      'archive',
      'sum of the archive against the balance carried over',
      moved,
      carried?.balance ?? 0,
      since_ms,
    ),
  ];
  if (off.length > 0 || last === through) return off;
  const what = `the archive ends with entry ${last || 'none'}; carried over is ${through || 'none'}`;
  return [{ check: 'archive', what, stands: msOf(last), should_be: msOf(through), since_ms }];
}

const msOf = (id: string): number => Number(id.split('-')[0]);

function checkBalance({ balance, carried, ledger }: LiveAccount): Finding[] {
  let sum = carried?.balance ?? 0;
  const broken = ledger.find((entry) => {
    sum += entry.delta;
    return entry.balance !== sum;
  });
  const total = (carried?.balance ?? 0) + sumOf(ledger);
  // An entry that does not add up says since when; otherwise it happened after the last one.
  const since_ms = broken?.at_ms ?? ledger.at(-1)?.at_ms ?? carried?.at_ms ?? null;
  const off = finding('balance', 'balance against the sum of the ledger', balance, total, since_ms);
  if (off.length > 0 || !broken) return off;
  const what = `entry ${broken.id} against the entries before it`;
  return finding('balance', what, broken.balance, sum, broken.at_ms);
}

/** A debit that was taken back is no spending, so its refund is counted with it. */
const isSpending = (entry: LedgerEntry): boolean =>
  entry.kind === 'debit' || (entry.kind === 'refund' && 'route' in entry.cause);

function checkLifetime(facts: LiveAccount, archived: Archived | null): Finding[] {
  const { balance, granted, spent, ledger, carried } = facts;
  const last_ms = ledger.at(-1)?.at_ms ?? carried?.at_ms ?? null;
  const off = finding('lifetime', 'granted − spent against the balance', granted - spent, balance, last_ms);
  if (!archived) return off;
  const debited = archived.spent - sumOf(ledger.filter(isSpending));
  return [...off, ...finding('lifetime', 'credits ever spent against the debits', spent, debited, last_ms)];
}

/** What an order moved, were all well: its credits when paid, less what could be taken back when refunded. */
function expectedOf({ state, credits, shortfall }: OrderRecord): number {
  if (state === 'paid') return credits;
  return state === 'refunded' ? shortfall : 0;
}

function checkOrders(
  { orders, ledger, paid_orders, carried }: LiveAccount,
  archived: Archived | null,
): Finding[] {
  const moved = new Map(archived?.orders);
  const since = new Map<string, number>();
  for (const { cause, delta, at_ms } of ledger) {
    if (!('order_id' in cause)) continue;
    moved.set(cause.order_id, (moved.get(cause.order_id) ?? 0) + delta);
    if (!since.has(cause.order_id)) since.set(cause.order_id, at_ms);
  }
  const known = new Set(orders.map(({ order_id }) => order_id));
  const strangers = [...moved]
    .filter(([order_id]) => !known.has(order_id))
    .flatMap(([order_id, delta]) =>
      finding(
        'orders',
        `order ${order_id}, which the account does not have`,
        delta,
        0,
        since.get(order_id) ?? null,
      ),
    );
  // Without the archive, what it may hold of earlier orders is not known.
  const from_ms = archived ? Number.NEGATIVE_INFINITY : (carried?.at_ms ?? Number.NEGATIVE_INFINITY);
  const off = orders
    .filter(({ created_at_ms }) => created_at_ms > from_ms)
    .flatMap((order) => {
      const stands = moved.get(order.order_id) ?? 0;
      const what = `order ${order.order_id} (${order.state})`;
      return finding('orders', what, stands, expectedOf(order), order.moved_at_ms);
    });
  const paid = orders.filter(({ state }) => state === 'paid').length;
  return [...off, ...strangers, ...finding('orders', 'number of paid orders', paid_orders, paid, null)];
}

/** A debit that was taken back is taken out of the day on which it was made. */
const countedAt = ({ cause, at_ms }: LedgerEntry): number =>
  'route' in cause ? (cause.of_ms ?? at_ms) : at_ms;

/** What live entries debited, by number of the UTC day. */
export function debitedByDay(ledger: readonly LedgerEntry[]): Map<number, number> {
  const debited = new Map<number, number>();
  for (const entry of ledger) {
    if (!isSpending(entry)) continue;
    const day = dayOf(countedAt(entry));
    debited.set(day, (debited.get(day) ?? 0) - entry.delta);
  }
  return debited;
}

/** @param archived null when the archive cannot be read: only the days after it are held against their debits. */
export function compareUsage(
  { used, ledger, carried }: LiveAccount,
  archived: ArchivedUsage | null,
): Finding[] {
  const debited = debitedByDay(ledger);
  for (const [day, credits] of archived?.debited ?? []) debited.set(day, (debited.get(day) ?? 0) + credits);
  const first = !archived && carried ? dayOf(carried.at_ms) + 1 : Number.NEGATIVE_INFINITY;
  const days = [...new Set([...used.keys(), ...debited.keys(), ...(archived?.used.keys() ?? [])])].sort(
    (a, b) => a - b,
  );
  return days
    .filter((day) => day >= first)
    .flatMap((day) => {
      const counted = archived?.isArchived(day) ? (archived.used.get(day) ?? 0) : used.get(day);
      // A day that is neither live nor archived has no usage to hold anything against; the reconciler says so once.
      if (counted === undefined) return [];
      const date = dateOfDay(day);
      const live = archived?.isArchived(day) ? (used.get(day) ?? counted) : counted;
      return [
        ...finding(
          'usage',
          `credits used on ${date} against its debits`,
          counted,
          debited.get(day) ?? 0,
          Date.parse(date),
        ),
        ...finding(
          'usage',
          `credits used on ${date}, live against archived`,
          live,
          counted,
          Date.parse(date),
        ),
      ];
    });
}
