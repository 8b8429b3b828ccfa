/**
 * The one file that names Redis keys.
 *
 * Everything a script decides about one account carries the hash tag `{a:<account id>}`, so that it lies on one node of
 * a Redis Cluster and one script can change it whole:
 *
 *   {a:ID}:account            hash    state, verified, paid, balance, granted, spent, created_at_ms, email, name
 *   {a:ID}:keys               hash    <key id>:state | expires_at_ms | last_used_ms | label | last4 | environment | created_at_ms
 *   {a:ID}:minute:N, :day:N   counter requests in one UTC minute or day
 *   {a:ID}:ledger             stream  every movement of the balance
 *   {a:ID}:usage:YYYY-MM-DD   hash    <route template>|requests, |errors, |rows, |credits
 *   {a:ID}:debits:N           hash    debit id -> first answer, of one UTC minute; kept for minutes
 *   {a:ID}:idem               hash    caller's idempotency key -> what was done
 *   {a:ID}:order:OID          hash    state, pack, credits, price_minor, currency, times
 *   {a:ID}:orders             zset    order ids by creation
 *
 * Outside of the tag lie immutable facts and indexes, which may be written twice and never disagree:
 *
 *   key:KID                   string  JSON: what never changes of a key
 *   email:SHA256              string  account id of a lower-cased address
 *   accounts, orders          zset    ids by creation
 *   order:OID                 string  account id of an order
 *
 * Ids made by us are plain words. What a user or a proxy chose is encoded, so that no text can break out of its key.
 */
import { createHash } from 'node:crypto';

export const MINUTE_MS = 60_000;
export const DAY_MS = 86_400_000;

/** Number of the UTC minute that holds a moment. */
export const minuteOf = (ms: number): number => Math.floor(ms / MINUTE_MS);
/** Number of the UTC day that holds a moment. */
export const dayOf = (ms: number): number => Math.floor(ms / DAY_MS);
/** `2026-11-20` for the number of a UTC day. */
export const dateOfDay = (day: number): string => new Date(day * DAY_MS).toISOString().slice(0, 10);

const tag = (accountId: string): string => `{a:${encodeURIComponent(accountId)}}`;
const addressTag = (address: string): string => `{ip:${encodeURIComponent(address)}}`;

export const redisKeys = {
  account: (accountId: string) => `${tag(accountId)}:account`,
  keys: (accountId: string) => `${tag(accountId)}:keys`,
  minute: (accountId: string, minute: number) => `${tag(accountId)}:minute:${minute}`,
  day: (accountId: string, day: number) => `${tag(accountId)}:day:${day}`,
  ledger: (accountId: string) => `${tag(accountId)}:ledger`,
  usage: (accountId: string, day: number) => `${tag(accountId)}:usage:${dateOfDay(day)}`,
  debits: (accountId: string, minute: number) => `${tag(accountId)}:debits:${minute}`,
  idem: (accountId: string) => `${tag(accountId)}:idem`,
  order: (accountId: string, orderId: string) => `${tag(accountId)}:order:${encodeURIComponent(orderId)}`,
  accountOrders: (accountId: string) => `${tag(accountId)}:orders`,

  key: (keyId: string) => `key:${encodeURIComponent(keyId)}`,
  email: (address: string) =>
    `email:${createHash('sha256').update(address.trim().toLowerCase()).digest('hex')}`,
  accounts: 'accounts',
  orders: 'orders',
  orderAccount: (orderId: string) => `order:${encodeURIComponent(orderId)}`,

  addressMinute: (address: string, minute: number) => `${addressTag(address)}:minute:${minute}`,
  addressDay: (address: string, day: number) => `${addressTag(address)}:day:${day}`,
} as const;
