/** Usage of an account's rate windows: fixed UTC minutes and days, shared by its keys. */
import type { RedisClient } from '../../data/runtime/redis.ts';
import { DAY_MS, dayOf, MINUTE_MS, minuteOf, redisKeys } from '../../data/schema/redis-keys.ts';
import type { Tier } from '../metering/metering.ts';
import type { TierLimits } from '../metering/redis-metering.ts';

export interface RateWindow {
  used: number;
  limit: number;
  resets_at_ms: number;
}

export interface RateWindows {
  minute: RateWindow;
  day: RateWindow;
}

const LIMITS = {
  anonymous: ['ANONYMOUS_PER_MINUTE', 'ANONYMOUS_PER_DAY'],
  free: ['FREE_PER_MINUTE', 'FREE_PER_DAY'],
  paid: ['PAID_PER_MINUTE', 'PAID_PER_DAY'],
} as const satisfies Record<Tier, readonly [keyof TierLimits, keyof TierLimits]>;

export async function readRateWindows(
  redis: RedisClient,
  settings: TierLimits,
  account_id: string,
  tier: Tier,
  now_ms: number,
): Promise<RateWindows> {
  const [minute, day] = [minuteOf(now_ms), dayOf(now_ms)];
  const [inMinute, inDay] = await Promise.all([
    redis.get(redisKeys.minute(account_id, minute)),
    redis.get(redisKeys.day(account_id, day)),
  ]);
  const [perMinute, perDay] = LIMITS[tier];
  return {
    minute: {
      used: Number(inMinute ?? 0),
      limit: settings[perMinute],
      resets_at_ms: (minute + 1) * MINUTE_MS,
    },
    day: { used: Number(inDay ?? 0), limit: settings[perDay], resets_at_ms: (day + 1) * DAY_MS },
  };
}
