/** Calls `admit.lua`: keys and arguments in its order, its reply decoded to a verdict. */
import { LRUCache } from 'lru-cache';
import { DAY_MS, dayOf, MINUTE_MS, minuteOf, monthOf, redisKeys } from '../../../data/schema/redis-keys.ts';
import { comparableAddress } from './address-ranges.ts';
import {
  type Admission,
  type CallSource,
  type Debit,
  type FeedAdmission,
  type FileAdmission,
  type KeyRestriction,
  type LeaseTerms,
  MeteringUnavailable,
  type RateWindow,
  type RateWindows,
  type Tier,
  type Verdict,
} from './admission.ts';

/** Calls that an account of a tier may make. */
export type LimitsByTier = Readonly<Record<Tier, { per_minute: number; per_day: number }>>;

const CACHED_ACCOUNTS = 50_000;
/** No origin that a key is bound to is longer. */
const MAX_ORIGIN_LENGTH = 300;

/** The key names of one account in one minute. */
interface MinuteKeys {
  minute: number;
  month: string;
  /** Account, keys, minute, day, ledger, usage, debits. */
  names: readonly [account: string, ...string[]];
}

/** What the gateway adds to an admission. */
export interface AdmitFacts {
  now_ms: number;
  debit_id: string;
  price: number;
  /** Null where nothing is charged. */
  debit: Debit | null;
  indicators: string;
}

export class AdmitArguments {
  /** By account. Building the names anew takes 3.5 µs, 8 % of a keyed call. */
  readonly #keys = new LRUCache<string, MinuteKeys>({ max: CACHED_ACCOUNTS });
  readonly #limits: readonly number[];

  constructor({ anonymous, free, paid }: LimitsByTier) {
    this.#limits = [anonymous, free, paid].flatMap(({ per_minute, per_day }) => [per_minute, per_day]);
  }

  /** @param source of a key that is bound to address ranges or origins; null for others */
  of(
    admission: Admission,
    { now_ms, debit_id, price, indicators }: AdmitFacts,
    source: ComparableSource | null,
  ): (string | number)[] {
    const { key, request_id, idempotency, file, feed, status, rows, peek } = admission;
    const { account_id, key_id } = key;
    const { names, month } = this.#keysOf(account_id, now_ms);
    const failed = status >= 400;
    const values = [
      ...names,
      now_ms,
      key_id,
      debit_id,
      price,
      failed ? 0 : rows,
      peek ? 'peek' : failed ? 'failed' : '',
      spendingRoute(admission),
      request_id,
      ...this.#limits,
      month,
      indicators,
    ];
    if (key.environment === 'mcp') values[1] = redisKeys.rulesOf(account_id, key_id);
    if (feed !== undefined) {
      values.splice(names.length, 0, names[0], redisKeys.feeds(account_id));
      values.push(...feedArguments(feed));
      return values;
    }
    if (source === null && idempotency === undefined && file === undefined) return values;
    const record = idempotency === undefined ? names[0] : redisKeys.repeatable(account_id, idempotency.key);
    const ofFile = file === undefined ? [] : fileKeys(account_id, file);
    if (idempotency !== undefined || file !== undefined) values.splice(names.length, 0, record, ...ofFile);
    values.push(source?.address ?? '', source?.origin ?? '');
    values.push(idempotency?.fingerprint ?? '', idempotency?.edition ?? file?.lease?.edition ?? '');
    if (file?.lease !== undefined) values.push(...leaseArguments(file.lease));
    return values;
  }

  #keysOf(account_id: string, now_ms: number): MinuteKeys {
    const minute = minuteOf(now_ms);
    const cached = this.#keys.get(account_id);
    if (cached?.minute === minute) return cached;
    const day = dayOf(now_ms);
    const keys: MinuteKeys = {
      minute,
      month: monthOf(now_ms),
      names: [
        redisKeys.account(account_id),
        redisKeys.keys(account_id),
        redisKeys.minute(account_id, minute),
        redisKeys.day(account_id, day),
        redisKeys.ledger(account_id),
        redisKeys.usage(account_id, day),
        redisKeys.debits(account_id, minute),
      ],
    };
    this.#keys.set(account_id, keys);
    return keys;
  }
}

/** Where a call comes from, as the script compares it. */
interface ComparableSource {
  address: string;
  origin: string;
}

export function comparableSource(source: CallSource): ComparableSource {
  const origin = source.origin() ?? '';
  const isPlain = origin.length <= MAX_ORIGIN_LENGTH && !origin.includes(' ');
  return { address: comparableAddress(source.address()), origin: isPlain ? origin : '' };
}

/** The keys that a call for a file adds. */
function fileKeys(account_id: string, { pin, lease }: FileAdmission): [lease: string, pin: string] {
  const none = redisKeys.account(account_id);
  return [
    lease === undefined ? none : redisKeys.lease(account_id, lease.object),
    pin === null ? none : redisKeys.pin(account_id, pin),
  ];
}

const leaseArguments = ({ bytes, allowance, follows, looks, max_credits }: LeaseTerms) =>
  [bytes, allowance, follows ? '1' : '', looks ? '1' : '', max_credits ?? ''] as const;

/** What a link may send in a UTC day: 256 MiB. */
const FEED_BYTES_PER_DAY = 268_435_456;

