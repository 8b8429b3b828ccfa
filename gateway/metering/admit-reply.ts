/** What the script of an admission returns, as a verdict. */
import { DAY_MS, dayOf, MINUTE_MS, minuteOf } from '../../data/schema/redis-keys.ts';
import {
  type Debit,
  MeteringUnavailable,
  type RateWindow,
  type RateWindows,
  secondsUntil,
  type Tier,
  type Verdict,
} from './metering.ts';

/** What `admit.lua` returns. */
type Reply = [
  outcome:
    | 'admitted'
    | 'rate_limited'
    | 'insufficient_credits'
    | 'max_credits_exceeded'
    | 'idempotency_conflict'
    | 'lease_over'
    | 'invalid_key'
    | 'reversed',
  charged: number,
  balance: number,
  tier: Tier,
  minute_limit: number,
  minute_used: number,
  day_limit: number,
  day_used: number,
  repeated: string,
  /** For a peek the edition of the pin, otherwise 1 when a lease covers the call. */
  of_file?: string | number,
];

function windowsOf(reply: Reply, now_ms: number): RateWindows {
  const [, , , , minute_limit, minute_used, day_limit, day_used] = reply;
  return {
    minute: windowOf(minute_limit, minute_used, endOf(minuteOf(now_ms), MINUTE_MS), now_ms),
    day: windowOf(day_limit, day_used, endOf(dayOf(now_ms), DAY_MS), now_ms),
  };
}

const windowOf = (limit: number, used: number, end_ms: number, now_ms: number): RateWindow => ({
  limit,
  remaining: Math.max(0, limit - used),
  reset_s: end_ms / 1000,
  ends_in_s: secondsUntil(end_ms, now_ms),
});

const endOf = (index: number, length_ms: number): number => (index + 1) * length_ms;

/** @throws {MeteringUnavailable} when the debit was reversed before it arrived. */
export function decodeVerdict(raw: unknown, now_ms: number, debit: Debit | null, isPeek: boolean): Verdict {
  const reply = raw as Reply;
  const [outcome, charged, balance, tier] = reply;
  if (outcome === 'invalid_key') return { kind: outcome };
  if (outcome === 'reversed') throw new MeteringUnavailable('the debit was reversed before it arrived');
  const windows = windowsOf(reply, now_ms);
  const window = windows.minute.remaining < windows.day.remaining ? windows.minute : windows.day;
  switch (outcome) {
    case 'admitted': {
      const due = charged === 0 ? null : debit;
      const verdict: Verdict = { kind: outcome, charged, balance, tier, window, windows, debit: due };
      const [repeatOf, ofFile] = [reply[8], reply[9]];
      if (repeatOf !== '') verdict.repeatOf = repeatOf;
      if (ofFile === undefined) return verdict;
      return isPeek ? { ...verdict, pinned: String(ofFile) } : { ...verdict, isLeased: true };
    }
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
