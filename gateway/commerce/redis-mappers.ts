/** Maps Redis hashes and stream entries to records. */
import { fieldsToRecord } from '../../data/runtime/redis.ts';
import { monthOf } from '../../data/schema/redis-keys.ts';
import { parseIndicators } from '../api/metering/ledger-indicators.ts';
import type { Tier } from '../api/metering/metering.ts';
import { rulesFrom } from './keys/key-rules.ts';
import type {
  AccountRecord,
  AccountState,
  KeyRecord,
  LedgerEntry,
  LedgerKind,
  OrderRecord,
  OrderState,
  PaymentId,
} from './records.ts';

export type Hash = Readonly<Record<string, string>>;

const numberOr = <T>(text: string | undefined, absent: T): number | T =>
  text === undefined || text === '' ? absent : Number(text);

function tierOf(hash: Hash): Tier {
  if (hash.verified !== '1') return 'anonymous';
  return numberOr(hash.paid, 0) > 0 ? 'paid' : 'free';
}

/** Null if the account does not exist. */
export function accountFrom(account_id: string, hash: Hash): AccountRecord | null {
  if (!hash.state) return null;
  return {
    account_id,
    email: hash.email ?? '',
    name: hash.name ?? '',
    state: hash.state as AccountState,
    verified: hash.verified === '1',
    tier: tierOf(hash),
    created_at_ms: numberOr(hash.created_at_ms, 0),
    credits: {
      balance: numberOr(hash.balance, 0),
      lifetime_granted: numberOr(hash.granted, 0),
      lifetime_spent: numberOr(hash.spent, 0),
    },
  };
}

/** The keys of an account, oldest first, from its hash with fields `<key id>:<name>`. */
export function keysFrom(hash: Hash, now_ms: number): KeyRecord[] {
  const keys = Object.keys(hash)
    .filter((field) => field.endsWith(':state'))
    .map((field) => keyFrom(field.slice(0, -':state'.length), hash, now_ms));
  return keys.sort((a, b) => a.created_at_ms - b.created_at_ms || (a.key_id < b.key_id ? -1 : 1));
}

function keyFrom(key_id: string, hash: Hash, now_ms: number): KeyRecord {
  const field = (name: string): string | undefined => hash[`${key_id}:${name}`];
  const expires_at_ms = numberOr(field('expires_at_ms'), null);
  const isExpired = expires_at_ms !== null && expires_at_ms <= now_ms;
  const isActive = field('state') === 'active';
  return {
    key_id,
    environment: field('environment') ?? 'live',
    label: field('label') ?? '',
    last4: field('last4') ?? '',
    state: isActive ? (isExpired ? 'expired' : 'active') : 'revoked',
    created_at_ms: numberOr(field('created_at_ms'), 0),
    expires_at_ms,
    revoked_at_ms: numberOr(field('revoked_at_ms'), null),
    last_used_at_ms: numberOr(field('last_used_ms'), null),
    by: field('by') ?? '',
    ...rulesFrom(field),
    month_credits: creditsOfMonth(field('month'), now_ms),
    replaces: field('replaces') ?? null,
    replaced_by: field('replaced_by') ?? null,
    counted_with: field('counted_with') ?? null,
  };
}

/** Of the current month, from `2026-11=120`. The month of a key can lie ahead: see admit.lua. */
function creditsOfMonth(latest = '', now_ms: number): number {
  const [month = '', credits] = latest.split('=');
  return month >= monthOf(now_ms) ? numberOr(credits, 0) : 0;
}

/** Null if the order does not exist. */
export function orderFrom(order_id: string, account_id: string, hash: Hash): OrderRecord | null {
  if (!hash.state) return null;
  const created_at_ms = numberOr(hash.created_at_ms, 0);
  return {
    order_id,
    account_id,
    state: hash.state as OrderState,
    pack_id: hash.pack_id ?? '',
    pack_name: hash.pack_name ?? '',
    credits: numberOr(hash.credits, 0),
    price_minor: numberOr(hash.price_minor, 0),
    currency: hash.currency ?? '',
    payment: (hash.payment ?? 'invoice') as PaymentId,
    by: hash.by ?? '',
    created_at_ms,
    moved_at_ms: numberOr(hash[`${hash.state}_at_ms`], created_at_ms),
    shortfall: numberOr(hash.shortfall, 0),
  };
}

/** From a stream entry: its id, and names and values of its fields in turn. */
export function ledgerEntryFrom([id, fields]: [id: string, fields: string[]]): LedgerEntry {
  return ledgerEntryOf({ id, fields: fieldsToRecord(fields) });
}

/** From an entry's fields, live or archived. */
export function ledgerEntryOf({ id, fields: hash }: { id: string; fields: Hash }): LedgerEntry {
  return {
    id,
    at_ms: numberOr(hash.at_ms, 0),
    kind: hash.kind as LedgerKind,
    delta: numberOr(hash.delta, 0),
    balance: numberOr(hash.balance, 0),
    cause: causeFrom(hash),
    reason: hash.reason || null,
  };
}

function causeFrom(hash: Hash): LedgerEntry['cause'] {
  if (hash.order) return { order_id: hash.order };
  if (!hash.route) return { by: hash.by ?? '' };
  return {
    request_id: hash.request ?? '',
    route: hash.route,
    key_id: hash.key ?? '',
    rows: numberOr(hash.rows, 0),
    ...(hash.indicators && parseIndicators(hash.indicators)),
    ...(hash.of_ms && { of_ms: Number(hash.of_ms) }),
  };
}
