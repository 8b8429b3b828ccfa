/** Decodes what `admit.lua` returns; the only place that knows the positions. */
import { DAY_MS, dayOf, MINUTE_MS, minuteOf } from '../../data/schema/redis-keys.ts';
import { MeteringUnavailable, type RateWindow, type Tier, type Verdict } from './metering.ts';

type Reply = [
  outcome: 'admitted' | 'rate_limited' | 'insufficient_credits' | 'invalid_key' | 'voided',
  charged: number,
  balance: number,
  tier: Tier,
  minute_limit: number,
  minute_used: number,
  day_limit: number,
  day_used: number,
];

/**
 * The window that runs out first is the one that lets the fewest further requests through; when both let through
 * equally many, the day's, because it keeps a caller waiting longer.
 */
function nearerWindow(reply: Reply, now_ms: number): RateWindow {
  const [, , , , minute_limit, minute_used, day_limit, day_used] = reply;
  const minute_left = Math.max(0, minute_limit - minute_used);
  const day_left = Math.max(0, day_limit - day_used);
  return minute_left < day_left
    ? { limit: minute_limit, remaining: minute_left, reset_s: endOf(minuteOf(now_ms), MINUTE_MS) / 1000 }
    : { limit: day_limit, remaining: day_left, reset_s: endOf(dayOf(now_ms), DAY_MS) / 1000 };
}

const endOf = (index: number, length_ms: number): number => (index + 1) * length_ms;

/** Whole seconds until a moment, at least one: a client told to wait 0 s would come back too early. */
export const secondsUntil = (end_ms: number, now_ms: number): number =>
  Math.max(1, Math.ceil((end_ms - now_ms) / 1000));

/** @throws {MeteringUnavailable} for a request that was given up before this answer came. */
export function decodeVerdict(raw: unknown, now_ms: number): Verdict {
  const reply = raw as Reply;
  const [outcome, charged, balance, tier] = reply;
  if (outcome === 'invalid_key') return { kind: 'invalid_key' };
  if (outcome === 'voided') throw new MeteringUnavailable('the request was given up before it was decided');
  const window = nearerWindow(reply, now_ms);
  switch (outcome) {
    case 'admitted':
      return { kind: 'admitted', charged, balance, tier, window };
    case 'insufficient_credits':
      return { kind: 'insufficient_credits', balance, tier, window };
    case 'rate_limited':
      return {
        kind: 'rate_limited',
        retry_after_s: secondsUntil(window.reset_s * 1000, now_ms),
        balance,
        tier,
        window,
      };
  }
}
