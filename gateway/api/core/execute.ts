/**
 * The one way in for all operations, whatever the adapter, and the door of this room. The order of checks is fixed:
 *
 *   key 401 → rules of the key 403 → scope 403 → rate 429 → parameters 422/400 → existence 404 → export gate 403 → max_credits 402
 *     → Idempotency-Key 422 → limit of the key and balance 402; for a part of an answer, 416 follows after the parameters
 *
 * The plan is made first, in memory, so that its price is known; then one Redis script checks key, rate and balance and
 * charges. Its verdict takes precedence over the plan's errors: a revoked key gets 401 even if a parameter was wrong too.
 * A key that this process does not know to work is checked before the plan, by the same script; so is a call that may
 * repeat an earlier one, because a repeat is answered from the edition of the first.
 *
 * Guarantees: a refusal costs nothing; a charge is refunded if the response cannot be produced or rendered; one call
 * uses one edition from start to end.
 */
import type { Logger } from 'pino';
import {
  type Admission,
  type ApiKey,
  MeteringUnavailable,
  type RedisMetering,
  type Verdict,
} from '../metering/metering.ts';
import { type Caller, isPriced } from '../operations/operations.ts';
import {
  type Edition,
  QueryTimeout,
  type Snapshot,
  type Snapshots,
  SnapshotUnreadable,
} from '../snapshot/snapshot.ts';
import type { Call, FeedFetch, RepeatableAs } from './call.ts';
import { type ApiError, ERRORS, QueueFull } from './errors.ts';
import { type CallPlan, CountedPrices, keyOf, pinOf, planCall, type Unplanned } from './plan-call.ts';
import {
  type Admitted,
  anonymous,
  downloadsOver,
  isKeyRefused,
  quotaOf,
  type Result,
  type ResultContext,
  refusal,
  TOKEN_ELSEWHERE,
} from './result.ts';

export interface ExecuteDependencies {
  metering: RedisMetering;
  snapshots: Snapshots;
  /** Unix milliseconds. */
  now: () => number;
  log: Logger;
  /** Where the holder of a suspended account writes to. */
  contact: string;
}

export type { Call, FeedFetch, RepeatableAs } from './call.ts';
export { checkFeed, feedEncoder, feedRequest, readFrozenCall, writeFeed } from './feeds.ts';
export type { QuotaStatus, Result } from './result.ts';

/** Every key has this scope, and every operation needs it. */
const SCOPE = 'read';

const RETRY_AFTER_S = 5;
export const UNAVAILABLE: ApiError = { code: 'unavailable', retryAfter_s: RETRY_AFTER_S };

export class Executor {
  readonly #dependencies: ExecuteDependencies;
  readonly #prices: CountedPrices;

  constructor(dependencies: ExecuteDependencies) {
    this.#dependencies = dependencies;
    this.#prices = new CountedPrices(dependencies.now);
  }

