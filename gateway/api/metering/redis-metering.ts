/**
 * `Metering` on Redis or Valkey. One script decides key, rate windows, balance and debit.
 *
 * - Every debit has an id made by this gateway. The script remembers its result for minutes, so the retry after a lost
 *   reply does not charge again.
 * - When the retry fails too, the client gets 503 and the debit is reversed as soon as Redis answers (see
 *   `debit-reversals.ts`).
 * - Only immutable properties of a key are cached, so a revocation or suspension takes effect with the next request. The
 *   refusals of a second are remembered (see `keys.ts`).
 * - While Redis is unreachable, keyed requests fail at once and anonymous ones are admitted uncounted. Both recover
 *   without a restart.
 */
import { randomBytes } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import type { RedisClient } from '../../../data/runtime/redis.ts';
import { outcomeOf, readScript, type Script, ScriptRunner } from '../../../data/runtime/redis-scripts.ts';
import type { Settings } from '../../../data/runtime/settings.ts';
import { AddressMeter, admitDownload, COUNT_TIMEOUT_MS } from './address-meter.ts';
import {
  type Admission,
  type AnonymousVerdict,
  type ApiKey,
  type CallSource,
  type Debit,
  type KeyStanding,
  MeteringUnavailable,
  type UsageReport,
  type Verdict,
} from './admission.ts';
import {
  AdmitArguments,
  type AdmitFacts,
  comparableSource,
  decodeVerdict,
  formatIndicators,
  isSourceNeeded,
  type LimitsByTier,
  spendingRoute,
} from './admit-script.ts';
import { DebitReversals } from './debit-reversals.ts';
import { FeedStore, type LiveFeed } from './feeds.ts';
import { KeyResolver, KeyStandings } from './keys.ts';
import { redisFault } from './redis-health.ts';
import { ANONYMOUS, FREE_CALL, readUsage, UsageTotals, UsedIndicators } from './usage.ts';

const ADMIT = readScript(import.meta.url, 'lua/admit.lua', 7);
/** The same script for a call with an Idempotency-Key, whose record is a key. */
const ADMIT_REPEATABLE = { ...ADMIT, keys: 8 };
/** The same script for a fetch of a feed link. */
const ADMIT_FEED = { ...ADMIT, keys: 9 };
/** The same script for a file, whose lease and pin are keys. */
const ADMIT_FILE = { ...ADMIT, keys: 10 };
const CACHED_ACCOUNTS = 50_000;
const CACHED_KEYS = 50_000;

type Callers = 'ANONYMOUS' | 'PAGES' | 'FREE' | 'PAID';
export type TierLimits = Pick<Settings, `${Callers}_PER_${'MINUTE' | 'DAY'}`>;

export interface MeteringDependencies {
  redis: RedisClient;
  settings: TierLimits;
  /** Unix milliseconds. */
  now: () => number;
  log: Logger;
  /** Makes ids that are unique over all gateways. */
  debitId?: () => string;
  /** An anonymous request that Redis has not counted after this time is admitted uncounted. */
  timeout_ms?: number;
}

function scriptFor({ idempotency, file, feed }: Admission): Script {
  if (feed !== undefined) return ADMIT_FEED;
  if (file !== undefined) return ADMIT_FILE;
  return idempotency === undefined ? ADMIT : ADMIT_REPEATABLE;
}

function wholeCredits(price: number): number {
  if (Number.isSafeInteger(price) && price >= 0) return price;
  throw new RangeError(`a price is a whole number of credits, not ${price}`);
}

/** A random prefix for the process, then a counter. */
function debitIds(): () => string {
  const prefix = randomBytes(9).toString('base64url');
  let counter = 0;
  return () => `${prefix}${(counter++).toString(36)}`;
}

export class RedisMetering {
  readonly feeds: FeedStore;
  readonly #redis: RedisClient;
  readonly #now: () => number;
  readonly #log: Logger;
  readonly #debitId: () => string;
  readonly #runner: ScriptRunner;
  readonly #timeout_ms: number;
  readonly #resolver: KeyResolver;
  readonly #standings = new KeyStandings();
  #probe: Promise<string | null> | null = null;
  readonly #addresses: AddressMeter;
  readonly #visitors: AddressMeter;
  readonly #reversals: DebitReversals;
  readonly #totals: UsageTotals;
  readonly #used: UsedIndicators;
  readonly #limits: LimitsByTier;
  readonly #arguments: AdmitArguments;
  /** Ids of keys that are bound to address ranges or origins, as far as this process knows: their calls say where they come from. */
  readonly #bound = new LRUCache<string, true>({ max: CACHED_KEYS });
  /** When the used-up window of an account ends, in Unix milliseconds. */
  readonly #overUntil = new LRUCache<string, number>({ max: CACHED_ACCOUNTS });

