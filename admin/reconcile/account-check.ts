/**
 * Holds one account against itself, in every way that money can go astray:
 *
 * - `balance`: the wallet's balance against the sum of its ledger, and each entry against the balance it leaves.
 * - `lifetime`: what was ever granted and spent against the ledger, and granted − spent against the balance.
 * - `orders`: what orders granted and took back against their ledger entries, and how many are paid.
 * - `usage`: credits counted as used on each day against that day's debits.
 *
 * Pure: facts in, disagreements out. Where the facts come from is `account-facts.ts`.
 */

import { dateOfDay, dayOf } from '../../data/schema/redis-keys.ts';
import type { LedgerEntry, OrderRecord } from '../../gateway/account/account.ts';

export interface AccountFacts {
  account_id: string;
  email: string;
  balance: number;
  granted: number;
  spent: number;
  /** How many orders the account believes are paid. */
  paid_orders: number;
  /** Oldest first, archive included; a `carry_forward` entry stands for what came before it. */
  ledger: readonly LedgerEntry[];
  orders: readonly OrderRecord[];
  /** Credits counted as used, by UTC day, `2026-11-21`; days that are no longer kept are absent. */
  used: ReadonlyMap<string, number>;
}

export interface Disagreement {
  account_id: string;
  email: string;
  check: 'balance' | 'lifetime' | 'orders' | 'usage';
  /** What is off, in words. */
  what: string;
  stands: number;
  should_be: number;
  /** When it began, as far as can be told; null when nothing tells. */
  since_ms: number | null;
}

type Finding = Pick<Disagreement, 'check' | 'what' | 'stands' | 'should_be' | 'since_ms'>;

export function checkAccount(facts: AccountFacts): Disagreement[] {
  const { account_id, email } = facts;
  const findings = [
    ...checkBalance(facts),
    ...checkLifetime(facts),
    ...checkOrders(facts),
    ...checkUsage(facts),
  ];
  return findings.map((finding) => ({ account_id, email, ...finding }));
}

const sumOf = (entries: readonly LedgerEntry[]): number => entries.reduce((sum, { delta }) => sum + delta, 0);

const finding = (
  check: Finding['check'],
  what: string,
  stands: number,
  should_be: number,
  since_ms: number | null,
): Finding[] => (stands === should_be ? [] : [{ check, what, stands, should_be, since_ms }]);

function checkBalance({ balance, ledger }: AccountFacts): Finding[] {
  let sum = 0;
  const broken = ledger.find((entry) => {
    sum += entry.delta;
    return entry.balance !== sum;
  });
  const total = sumOf(ledger);
  // An entry that does not add up says since when; otherwise it happened after the last one.
  const since_ms = broken?.at_ms ?? ledger.at(-1)?.at_ms ?? null;
  const off = finding('balance', 'balance against the sum of the ledger', balance, total, since_ms);
  if (off.length > 0 || !broken) return off;
  const what = `entry ${broken.id} against the entries before it`;
  return finding('balance', what, broken.balance, sum, broken.at_ms);
}

/** A debit that was taken back is no spending, so its refund is counted with it. */
const isSpending = (entry: LedgerEntry): boolean =>
  entry.kind === 'debit' || (entry.kind === 'refund' && 'route' in entry.cause);

function checkLifetime({ balance, granted, spent, ledger }: AccountFacts): Finding[] {
  const last_ms = ledger.at(-1)?.at_ms ?? null;
  const off = finding('lifetime', 'granted − spent against the balance', granted - spent, balance, last_ms);
  // What an archive carried forward is no longer told apart.
  if (ledger.some(({ kind }) => kind === 'carry_forward')) return off;
  const debited = -sumOf(ledger.filter(isSpending));
  return [...off, ...finding('lifetime', 'credits ever spent against the debits', spent, debited, last_ms)];
}

/** What an order moved, were all well: its credits when paid, less what could be taken back when refunded. */
function expectedOf({ state, credits, shortfall }: OrderRecord): number {
  if (state === 'paid') return credits;
  return state === 'refunded' ? shortfall : 0;
}

function checkOrders({ orders, ledger, paid_orders }: AccountFacts): Finding[] {
  const carried_ms =
    ledger.findLast(({ kind }) => kind === 'carry_forward')?.at_ms ?? Number.NEGATIVE_INFINITY;
  const moved = new Map<string, number>();
  for (const { cause, delta } of ledger) {
    if ('order_id' in cause) moved.set(cause.order_id, (moved.get(cause.order_id) ?? 0) + delta);
  }
  const known = new Set(orders.map(({ order_id }) => order_id));
  const strangers = ledger.flatMap(({ cause, delta, at_ms }) =>
    'order_id' in cause && !known.has(cause.order_id)
      ? finding('orders', `order ${cause.order_id}, which the account does not have`, delta, 0, at_ms)
      : [],
  );
  const off = orders
    .filter(({ created_at_ms }) => created_at_ms > carried_ms)
    .flatMap((order) => {
      const stands = moved.get(order.order_id) ?? 0;
      const what = `order ${order.order_id} (${order.state})`;
      return finding('orders', what, stands, expectedOf(order), order.moved_at_ms);
    });
  const paid = orders.filter(({ state }) => state === 'paid').length;
  return [...off, ...strangers, ...finding('orders', 'number of paid orders', paid_orders, paid, null)];
}

function checkUsage({ used, ledger }: AccountFacts): Finding[] {
  const debited = new Map<string, number>();
  for (const entry of ledger) {
    if (!isSpending(entry)) continue;
    const day = dateOfDay(dayOf(entry.at_ms));
    debited.set(day, (debited.get(day) ?? 0) - entry.delta);
  }
  // What was archived is summed up in one entry; the days before it have no debits to hold usage against.
  const carried = ledger.findLast(({ kind }) => kind === 'carry_forward');
  const first = carried ? dateOfDay(dayOf(carried.at_ms) + 1) : '';
  return [...used]
    .filter(([day]) => day >= first)
    .flatMap(([day, credits]) =>
      finding(
        'usage',
        `credits used on ${day} against its debits`,
        credits,
        debited.get(day) ?? 0,
        Date.parse(day),
      ),
    );
}