  /** Never rejects. */
  async execute<Rendered>(call: Call<Rendered>): Promise<Result<Rendered>> {
    const snapshot = this.#dependencies.snapshots.current();
    if (snapshot === null) return { kind: 'error', error: UNAVAILABLE, ...anonymous(null) };
    try {
      const isKeyed = call.authorization !== undefined || call.feed !== undefined;
      return isKeyed && !call.operation.isDownload
        ? await this.#executeKeyed(call, snapshot)
        : await this.#executeAnonymous(call, snapshot);
    } catch (error) {
      return { kind: 'error', error: this.#faultOf(error, call), ...anonymous(snapshot) };
    }
  }

  /** Free operations, mostly answered from a cache. */
  async #executeAnonymous<Rendered>(call: Call<Rendered>, snapshot: Snapshot): Promise<Result<Rendered>> {
    const { operation, route } = call;
    if (operation.needsKey) return { kind: 'error', error: { code: 'unauthorized' }, ...anonymous(snapshot) };
    const { metering } = this.#dependencies;
    const isPage = operation.tag === 'Page';
    const verdict = await (isPage
      ? metering.admitVisitor(call.address())
      : metering.admitAddress(call.address()));
    if (verdict.kind === 'rate_limited') {
      const error: ApiError = { code: 'rate_limited', retryAfter_s: verdict.retry_after_s };
      return { kind: 'error', error, ...anonymous(snapshot) };
    }
    const planned = cachedAnswer(call, snapshot) ?? (await planCall(call, snapshot));
    const about = anonymous(editionOf(planned, snapshot));
    if (planned.kind === 'cached') return { kind: 'success', rendered: planned.rendered, ...about };
    if (planned.kind !== 'plan') return { ...planned, ...about };
    if (planned.price > 0) throw new Error(`${route} has a price but does not require a key`);
    if (operation.isDownload) {
      const taken = await metering.admitDownload(call.address(), keyOf(call, snapshot));
      const error =
        taken.kind === 'rate_limited' && downloadsOver(taken.retry_after_s, this.#dependencies.now());
      if (error) return { kind: 'error', error, ...about };
    }
    const rendered = await call.render(await planned.produce(null), snapshot, planned.edition);
    return { kind: 'success', rendered, ...about };
  }

  /**
   * The key, then what is remembered of it, then its scope. A key that may not work, or was limited recently, is asked about
   * before any work is done for it; so is a call that may repeat another, whose file may be pinned to an edition, or that could not
   * be paid a moment ago.
   */
  async #executeKeyed<Rendered>(call: Call<Rendered>, snapshot: Snapshot): Promise<Result<Rendered>> {
    const { metering } = this.#dependencies;
    const { feed, authorization = '' } = call;
    const key = feed?.key ?? (await metering.resolveKey(authorization));
    if (key === null) return { kind: 'error', error: { code: 'invalid_key' }, ...anonymous(snapshot) };
    if (key.environment === 'mcp' && call.takesTokens !== true)
      return { kind: 'error', error: TOKEN_ELSEWHERE, ...anonymous(snapshot) };
    const file = call.operation.isFile && isPriced(call.operation) ? { pin: pinOf(call) } : undefined;
    const keyed: KeyedCall<Rendered> = { call, key, snapshot, file, repeatable: repeatableAs(call) };
    const standing = metering.standingOf(key, call);
    if (standing === 'refused' || standing === 'suspended')
      return this.#refuse({ kind: 'invalid_key', isSuspended: standing === 'suspended' }, NO_CHARGE, keyed);
    if (!key.scopes.includes(SCOPE)) return this.#refuseScope(keyed);
    const counted = file || feed ? undefined : this.#prices.find(key.account_id, call, snapshot);
    const { price, edition } = counted ?? { price: 0, edition: snapshot.id };
    const isKnown = standing === 'confirmed' && keyed.repeatable === null && !file?.pin;
    const charge = (peeked: Pick<Admitted, 'repeatOf' | 'pinned'>) =>
      feed ? this.#fetchFeed(keyed, feed) : this.#charge(keyed, peeked);
    if (isKnown && counted === undefined) return charge({});
    const unmade = feed && { ...NOTHING_MADE, feed_id: feed.link.feed_id, edition };
    const peek = { ...PEEK, price, idempotency: idempotency(keyed.repeatable, ''), file, feed: unmade };
    const peeked = await this.#admit(keyed, peek);
    if (peeked.kind === 'admitted') return charge(peeked);
    return this.#refuse(peeked, { price }, keyed, { id: edition });
  }

