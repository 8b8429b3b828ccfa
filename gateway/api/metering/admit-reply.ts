/** What the script of an admission returns, as a verdict. */
import { DAY_MS, dayOf, MINUTE_MS, minuteOf } from '../../../data/schema/redis-keys.ts';
import {
  type Debit,
  type KeyRestriction,
  MeteringUnavailable,
  type RateWindow,
  type RateWindows,
  secondsUntil,
  type Tier,
  type Verdict,
} from './metering.ts';

/** Calls that an account of a tier may make. */
export type LimitsByTier = Readonly<Record<Tier, { per_minute: number; per_day: number }>>;

/** What `admit.lua` returns. */
type Reply = [
  outcome:
    | 'admitted'
    | 'rate_limited'
    | 'insufficient_credits'
    | 'key_limit_reached'
    | 'max_credits_exceeded'
    | 'idempotency_conflict'
    | 'lease_over',
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

/** What it returns where no window is told. */
type BareReply =
  | [outcome: 'invalid_key', because?: 'suspended']
  | [outcome: 'source_needed' | 'reversed']
  | [outcome: 'restricted', by?: KeyRestriction];

/** The key is bound to address ranges or origins, and the gateway did not say where the call comes from. */
export const isSourceNeeded = (raw: unknown): boolean => (raw as BareReply)[0] === 'source_needed';

function windowsOf(reply: Reply, limits: LimitsByTier, now_ms: number): RateWindows {
  const [, , , tier, minute_used, day_used] = reply;
  const { per_minute, per_day } = limits[tier];
  return {
    minute: windowOf(per_minute, minute_used, endOf(minuteOf(now_ms), MINUTE_MS), now_ms),
    day: windowOf(per_day, day_used, endOf(dayOf(now_ms), DAY_MS), now_ms),
  };
}

const windowOf = (limit: number, used: number, end_ms: number, now_ms: number): RateWindow => ({
  limit,
  remaining: Math.max(0, limit - used),
  reset_s: end_ms / 1000,
  ends_in_s: secondsUntil(end_ms, now_ms),
});

const endOf = (index: number, length_ms: number): number => (index + 1) * length_ms;

/** What the reply answers. */
export interface Asked {
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
  if (kind === 'reversed') throw new MeteringUnavailable('the debit was reversed before it arrived');
  if (kind === 'source_needed') throw new Error('the script was told where the call comes from');
  const reply = raw as Reply;
  const [outcome, charged, balance, tier] = reply;
  const windows = windowsOf(reply, limits, now_ms);
  const window = windows.minute.remaining < windows.day.remaining ? windows.minute : windows.day;
  switch (outcome) {
    case 'admitted': {
      const due = charged === 0 ? null : debit;
      const verdict: Verdict = { kind: outcome, charged, balance, tier, window, windows, debit: due };
      const [repeatOf = '', ofFile] = [reply[6], reply[7]];
      if (repeatOf !== '') verdict.repeatOf = String(repeatOf);
      if (ofFile === undefined) return verdict;
      return isPeek ? { ...verdict, pinned: String(ofFile) } : { ...verdict, isLeased: true };
    }
    case 'key_limit_reached':
      return {
        kind: outcome,
        limit: Number(reply[6]),
        used: Number(reply[7]),
        balance,
        tier,
        window,
        windows,
      };
    case 'insufficient_credits':
    case 'max_credits_exceeded':
    case 'idempotency_conflict':
    case 'lease_over':
      return { kind: outcome, balance, tier, window, windows };
    case 'rate_limited':
      return {
        kind: 'rate_limited',
        retry_after_s: window.ends_in_s,
        balance,
        tier,
        window,
        windows,
      };
  }
}
