/**
 * The one file that names Redis keys.
 *
 * Everything a script decides about one account carries the hash tag `{a:<account id>}`, so that it lies on one node of
 * a Redis Cluster and one script can change it whole:
 *
 *   {a:ID}:account            hash    state, verified, paid, balance, granted, spent, created_at_ms, email, name
 *   {a:ID}:keys               hash    <key id>:state | expires_at_ms | last_used_ms | label | last4 | environment | created_at_ms
 *   {a:ID}:minute:N, :day:N   counter requests in one UTC minute or day
 *   {a:ID}:ledger             stream  every movement of the balance that is not archived yet
 *   {a:ID}:carried            hash    through, at_ms, balance, entries: what the archive took over; see archive.ts
 *   {a:ID}:usage:YYYY-MM-DD   hash    <route template>|requests, |errors, |rows, |credits
 *   {a:ID}:debits:N           hash    debit id -> first answer, of one UTC minute; kept for minutes
 *   {a:ID}:idem               hash    caller's idempotency key -> what was done
 *   {a:ID}:order:OID          hash    state, pack, credits, price_minor, currency, times
 *   {a:ID}:orders             zset    order ids by creation
 *   {a:ID}:login              hash    password (hashed), epoch (raised to end every session): how its person signs in
 *   {a:ID}:alert              hash    low_at (credits), seen, crossings, told: when a low balance is told by mail
 *   {a:ID}:export:RID         string  gzip of the JSON prepared for a privacy request; gone after days
 *
 * Outside of the tag lie immutable facts and indexes, which may be written twice and never disagree:
 *
 *   key:KID                   string  JSON: what never changes of a key
 *   email:SHA256              string  account id of a lower-cased address
 *   accounts, orders          zset    ids by creation
 *   order:OID                 string  account id of an order
 *   accounts:changed          zset    account ids by the last time that something a search shows may have changed
 *
 * What people who sign in leave, and what they did:
 *
 *   operator:SHA256           hash    email, role, password, epoch (raised to end every session), created_at_ms
 *   operators                 zset    digests of the operators' addresses by creation
 *   session:SHA256            hash    of a session's secret id: realm, subject, epoch, csrf, times, notice
 *   throttle:SCOPE:WHO        hash    failures, last_ms: how long the next try must wait
 *   {audit}:log               stream  every change: who, action, subject, before, after, request id
 *   {audit}:of:SUBJECT        stream  the same entries, of one subject
 *   {audit}:begun             hash    note -> JSON: changes that are under way, or were when their process died
 *   {audit}:carried           hash    through, entries: what the archive took over
 *   {audit}:once:WORD         string  set when the entry of that name has been written
 *   {requests}:all, :open     zset    privacy request ids by creation
 *   {requests}:r:RID          hash    account_id, kind, status, note, plan, by, times
 *   {requests}:of:ID          zset    request ids of an account by creation
 *   {requests}:now:KIND:ID    string  the request of that kind that an account has open
 *   alerts                    zset    account ids that want to be told of a low balance
 *   link:SHA256               string  JSON: what a mailed link is good for, once; by the digest of its id
 *   secret:links              string  what mailed links are signed with
 *   {jobs}:account:*                  BullMQ's own: mail to send, requests to prepare
 *   {jobs}:ingest:*, :publish:*       BullMQ's own: see jobs.ts
 *   {runs}:all                        zset    SUBJECT/RUN of all runs that are kept, by start
 *   {runs}:of:SUBJECT                 zset    run ids of a provider, or of the builds, by start
 *   {runs}:r:SUBJECT:RUN              hash    said (JSON: the run record), progress (JSON), heard_at_ms
 *   {runs}:log:SUBJECT:RUN            list    log lines (JSON), oldest first
 *   {runs}:cancel:SUBJECT:RUN         string  who wants the run to end
 *   overrides                         hash    indicator id -> JSON: what operators changed of it
 *   overrides:was                     hash    indicator id -> JSON: how it stood before the first change
 *   left-out                          string  JSON: indicators that the last build did not publish, and why
 *   archive:id                        string  id of the archive that holds what has left this Redis; see archive.ts
 *   {global}:usage:YYYY-MM-DD hash    <route template>|requests, ... of all callers; see metering/usage.ts
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
/** An e-mail address as a word of a key: lower-cased, hashed. */
export const addressDigest = (address: string): string =>
  createHash('sha256').update(address.trim().toLowerCase()).digest('hex');