  constructor(dependencies: MeteringDependencies) {
    const { redis, settings, now, log, debitId = debitIds(), timeout_ms = COUNT_TIMEOUT_MS } = dependencies;
    this.#redis = redis;
    this.#now = now;
    this.#log = log;
    this.#debitId = debitId;
    this.#runner = new ScriptRunner(redis);
    this.#timeout_ms = timeout_ms;
    this.#resolver = new KeyResolver(redis, now);
    this.feeds = new FeedStore({ redis, now });
    const counted = { redis, runner: this.#runner, now, timeout_ms };
    const limitsOf = (callers: Callers) => ({
      per_minute: settings[`${callers}_PER_MINUTE`],
      per_day: settings[`${callers}_PER_DAY`],
    });
    this.#limits = { anonymous: limitsOf('ANONYMOUS'), free: limitsOf('FREE'), paid: limitsOf('PAID') };
    this.#addresses = new AddressMeter({ ...counted, ...this.#limits.anonymous });
    this.#visitors = new AddressMeter({ ...counted, prefix: 'pages ', ...limitsOf('PAGES') });
    this.#reversals = new DebitReversals({ redis, runner: this.#runner, now, log });
    this.#totals = new UsageTotals(redis);
    this.#used = new UsedIndicators(this.#runner);
    this.#arguments = new AdmitArguments(this.#limits);
  }

  /**
   * The key in an Authorization header; null unless it is well-formed, exists and has the right secret. `admit` decides
   * whether it is active. Known keys are cached. @throws {MeteringUnavailable}
   */
  resolveKey(authorization: string): Promise<ApiKey | null> {
    return this.#resolver.resolve(authorization);
  }

  /** The feed link with this secret and its key, by the rules of `FeedStore.find`. @throws {MeteringUnavailable} */
  async resolveFeed(secret: string): Promise<{ link: LiveFeed; key: ApiKey } | null> {
    const link = await this.feeds.find(secret);
    const key = link && (await this.#resolver.byId(link.key_id));
    return link && key && { link, key };
  }

  /**
   * What this gateway knows of a key without asking Redis. A `refused` key gets 401 at once, and so does one of a `suspended`
   * account. For an `unconfirmed` one, or one whose rate window is used up, callers ask `admit` with `peek` before any work.
   */
  standingOf(key: ApiKey, source: CallSource): KeyStanding {
    const now_ms = this.#now();
    const standing = this.#standings.of(key, this.#userOf(key, source), now_ms);
    const isOverLimit = now_ms < (this.#overUntil.get(key.account_id) ?? 0);
    return standing === 'confirmed' && isOverLimit ? 'unconfirmed' : standing;
  }

  /** Admits, charges and counts a request, or rejects it, in one round trip. @throws {MeteringUnavailable} */
  async admit(admission: Admission): Promise<Verdict> {
    const now_ms = this.#now();
    const { key, source } = admission;
    if (key.expires_at_ms !== null && now_ms >= key.expires_at_ms) {
      const expired: Verdict = { kind: 'invalid_key', isSuspended: false };
      this.#standings.note(this.#userOf(key, source), expired, now_ms);
      return expired;
    }
    const facts = this.#factsOf(admission, now_ms);
    let reply = await this.#send(admission, facts);
    if (isSourceNeeded(reply)) {
      this.#bound.set(key.key_id, true);
      reply = await this.#send(admission, facts);
    }
    const isPeek = admission.peek === true;
    const verdict = decodeVerdict(reply, { limits: this.#limits, now_ms, debit: facts.debit, isPeek });
    this.#standings.note(this.#userOf(key, source), verdict, now_ms);
    this.#noteOverLimit(key.account_id, verdict);
    this.#count(admission, verdict, now_ms);
    return verdict;
  }

  #factsOf(admission: Admission, now_ms: number): AdmitFacts {
    const { key, request_id, status, idempotency, file, feed } = admission;
    const { account_id, key_id } = key;
    const price = status >= 400 ? 0 : wholeCredits(admission.price);
    const debit_id = this.#debitId();
    const indicators = price === 0 ? '' : formatIndicators(admission.indicators);
    const of = { account_id, key_id, route: spendingRoute(admission), request_id, indicators };
    const repeated = {
      idempotency_key: idempotency?.key,
      leased: file?.lease?.object,
      feed_id: feed?.feed_id,
    };
    const isCharged = price > 0 && admission.peek !== true;
    const debit: Debit | null = !isCharged ? null : { debit_id, price, at_ms: now_ms, ...of, ...repeated };
    return { now_ms, debit_id, price, debit, indicators };
  }

  #send(admission: Admission, facts: AdmitFacts): Promise<unknown> {
    const source = this.#bound.get(admission.key.key_id) ? comparableSource(admission.source) : null;
    const values = this.#arguments.of(admission, facts, source);
    const script = scriptFor(admission);
    const { debit } = facts;
    return this.#runner.runIdempotent(script, values, debit !== null).catch((cause: unknown) => {
      if (debit !== null && outcomeOf(cause) === 'unknown') this.#reversals.add(debit);
      throw this.#unavailable(cause);
    });
  }

  /** Who uses a key: of one that is bound, each place is remembered apart, so that calls from elsewhere hinder no others. */
  #userOf({ key_id }: ApiKey, source: CallSource): string {
    if (!this.#bound.get(key_id)) return key_id;
    const { address, origin } = comparableSource(source);
    return `${key_id} ${address} ${origin}`;
  }

  /**
   * Refunds a debit whose answer could not be produced. Writes one `refund` entry to the ledger, however often it is
   * called. Retries in the background while Redis is unreachable. Never rejects.
   */
  refund(debit: Debit): Promise<void> {
    return this.#reversals.reverse(debit);
  }

  /** Anonymous requests that this process has admitted uncounted. */
  get uncounted(): number {
    return this.#addresses.uncounted + this.#visitors.uncounted;
  }

  /** Counts an anonymous request of an address (IPv6: of its /64). Admits it uncounted when Redis is unavailable. */
  admitAddress(address: string): AnonymousVerdict | Promise<AnonymousVerdict> {
    const now_ms = this.#now();
    this.#totals.count(ANONYMOUS, now_ms, FREE_CALL);
    return this.#addresses.admit(address, now_ms);
  }

  /** The same for a page of the site, in windows of their own. */
  admitVisitor(address: string): AnonymousVerdict | Promise<AnonymousVerdict> {
    return this.#visitors.admit(address, this.#now());
  }

  /** A file that an address takes without a key, within its own hourly limit. @param file digest of what is asked for */
  admitDownload(address: string, file: string): Promise<AnonymousVerdict> {
    const dependencies = { redis: this.#redis, runner: this.#runner, timeout_ms: this.#timeout_ms };
    return admitDownload(dependencies, address, file, this.#now());
  }

  /** Balance and usage of an account over the last `days` UTC days, today included. @throws {MeteringUnavailable} */
  async usage(accountId: string, days: number): Promise<UsageReport> {
    try {
      return await readUsage(this.#redis, accountId, days, this.#now());
    } catch (cause) {
      throw this.#unavailable(cause);
    }
  }

  /**
   * Why keyed calls cannot be served, as a sentence; null while they can. Concurrent callers share one probe, so that a flood of
   * health checks asks Redis once at a time.
   */
  fault(): Promise<string | null> {
    this.#probe ??= redisFault(this.#redis).finally(() => {
      this.#probe = null;
    });
    return this.#probe;
  }

  /** Writes pending reversals, totals and used indicators. Call before the connection closes. */
  async flush(): Promise<void> {
    await Promise.all([this.#reversals.flush(), this.#totals.flush(), this.#used.flush()]);
  }

  #count({ key, route, status, rows, peek, indicators }: Admission, verdict: Verdict, now_ms: number): void {
    if (verdict.kind === 'invalid_key' || verdict.kind === 'lease_over' || verdict.kind === 'feed_over')
      return;
    if (peek && verdict.kind === 'admitted') return;
    const served = verdict.kind === 'admitted' && status < 400;
    const credits = verdict.kind === 'admitted' ? verdict.charged : 0;
    // The rows of a file count with its first call.
    const counted = served && !verdict.isLeased ? rows : 0;
    this.#totals.count(route, now_ms, { failed: !served, rows: counted, credits });
    if (served && indicators) this.#used.note(key.account_id, indicators, now_ms);
  }

  #noteOverLimit(account_id: string, verdict: Verdict): void {
    if (!('window' in verdict)) return;
    if (verdict.window.remaining === 0) this.#overUntil.set(account_id, verdict.window.reset_s * 1000);
    else this.#overUntil.delete(account_id);
  }

  #unavailable(cause: unknown): MeteringUnavailable {
    if (outcomeOf(cause) === 'refused') this.#log.error({ err: cause }, 'Redis refused a metering command');
    return new MeteringUnavailable('Redis did not answer', { cause });
  }
}
