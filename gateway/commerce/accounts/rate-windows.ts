/** Usage of an account's rate windows: fixed UTC minutes and days, shared by its keys. */
import type { RedisClient } from '../../../data/runtime/redis.ts';
import { DAY_MS, dayOf, MINUTE_MS, minuteOf, redisKeys } from '../../../data/schema/redis-keys.ts';
import type { Tier, TierLimits } from '../../api/metering/metering.ts';

export interface RateWindow {
  used: number;
  limit: number;
  resets_at_ms: number;
}

export interface RateWindows {
  minute: RateWindow;
  day: RateWindow;
}

export async function readRateWindows(
  redis: RedisClient,
  limits: TierLimits,
  account_id: string,
  tier: Tier,
  now_ms: number,
): Promise<RateWindows> {
  const [minute, day] = [minuteOf(now_ms), dayOf(now_ms)];
  const [inMinute, inDay] = await Promise.all([
    redis.get(redisKeys.minute(account_id, minute)),
    redis.get(redisKeys.day(account_id, day)),
  ]);
  const prefix = tier.toUpperCase() as Uppercase<Tier>;
  return {
    minute: {
      used: Number(inMinute ?? 0),
      limit: limits[`${prefix}_PER_MINUTE`],
      resets_at_ms: (minute + 1) * MINUTE_MS,
    },
    day: {
      used: Number(inDay ?? 0),
      limit: limits[`${prefix}_PER_DAY`],
      resets_at_ms: (day + 1) * DAY_MS,
    },
  };
}
