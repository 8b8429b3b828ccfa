/**
 * Measured availability, by minute and kept for a year. Each gateway records the minutes in which it was ready in one
 * bitmap a day, so several gateways agree without knowing each other, and a repeated or late record changes nothing.
 */
import type { RedisClient } from '../../../data/runtime/redis.ts';
import { DAY_MS, dateOfDay, dayOf, MINUTE_MS, minuteOf, redisKeys } from '../../../data/schema/redis-keys.ts';

export const DEFINITION =
  'A minute is available when a gateway found in it that it could answer every call: the files of its edition were there and Redis took writes. A minute that no gateway recorded is unavailable. Counting begins with the first recorded minute.';

const MINUTES_A_DAY = DAY_MS / MINUTE_MS;
/** Days that are listed, today included. */
const LISTED_DAYS = 366;
const KEPT_MS = (LISTED_DAYS + 7) * DAY_MS;

export interface DayOfAvailability {
  /** `2026-11-20`, UTC. */
  date: string;
  /** Minutes that are over and counted. */
  minutes: number;
  available_minutes: number;
}

export class AvailabilityLog {
  readonly #redis: RedisClient;
  readonly #now: () => number;

  constructor(redis: RedisClient, now: () => number) {
    this.#redis = redis;
    this.#now = now;
  }

  /** Records that the service is available in this minute. */
  async record(): Promise<void> {
    const minute = minuteOf(this.#now());
    const day = dayOf(this.#now());
    const bitmap = redisKeys.availableMinutes(day);
    const results = await this.#redis
      .multi()
      .set(redisKeys.availableSince, minute, 'NX')
      .setbit(bitmap, minute - day * MINUTES_A_DAY, 1)
      .pexpire(bitmap, KEPT_MS)
      .exec();
    const failed = results?.find(([error]) => error !== null);
    if (failed?.[0]) throw failed[0];
  }

  /** The minutes that are over: the first that was recorded, if any, and all by day, oldest first. */
  async read(): Promise<{ since_ms: number | null; days: DayOfAvailability[] }> {
    const since = await this.#redis.get(redisKeys.availableSince);
    if (since === null) return { since_ms: null, days: [] };
    const first = Number(since);
    const end = minuteOf(this.#now());
    const today = dayOf(this.#now());
    const firstDay = Math.max(Math.floor(first / MINUTES_A_DAY), today - LISTED_DAYS + 1);
    const length = Math.max(0, today - firstDay + 1);
    const days = Array.from({ length }, (_none, index) => firstDay + index);
    const bitmaps =
      days.length === 0 ? [] : await this.#redis.mgetBuffer(...days.map(redisKeys.availableMinutes));
    return {
      since_ms: first * MINUTE_MS,
      days: days.flatMap((day, index) => {
        const from = Math.max(first - day * MINUTES_A_DAY, 0);
        const to = Math.min(end - day * MINUTES_A_DAY, MINUTES_A_DAY);
        if (to <= from) return [];
        const available_minutes = bitsSet(bitmaps[index] ?? null, from, to);
        return [{ date: dateOfDay(day), minutes: to - from, available_minutes }];
      }),
    };
  }
}

/** Redis numbers the bits of a byte from its highest. */
function bitsSet(bitmap: Buffer | null, from: number, to: number): number {
  let count = 0;
  for (let bit = from; bit < to; bit++) {
    if (((bitmap?.[bit >> 3] ?? 0) >> (7 - (bit & 7))) & 1) count++;
  }
  return count;
}

/** Available minutes of all; null where none is counted. */
export function share(days: readonly DayOfAvailability[]): number | null {
  const minutes = days.reduce((sum, day) => sum + day.minutes, 0);
  return minutes === 0 ? null : days.reduce((sum, day) => sum + day.available_minutes, 0) / minutes;
}
