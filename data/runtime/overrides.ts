/** Reads the operators' overrides of indicators. Invalid entries are skipped, so that they cannot fail a build. */
import { type IndicatorOverride, indicatorOverride, type Overrides } from '../schema/overrides.ts';
import { redisKeys } from '../schema/redis-keys.ts';
import type { RedisClient } from './redis.ts';

/** @throws {Error} when Redis does not answer. */
export async function readOverrides(redis: RedisClient): Promise<Overrides> {
  const stored = await redis.hgetall(redisKeys.overrides);
  return parseOverrides(stored);
}

/** @param stored JSON by indicator id. */
export function parseOverrides(stored: Readonly<Record<string, string>>): Overrides {
  const overrides = new Map<string, IndicatorOverride>();
  for (const [id, text] of Object.entries(stored)) {
    const parsed = indicatorOverride.safeParse(jsonOrNull(text));
    if (parsed.success) overrides.set(id, parsed.data);
  }
  return overrides;
}

function jsonOrNull(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