const feedArguments = ({ feed_id, content, edition, bytes, isPaidOnly }: FeedAdmission) =>
  ['', '', '', edition, bytes, FEED_BYTES_PER_DAY, isPaidOnly ? '1' : '', '', '', feed_id, content] as const;

/** As ledger and usage of the account name a call: with the feed link that pays. */
export const spendingRoute = ({ route, feed }: Pick<Admission, 'route' | 'feed'>): string =>
  feed === undefined ? route : `${route}/${feed.feed_id}`;

const NAMED_AT_MOST = 3;
const NAMED = /^(.*?)(?:\+(\d+))?$/;

/** Ids contain neither commas nor plus signs. Empty for no indicators. */
export function formatIndicators(ids: readonly string[] | undefined): string {
  if (ids === undefined || ids.length === 0) return '';
  const more = ids.length - NAMED_AT_MOST;
  return ids.slice(0, NAMED_AT_MOST).join(',') + (more > 0 ? `+${more}` : '');
}

export interface NamedIndicators {
  indicators: string[];
  /** Number of others that were not named. */
  more_indicators: number;
}

export function parseIndicators(text: string): NamedIndicators {
  const [, ids = '', more = '0'] = NAMED.exec(text) ?? [];
  return { indicators: ids.split(','), more_indicators: Number(more) };
}

/** Whole seconds until a moment, at least one: a client told to wait 0 s would come back too early. */
export const secondsUntil = (end_ms: number, now_ms: number): number =>
  Math.max(1, Math.ceil((end_ms - now_ms) / 1000));

/** What `admit.lua` returns. */
type Reply = [
  outcome:
    | 'admitted'
    | 'rate_limited'
    | 'insufficient_credits'
    | 'key_limit_reached'
    | 'max_credits_exceeded'
    | 'idempotency_conflict'
    | 'lease_over'
    | 'feed_unpaid'
    | 'feed_bytes_reached',
  charged: number,
  balance: number,
  tier: Tier,
  minute_used: number,
  day_used: number,
  /** The edition of the first call; for `key_limit_reached` the key's limit. */
  repeated?: string | number,
  /** For a peek the edition of the pin, otherwise 1 when a lease covers the call; for `key_limit_reached` what was used. */
  of_file?: string | number,
];

/** What it returns instead of a window when there is none. */
type BareReply =
  | [outcome: 'invalid_key', because?: 'suspended']
  | [outcome: 'source_needed' | 'reversed' | 'feed_over']
  | [outcome: 'restricted', by?: KeyRestriction];

/** The key is bound to address ranges or origins, and the gateway did not say where the call comes from. */
export const isSourceNeeded = (raw: unknown): boolean => (raw as BareReply)[0] === 'source_needed';

function windowsOf(reply: Reply, limits: LimitsByTier, now_ms: number): RateWindows {
  const [, , , tier, minute_used, day_used] = reply;
  const { per_minute, per_day } = limits[tier];
  return {
    minute: windowOf(per_minute, minute_used, (minuteOf(now_ms) + 1) * MINUTE_MS, now_ms),
    day: windowOf(per_day, day_used, (dayOf(now_ms) + 1) * DAY_MS, now_ms),
  };
}

const windowOf = (limit: number, used: number, end_ms: number, now_ms: number): RateWindow => ({
  limit,
  remaining: Math.max(0, limit - used),
  reset_s: end_ms / 1000,
  ends_in_s: secondsUntil(end_ms, now_ms),
});

/** What the reply answers. */
interface Asked {
  limits: LimitsByTier;
  now_ms: number;
  debit: Debit | null;
  isPeek: boolean;
}

/** @throws {MeteringUnavailable} when the debit was reversed before it arrived. */
export function decodeVerdict(raw: unknown, { limits, now_ms, debit, isPeek }: Asked): Verdict {
  const bare = raw as BareReply;
  const [kind] = bare;
  if (bare[0] === 'invalid_key') return { kind: bare[0], isSuspended: bare[1] === 'suspended' };
  if (bare[0] === 'restricted') return { kind: bare[0], by: bare[1] ?? 'address' };
  if (kind === 'feed_over') return { kind };
  if (kind === 'reversed') throw new MeteringUnavailable('the debit was reversed before it arrived');
  if (kind === 'source_needed') throw new Error('the script was told where the call comes from');
  const reply = raw as Reply;
  const [outcome, charged, balance, tier] = reply;
  const windows = windowsOf(reply, limits, now_ms);
  const window = windows.minute.remaining < windows.day.remaining ? windows.minute : windows.day;
  const quota = { balance, tier, window, windows };
  if (outcome === 'rate_limited') return { kind: outcome, retry_after_s: window.ends_in_s, ...quota };
  if (outcome === 'key_limit_reached')
    return { kind: outcome, limit: Number(reply[6]), used: Number(reply[7]), ...quota };
  if (outcome !== 'admitted') return { kind: outcome, ...quota };
  const verdict: Verdict = { kind: outcome, charged, ...quota, debit: charged === 0 ? null : debit };
  const [repeatOf = '', ofFile] = [reply[6], reply[7]];
  if (repeatOf !== '') verdict.repeatOf = String(repeatOf);
  if (ofFile === undefined) return verdict;
  return isPeek ? { ...verdict, pinned: String(ofFile) } : { ...verdict, isLeased: true };
}