  /**
   * Plans, charges and answers. A whole file is answered from the edition of its pin, which is given up when that edition
   * has no such file any more, or when no lease covers the call: then the served edition answers.
   * @param peeked the editions of an earlier call that this one repeats, and of the pin.
   */
  async #charge<Rendered>(
    keyed: KeyedCall<Rendered>,
    { repeatOf, pinned: pin }: Pick<Admitted, 'repeatOf' | 'pinned'>,
  ): Promise<Result<Rendered>> {
    const { call, snapshot, file, repeatable } = keyed;
    let pinned = repeatOf === undefined && pin !== snapshot.id ? pin : undefined;
    for (; ; pinned = undefined) {
      const planned =
        cachedAnswer(call, snapshot) ?? (await this.#planSafely(call, snapshot, repeatOf ?? pinned));
      if (pinned !== undefined && isGone(planned)) continue;
      const { price, rows, indicators, lease } = planned.kind === 'plan' ? planned : FREE;
      const edition = editionOf(planned, snapshot);
      const terms = { edition: edition.id, follows: pinned !== undefined };
      const verdict = await this.#admit(keyed, {
        price,
        rows,
        indicators,
        status: httpStatus(planned),
        peek: false,
        idempotency: idempotency(repeatable, edition.id),
        file: file && lease && { ...file, lease: { ...lease, ...terms } },
      });
      if (verdict.kind === 'lease_over') continue;
      if (verdict.kind !== 'admitted') {
        this.#keepPrice(verdict, price, keyed, edition);
        return this.#refuse(verdict, { price, lease }, keyed, edition);
      }
      const { repeatOf: first = edition.id } = verdict;
      // A repeat may have been recognised only now, after a plan of another edition.
      const answering = first === edition.id ? planned : await this.#planSafely(call, snapshot, first);
      return this.#answer(keyed, answering, verdict);
    }
  }

  /** Where a new content cannot be paid, the last answer is given again from its edition, if that still gives it. */
  async #fetchFeed<Rendered>(
    keyed: KeyedCall<Rendered>,
    feed: FeedFetch<Rendered>,
  ): Promise<Result<Rendered>> {
    const result = await this.#chargeFeed(keyed, feed);
    const { edition } = feed.link;
    const isShort = result.kind === 'error' && result.error.code === 'insufficient_credits';
    if (!isShort || edition === null || edition === keyed.snapshot.id) return result;
    const last = await this.#chargeFeed(keyed, feed, edition);
    return last.kind === 'success' ? last : result;
  }

  /** @param from the edition that answers again; only what is paid is admitted then */
  async #chargeFeed<Rendered>(
    keyed: KeyedCall<Rendered>,
    { link, make }: FeedFetch<Rendered>,
    from?: string,
  ): Promise<Result<Rendered>> {
    const { call, snapshot } = keyed;
    const planned = await this.#planSafely(call, snapshot, from);
    const isPlan = planned.kind === 'plan';
    const { price, rows, indicators } = isPlan ? planned : FREE;
    const made = isPlan ? await make(await planned.produce(null), planned.edition) : null;
    const edition = editionOf(planned, snapshot);
    const { content, bytes } = made ?? NOTHING_MADE;
    const isPaidOnly = from !== undefined;
    const paid = { feed_id: link.feed_id, content, bytes, edition: edition.id, isPaidOnly };
    const status = httpStatus(planned);
    const verdict = await this.#admit(keyed, { price, rows, indicators, status, peek: false, feed: paid });
    if (verdict.kind !== 'admitted') return this.#refuse(verdict, { price }, keyed, edition);
    const answer = made && { kind: 'cached' as const, rendered: made.rendered, edition };
    return this.#answer(keyed, answer ?? planned, verdict);
  }

  /** What was admitted. What fails here was charged, and is refunded. */
  async #answer<Rendered>(
    { call, key, snapshot }: KeyedCall<Rendered>,
    planned: CallPlan | Unplanned | Cached<Rendered>,
    verdict: Admitted,
  ): Promise<Result<Rendered>> {
    const quota = quotaOf(verdict);
    const about: ResultContext = { key_id: key.key_id, quota, snapshot: editionOf(planned, snapshot) };
    if (planned.kind === 'cached') return { kind: 'success', rendered: planned.rendered, ...about };
    if (planned.kind !== 'plan') return { ...planned, ...about };
    const { metering } = this.#dependencies;
    const { debit } = verdict;
    const onFault = async (fault: unknown): Promise<void> => {
      this.#faultOf(fault, call);
      if (debit !== null) await metering.refund(debit);
    };
    try {
      const content = await planned.produce(this.#callerOf(key, verdict));
      const rendered = await call.render(content, snapshot, planned.edition);
      return { kind: 'success', rendered, ...about, onFault };
    } catch (fault) {
      const error = this.#faultOf(fault, call);
      if (debit === null) return { kind: 'error', error, ...about };
      await metering.refund(debit);
      const { charged, balance } = quota;
      return { kind: 'error', error, ...about, quota: { ...quota, charged: 0, balance: balance + charged } };
    }
  }

  #refuse<Rendered>(
    verdict: Parameters<typeof refusal>[0],
    terms: Parameters<typeof refusal>[1],
    { call, key, snapshot }: KeyedCall<Rendered>,
    edition: Pick<Edition, 'id'> = snapshot,
  ): Result<Rendered> {
    return refusal(verdict, terms, { key, source: call, contact: this.#dependencies.contact }, edition);
  }

  /** Of a call that cannot be paid. Nothing is counted for a file. */
  #keepPrice(
    { kind }: Verdict,
    price: number,
    { call, key, snapshot, file }: KeyedCall<unknown>,
    edition: Pick<Edition, 'id'>,
  ): void {
    const isShort = kind === 'insufficient_credits' || kind === 'key_limit_reached';
    if (isShort && !file) this.#prices.keep(key.account_id, call, snapshot, price, edition.id);
  }

  /** Scope is checked before rate limits, but a revoked key must get 401. */
  async #refuseScope<Rendered>(keyed: KeyedCall<Rendered>): Promise<Result<Rendered>> {
    const { key, snapshot } = keyed;
    const verdict = await this.#admit(keyed, { ...NO_CHARGE, status: ERRORS.key_scope.status });
    if (isKeyRefused(verdict)) return this.#refuse(verdict, NO_CHARGE, keyed);
    const quota = quotaOf(verdict);
    return { kind: 'error', error: { code: 'key_scope' }, key_id: key.key_id, quota, snapshot };
  }

  #admit(
    { call, key }: KeyedCall<unknown>,
    decided: Omit<Admission, 'key' | 'source' | 'route' | 'request_id'>,
  ): Promise<Verdict> {
    const { route, requestId: request_id } = call;
    return this.#dependencies.metering.admit({ key, source: call, route, request_id, ...decided });
  }

  /** A fault becomes an error of the call, so that it is counted and carries quota headers. */
  async #planSafely(
    call: Call<unknown>,
    snapshot: Snapshot,
    from: string | undefined,
  ): Promise<CallPlan | Unplanned> {
    try {
      return await planCall(call, snapshot, from);
    } catch (error) {
      return { kind: 'error', error: this.#faultOf(error, call) };
    }
  }

  #callerOf(key: ApiKey, { tier, balance, isLeased }: Admitted): Caller {
    const { metering, now } = this.#dependencies;
    const { key_id, environment, scopes, account_id } = key;
    const usage = (days: number) => metering.usage(account_id, days);
    const owner = { key_id, account_id, environment, scopes };
    return { ...owner, tier, balance, isLeased: isLeased === true, now_ms: now(), usage };
  }

  /** Transient faults other than timeouts are not logged: under load, a line for each would add to it. */
  #faultOf(error: unknown, { requestId, route }: Call<unknown>): ApiError {
    const isTransient = TRANSIENT.some((kind) => error instanceof kind);
    if (!isTransient || error instanceof QueryTimeout)
      this.#dependencies.log.error({ err: error, request_id: requestId, route }, 'request failed');
    return isTransient ? UNAVAILABLE : { code: 'internal_error' };
  }
}