export const redisKeys = {
  account: (accountId: string) => `${tag(accountId)}:account`,
  keys: (accountId: string) => `${tag(accountId)}:keys`,
  minute: (accountId: string, minute: number) => `${tag(accountId)}:minute:${minute}`,
  day: (accountId: string, day: number) => `${tag(accountId)}:day:${day}`,
  ledger: (accountId: string) => `${tag(accountId)}:ledger`,
  archivedThrough: (accountId: string) => `${tag(accountId)}:carried`,
  usage: (accountId: string, day: number) => `${tag(accountId)}:usage:${dateOfDay(day)}`,
  debits: (accountId: string, minute: number) => `${tag(accountId)}:debits:${minute}`,
  idem: (accountId: string) => `${tag(accountId)}:idem`,
  order: (accountId: string, orderId: string) => `${tag(accountId)}:order:${encodeURIComponent(orderId)}`,
  accountOrders: (accountId: string) => `${tag(accountId)}:orders`,
  login: (accountId: string) => `${tag(accountId)}:login`,
  alert: (accountId: string) => `${tag(accountId)}:alert`,
  exportFile: (accountId: string, requestId: string) =>
    `${tag(accountId)}:export:${encodeURIComponent(requestId)}`,

  key: (keyId: string) => `key:${encodeURIComponent(keyId)}`,
  email: (address: string) => `email:${addressDigest(address)}`,
  accounts: 'accounts',
  orders: 'orders',
  orderAccount: (orderId: string) => `order:${encodeURIComponent(orderId)}`,

  accountsChanged: 'accounts:changed',

  operator: (address: string) => `operator:${addressDigest(address)}`,
  operatorOf: (digest: string) => `operator:${digest}`,
  operators: 'operators',
  session: (digest: string) => `session:${digest}`,
  throttle: (scope: string, who: string) => `throttle:${scope}:${encodeURIComponent(who)}`,
  audit: '{audit}:log',
  auditOf: (subject: string) => `{audit}:of:${encodeURIComponent(subject)}`,
  auditBegun: '{audit}:begun',
  auditArchivedThrough: '{audit}:carried',
  auditOnce: (word: string) => `{audit}:once:${encodeURIComponent(word)}`,
  requests: '{requests}:all',
  openRequests: '{requests}:open',
  request: (requestId: string) => `{requests}:r:${encodeURIComponent(requestId)}`,
  accountRequests: (accountId: string) => `{requests}:of:${encodeURIComponent(accountId)}`,
  requestNow: (accountId: string, kind: string) => `{requests}:now:${kind}:${encodeURIComponent(accountId)}`,
  alerts: 'alerts',
  link: (digest: string) => `link:${digest}`,
  linkSecret: 'secret:links',
  jobs: '{jobs}',
  runs: '{runs}:all',
  runsOf: (subject: string) => `{runs}:of:${encodeURIComponent(subject)}`,
  run: (subject: string, runId: string) =>
    `{runs}:r:${encodeURIComponent(subject)}:${encodeURIComponent(runId)}`,
  runLog: (subject: string, runId: string) =>
    `{runs}:log:${encodeURIComponent(subject)}:${encodeURIComponent(runId)}`,
  runCancel: (subject: string, runId: string) =>
    `{runs}:cancel:${encodeURIComponent(subject)}:${encodeURIComponent(runId)}`,
  overrides: 'overrides',
  overridden: 'overrides:was',
  excluded: 'left-out',
  archive: 'archive:id',
  globalUsage: (day: number) => `{global}:usage:${dateOfDay(day)}`,

  addressMinute: (address: string, minute: number) => `${addressTag(address)}:minute:${minute}`,
  addressDay: (address: string, day: number) => `${addressTag(address)}:day:${day}`,
} as const;
