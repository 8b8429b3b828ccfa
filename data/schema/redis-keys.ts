/**
 * Names of all Redis keys.
 *
 * Keys of one account carry the hash tag `{a:<account id>}`: they lie on one node of a cluster, and one script can change
 * them atomically:
 *
 *   {a:ID}:account            hash    state, verified, paid, balance, granted, spent, created_at_ms, email, name
 *   {a:ID}:keys               hash    <key id>:state | expires_at_ms | last_used_ms | label | last4 | environment | created_at_ms | by
 *                                     (who made it) | revoked_at_ms | limit (credits a month) | month (the latest in UTC, and the
 *                                     credits charged in it: 2026-11=120) | ranges (see address-ranges.ts) | origins (separated by
 *                                     spaces) | replaces, replaced_by (key ids) | counted_with (id of the key for whose limit it
 *                                     counts) | bound ('1': it has rules, an end or a successor; see admit.lua)
 *   {a:ID}:connections        hash    <connection id>:state (pending: its code waits, active, ended) | client_id | client_name | host |
 *                                     by (who allowed it) | created_at_ms | ended_at_ms | ended_because | code, family, refresh,
 *                                     before (digests) | code_until_ms | challenge | redirect_uri | refreshed_at_ms | answer
 *                                     (encrypted); and as of a key: expires_at_ms | last_used_ms | limit | month | bound
 *   {a:ID}:minute:N, :day:N   counter requests in one UTC minute or day
 *   {a:ID}:ledger             stream  changes of the balance that are not archived yet
 *   {a:ID}:carried            hash    through, at_ms, balance, entries: how far the ledger is archived; see archive.ts
 *   {a:ID}:usage:YYYY-MM-DD   hash    <route template>|<key id>|requests, |errors, |rows, |credits
 *   {a:ID}:debits:N           hash    debit id -> first answer, of one UTC minute; kept for minutes
 *   {a:ID}:repeatable:KEY     hash    fingerprint, edition, debit, repeats: of a call with that Idempotency-Key; kept for minutes
 *   {a:ID}:lease:SHA256       hash    left (bytes), debit, uses: what was paid of a file with that content; kept for a day
 *   {a:ID}:pin:FILE           string  edition from which that file is answered while its lease lasts
 *   {a:ID}:feeds              hash    <feed id>:key | digest (SHA-256 of the secret) | last4 | name | query | format | cap (credits a
 *                                     month) | expires_at_ms | created_at_ms | by | revoked_at_ms | fetches | fetched_at_ms | edition
 *                                     (of the last answer) | month (as of a key) | day (2026-11-27=bytes) | paid (JSON: the contents
 *                                     paid last); see feeds.ts
 *   {a:ID}:idem               hash    caller's idempotency key -> outcome
 *   {a:ID}:order:OID          hash    state, pack, credits, price_minor, currency, by, times; session:ID, payment:ID and refund:ID
 *                                     as the payment provider reported them, settled (their state is the order's)
 *   {a:ID}:orders             zset    order ids by creation
 *   {a:ID}:members            hash    <person id>:role | added_at_ms | by
 *   {a:ID}:invitations        hash    <invitation id>  JSON: email, role, by, created_at_ms, until_ms
 *   {a:ID}:billing            hash    name, address (lines), country, country_name, vat_id: of the next invoices
 *   {a:ID}:alert              hash    low_at (credits), seen (id of the last ledger entry read): the low-balance alert
 *   {a:ID}:webhooks           hash    <endpoint id>:url | types | secret | old_secret | old_secret_until_ms | created_at_ms | by |
 *                                     failing_since_ms | disabled_because | disabled_at_ms
 *   {a:ID}:outbox             hash    <type>:<id> -> JSON: an event that is not handed over yet; see notifications/outbox.ts
 *   {a:ID}:deliveries         zset    <endpoint id>:<message id> by the time of the event: 200 of an endpoint, of 30 days; both
 *                                     expire 30 days after the last
 *   {a:ID}:delivery-log       hash    that name -> JSON: type, at_ms, body; name:state, name:attempts (JSON)
 *   {a:ID}:spending           hash    above (credits), per_ms, seen, told, <window>:spent: alert about spending; see count-spending.lua
 *   {a:ID}:change-alerts      hash    kind of change of an indicator -> off: causes no alert
 *   {a:ID}:used               zset    indicator ids by the number of the last UTC day of their use; kept for 30 days
 *
 * Keys of one person carry the hash tag `{p:<person id>}`. Person `per_X` signed up for account `acc_X`, or never had one:
 *
 *   {p:PID}:person            hash    email, name, password (hashed), epoch (raised to end every session), created_at_ms; or
 *                                     erased_at_ms alone
 *   {p:PID}:second-factor     hash    secret, since_ms, last_step, last_use, recovery:SHA256
 *   {p:PID}:outbox            hash    as {a:ID}:outbox, of events about the person
 *   {p:PID}:accounts          set     ids of the accounts of which the person may be a member; their members decide
 *
 * Without that tag: immutable facts and indexes, whose writes are idempotent:
 *
 *   key:KID                   string  JSON: immutable facts of a key, or of an access token, with which it expires
 *   connection:CID            string  account id of a connection; expires with it
 *   client:ID                 string  JSON: a client that registered itself; expires unless it is used
 *   authorization:ID          string  JSON: what a client asked of a person, until the person answers; expires after minutes
 *   feed:SHA256               string  JSON: account and id of a feed link, by the digest of its secret
 *   email:SHA256              string  id of the person with that lower-cased address, or of the account that the person signed up for
 *   accounts, orders          zset    ids by creation
 *   order:OID                 string  account id of an order
 *   accounts:changed          zset    account ids by the last change of anything that a search shows
 *
 * Sign-in, audit, privacy requests, jobs and runs:
 *
 *   operator:SHA256           hash    email, password (absent while invited), epoch (renewed to end every session), created_at_ms
 *   operators                 zset    digests of the operators' addresses by creation
 *   operators:roles           hash    digest of an operator's address -> viewer, operator or owner
 *   session:SHA256            hash    of a session's secret id: realm, subject, epoch, csrf, times, notice, account_id, agent
 *   sessions:REALM:SHA256     zset    digests of a user's sessions by their begin
 *   sign-in:REALM:SHA256      string  JSON: a sign-in that waits for the second factor, by the digest of its secret id
 *   second-factor:SHA256      hash    as {p:PID}:second-factor, of an operator
 *   form:MAC                  string  JSON: a form that was sent, by its idempotency token: fingerprint, state, encrypted answer
 *   form:MAC:page             string  encrypted page that answered it; expires after minutes
 *   throttle:SCOPE:WHO        hash    failures, last_ms, since_ms (of the decay): delay of the next attempt
 *   {audit}:log               stream  every change: by, action, subject, before, after, request id
 *   {audit}:of:SUBJECT        stream  the same entries, of one subject
 *   {audit}:begun             hash    note -> JSON: changes in progress, or interrupted by a crash
 *   {audit}:carried           hash    through, entries: how far the log is archived
 *   {audit}:once:WORD         string  set when the entry of that name is written
 *   {requests}:all, :open     zset    privacy request ids by creation
 *   {requests}:outbox         hash    as {a:ID}:outbox, of exports that are ready
 *   {requests}:r:RID          hash    account_id, kind, status, note, plan, by, times; of an export: progress (JSON); of an
 *                                     erasure: found and removed (JSON)
 *   {requests}:of:ID          zset    request ids of an account by creation
 *   {requests}:now:KIND:ID    string  the open request of that kind of an account
 *   alerts                    zset    account ids with a low-balance alert
 *   alerts:spending           zset    account ids with an alert about spending
 *   alerts:edition            string  when the newest edition was published that change alerts have covered, in Unix milliseconds
 *   {alerts}:conditions       hash    condition -> JSON: what operators were alerted to; see admin/condition-watch.ts
 *   {alerts}:outbox           hash    as {a:ID}:outbox, of alerts to operators
 *   {alerts}:watcher          string  id of the process that looks for conditions; expires
 *   {alerts}:turns, :noted    string  number of its last look, and of the last one that was noted
 *   outbox                    zset    owners of outboxes by when an event may last have been written for them
 *   webhooks                  zset    account ids that have, or had, webhooks
 *   link:SHA256               string  JSON: purpose and encrypted facts of a single-use mailed link; by the digest of its id
 *   secret:links              string  signing key of mailed links
 *   secret:browsers           string  signing key of the cookies of known browsers
 *   {jobs}:account:*                  BullMQ's own: mail to send, requests to carry out, jobs given up
 *   {jobs}:webhooks:*                 BullMQ's own: deliveries of webhooks
 *   {jobs}:ingest:*, :publish:*       BullMQ's own: see jobs.ts
 *   {runs}:all                        zset    SUBJECT/RUN of all runs that are kept, by start
 *   {runs}:of:SUBJECT                 zset    run ids of a provider, or of the builds, by start
 *   {runs}:r:SUBJECT:RUN              hash    said (JSON: the run record), progress (JSON), heard_at_ms
 *   {runs}:log:SUBJECT:RUN            list    log lines (JSON), oldest first
 *   {runs}:cancel:SUBJECT:RUN         string  who cancelled the run
 *   overrides                         hash    indicator id -> JSON: the operators' override and the original; see operator-changes.ts
 *   decisions:providers               hash    provider id -> JSON: switched on or off by an operator; see operator-changes.ts
 *   decisions:licences                hash    indicator id -> JSON: published under a licence, or withheld, by an operator
 *   decisions:findings                hash    finding id -> JSON: decided, or snoozed until a day, by an operator
 *   {invoices}:last                   hash    year -> last number of an invoice or credit note
 *   {invoices}:y:YYYY                 hash    number -> JSON: what was issued under it; see document.ts
 *   {invoices}:of-orders              hash    order id -> numbers of its documents
 *   {invoices}:due                    zset    <order id> <mark> of changes that are in progress, or interrupted by a crash
 *   left-out                          string  JSON: indicators that the last build did not publish, and why
 *   quality                           string  JSON: the quality report of the last build; see quality.ts
 *   backup                            string  when the last backup was finished, in Unix milliseconds
 *   store:version                     string  version of all that is kept here; see store-version.ts
 *   archive:id                        string  id of the archive of this Redis; see archive.ts
 *   {grants}:groups                  zset    <kind>:<digest> of accounts that share a mailbox, range or domain, by the last sign-up
 *   {grants}:seen:KIND:DIGEST         zset    account ids of such a group by sign-up; see free-grants.ts
 *   {grants}:granted:KIND:DIGEST      zset    those of them that got the free credits, for 30 days
 *   secret:sign-ups                   string  key of these digests
 *   {status}:since                    string  number of the first UTC minute in which a gateway was ready
 *   {status}:minutes:YYYY-MM-DD       string  bitmap of the minutes of a UTC day in which one was; see availability.ts
 *   {global}:usage:YYYY-MM-DD hash    <route template>|requests, ... of all callers; see metering/usage.ts
 *
 * Generated ids are used as they are. Values from users or proxies are encoded, so that they cannot break out of a key.
 */