const TRANSIENT = [MeteringUnavailable, QueryTimeout, QueueFull, SnapshotUnreadable] as const;

const NO_CHARGE = { price: 0, rows: 0 } as const;
const FREE = { ...NO_CHARGE, indicators: undefined, lease: undefined } as const;
const NOTHING_MADE = { content: '', bytes: 0, isPaidOnly: false } as const;
const PEEK = { ...NO_CHARGE, status: 200, peek: true } as const;

/** Null for calls that cost nothing: they can be repeated anyway. */
function repeatableAs(call: Call<unknown>): RepeatableAs | null {
  const { repeatable } = call;
  if (!repeatable || !isPriced(call.operation)) return null;
  const reading = call.readQuery();
  return reading.ok && !reading.controls.dry_run ? repeatable : null;
}

const idempotency = (repeatable: RepeatableAs | null, edition: string): Admission['idempotency'] =>
  repeatable === null ? undefined : { ...repeatable, edition };

const editionOf = (
  planned: CallPlan | Unplanned | Cached<unknown>,
  snapshot: Snapshot,
): Pick<Edition, 'id'> => ('edition' in planned && planned.edition) || snapshot;

/** Whether an edition has no more what was asked for: that of a pin is then given up. */
const isGone = (planned: CallPlan | Unplanned | Cached<unknown>): boolean =>
  planned.kind === 'error' && ERRORS[planned.error.code].status === 404;

/** A call whose key may be used. */
interface KeyedCall<Rendered> {
  call: Call<Rendered>;
  key: ApiKey;
  snapshot: Snapshot;
  /** Only for a whole file, which is paid by lease. */
  file: { pin: string | null } | undefined;
  repeatable: RepeatableAs | null;
}

/** An answer rendered before, which is free. */
interface Cached<Rendered> {
  kind: 'cached';
  rendered: Rendered;
  /** Where it is not the served one. */
  edition?: Pick<Edition, 'id'>;
}

function cachedAnswer<Rendered>(call: Call<Rendered>, snapshot: Snapshot): Cached<Rendered> | null {
  const rendered = call.cached(snapshot);
  return rendered === null ? null : { kind: 'cached', rendered };
}

function httpStatus(planned: CallPlan | Unplanned | Cached<unknown>): number {
  if (planned.kind === 'error') return ERRORS[planned.error.code].status;
  return planned.kind === 'invalid' ? 422 : 200;
}
