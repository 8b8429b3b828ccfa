/** Reads what operators changed of indicators. Each entry is held against its schema: a build must not stumble. */
import { type IndicatorOverride, indicatorOverride, type Overrides } from '../schema/overrides.ts';
import { redisKeys } from '../schema/redis-keys.ts';
import type { RedisClient } from './redis.ts';

/** @throws {Error} when Redis does not answer; an entry that cannot be read is left out. */
export async function readOverrides(redis: RedisClient): Promise<Overrides> {
  const stored = await redis.hgetall(redisKeys.overrides);
  return parseOverrides(stored);
}

/** Texts of JSON by indicator id. */
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