import { createHash } from 'node:crypto';

export const MINUTE_MS = 60_000;
export const HOUR_MS = 3_600_000;
export const DAY_MS = 86_400_000;

/** Number of the UTC minute of a moment. */
export const minuteOf = (ms: number): number => Math.floor(ms / MINUTE_MS);
/** Number of the UTC day of a moment. */
export const dayOf = (ms: number): number => Math.floor(ms / DAY_MS);
/** `2026-11` for the UTC month of a moment. */
export const monthOf = (ms: number): string => new Date(ms).toISOString().slice(0, 7);
/** `2026-11-20` for the number of a UTC day. */
export const dateOfDay = (day: number): string => new Date(day * DAY_MS).toISOString().slice(0, 10);

const tag = (accountId: string): string => `{a:${encodeURIComponent(accountId)}}`;
const personTag = (personId: string): string => `{p:${encodeURIComponent(personId)}}`;
const addressTag = (address: string): string => `{ip:${encodeURIComponent(address)}}`;
/** SHA-256 of an e-mail address in lower case, for use in keys. */
export const addressDigest = (address: string): string =>
  createHash('sha256').update(address.trim().toLowerCase()).digest('hex');

export const redisKeys = {
  account: (accountId: string) => `${tag(accountId)}:account`,
  keys: (accountId: string) => `${tag(accountId)}:keys`,
  connections: (accountId: string) => `${tag(accountId)}:connections`,
  /** Where state, rules and month of a key are, or of a connection. */
  rulesOf: (accountId: string, keyId: string): string =>
    keyId.startsWith('con_') ? redisKeys.connections(accountId) : redisKeys.keys(accountId),
  minute: (accountId: string, minute: number) => `${tag(accountId)}:minute:${minute}`,
  day: (accountId: string, day: number) => `${tag(accountId)}:day:${day}`,
  ledger: (accountId: string) => `${tag(accountId)}:ledger`,
  archivedThrough: (accountId: string) => `${tag(accountId)}:carried`,
  usage: (accountId: string, day: number) => `${tag(accountId)}:usage:${dateOfDay(day)}`,
  debits: (accountId: string, minute: number) => `${tag(accountId)}:debits:${minute}`,
  repeatable: (accountId: string, key: string) => `${tag(accountId)}:repeatable:${encodeURIComponent(key)}`,
  lease: (accountId: string, sha256: string) => `${tag(accountId)}:lease:${sha256}`,
  pin: (accountId: string, file: string) => `${tag(accountId)}:pin:${encodeURIComponent(file)}`,
  feeds: (accountId: string) => `${tag(accountId)}:feeds`,
  idem: (accountId: string) => `${tag(accountId)}:idem`,
  order: (accountId: string, orderId: string) => `${tag(accountId)}:order:${encodeURIComponent(orderId)}`,
  accountOrders: (accountId: string) => `${tag(accountId)}:orders`,
  members: (accountId: string) => `${tag(accountId)}:members`,
  invitations: (accountId: string) => `${tag(accountId)}:invitations`,
  billing: (accountId: string) => `${tag(accountId)}:billing`,
  alert: (accountId: string) => `${tag(accountId)}:alert`,
  webhooks: (accountId: string) => `${tag(accountId)}:webhooks`,
  webhookDeliveries: (accountId: string) => `${tag(accountId)}:deliveries`,
  webhookLog: (accountId: string) => `${tag(accountId)}:delivery-log`,
  spending: (accountId: string) => `${tag(accountId)}:spending`,
  changeAlerts: (accountId: string) => `${tag(accountId)}:change-alerts`,
  usedIndicators: (accountId: string) => `${tag(accountId)}:used`,
  accountOutbox: (accountId: string) => `${tag(accountId)}:outbox`,

  person: (personId: string) => `${personTag(personId)}:person`,
  secondFactor: (personId: string) => `${personTag(personId)}:second-factor`,
  personOutbox: (personId: string) => `${personTag(personId)}:outbox`,
  personAccounts: (personId: string) => `${personTag(personId)}:accounts`,

  connection: (connectionId: string) => `connection:${encodeURIComponent(connectionId)}`,
  client: (clientId: string) => `client:${encodeURIComponent(clientId)}`,
  authorization: (requestId: string) => `authorization:${encodeURIComponent(requestId)}`,
  key: (keyId: string) => `key:${encodeURIComponent(keyId)}`,
  feed: (digest: string) => `feed:${digest}`,
  email: (address: string) => `email:${addressDigest(address)}`,
  accounts: 'accounts',
  orders: 'orders',
  orderAccount: (orderId: string) => `order:${encodeURIComponent(orderId)}`,

  accountsChanged: 'accounts:changed',

  operator: (address: string) => `operator:${addressDigest(address)}`,
  operatorOf: (digest: string) => `operator:${digest}`,
  operators: 'operators',
  operatorRoles: 'operators:roles',
  session: (digest: string) => `session:${digest}`,
  pendingSignIn: (realm: string, digest: string) => `sign-in:${realm}:${digest}`,
  operatorSecondFactor: (address: string) => `second-factor:${addressDigest(address)}`,
  sessionsOf: (realm: string, digest: string) => `sessions:${realm}:${digest}`,
  form: (mac: string) => `form:${mac}`,
  formPage: (mac: string) => `form:${mac}:page`,
  throttle: (scope: string, who: string) => `throttle:${scope}:${encodeURIComponent(who)}`,
  audit: '{audit}:log',
  auditOf: (subject: string) => `{audit}:of:${encodeURIComponent(subject)}`,
  auditBegun: '{audit}:begun',
  auditArchivedThrough: '{audit}:carried',
  auditOnce: (word: string) => `{audit}:once:${encodeURIComponent(word)}`,
  requests: '{requests}:all',
  openRequests: '{requests}:open',
  requestOutbox: '{requests}:outbox',
  request: (requestId: string) => `{requests}:r:${encodeURIComponent(requestId)}`,
  accountRequests: (accountId: string) => `{requests}:of:${encodeURIComponent(accountId)}`,
  requestNow: (accountId: string, kind: string) => `{requests}:now:${kind}:${encodeURIComponent(accountId)}`,
  alerts: 'alerts',
  spendingAlerts: 'alerts:spending',
  toldEdition: 'alerts:edition',
  alertConditions: '{alerts}:conditions',
  operatorOutbox: '{alerts}:outbox',
  alertWatcher: '{alerts}:watcher',
  alertTurns: '{alerts}:turns',
  alertNoted: '{alerts}:noted',
  outbox: 'outbox',
  link: (digest: string) => `link:${digest}`,
  linkSecret: 'secret:links',
  browserSecret: 'secret:browsers',
  jobs: '{jobs}',
  runs: '{runs}:all',
  runsOf: (subject: string) => `{runs}:of:${encodeURIComponent(subject)}`,
  run: (subject: string, runId: string) =>
    `{runs}:r:${encodeURIComponent(subject)}:${encodeURIComponent(runId)}`,
  runLog: (subject: string, runId: string) =>
    `{runs}:log:${encodeURIComponent(subject)}:${encodeURIComponent(runId)}`,
  runCancel: (subject: string, runId: string) =>
    `{runs}:cancel:${encodeURIComponent(subject)}:${encodeURIComponent(runId)}`,
  invoicesLast: '{invoices}:last',
  invoices: (year: string) => `{invoices}:y:${year}`,
  invoicesOfOrders: '{invoices}:of-orders',
  invoicesDue: '{invoices}:due',
  overrides: 'overrides',
  providerDecisions: 'decisions:providers',
  licenceDecisions: 'decisions:licences',
  findingDecisions: 'decisions:findings',
  excluded: 'left-out',
  quality: 'quality',
  backedUp: 'backup',
  storeVersion: 'store:version',
  archive: 'archive:id',
  signUpGroups: '{grants}:groups',
  signUps: (kind: string, digest: string) => `{grants}:seen:${kind}:${digest}`,
  grants: (kind: string, digest: string) => `{grants}:granted:${kind}:${digest}`,
  signUpSecret: 'secret:sign-ups',
  availableSince: '{status}:since',
  availableMinutes: (day: number) => `{status}:minutes:${dateOfDay(day)}`,
  globalUsage: (day: number) => `{global}:usage:${dateOfDay(day)}`,

  addressMinute: (address: string, minute: number) => `${addressTag(address)}:minute:${minute}`,
  addressDay: (address: string, day: number) => `${addressTag(address)}:day:${day}`,
  addressDownloads: (address: string, hour: number) => `${addressTag(address)}:downloads:${hour}`,
} as const;
