/**
 * What the build has to do with Redis: runs are mirrored there, operators' changes come from there. Nothing here is
 * required. A command line without Redis works; it then publishes with the operators' changes as they were last seen,
 * kept beside the lake, so that what an operator has switched off does not come back because Redis was away.
 */
import { existsSync } from 'node:fs';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { replaceFile } from '../../data/runtime/durable-files.ts';
import { parseOverrides, readOverrides } from '../../data/runtime/overrides.ts';
import { startPrivateRedis } from '../../data/runtime/private-redis.ts';
import { connectRedis, type RedisClient, type RedisRole, whenReady } from '../../data/runtime/redis.ts';
import type { Settings } from '../../data/runtime/settings.ts';
import type { Overrides } from '../../data/schema/overrides.ts';

const CONNECT_WITHIN_MS = 3_000;
const LAST_SEEN = 'overrides.json';

export interface OpenRedis {
  redis: RedisClient;
  /** Where this Redis is, for further connections. */
  settings: Settings;
  close(): Promise<void>;
}

/**
 * Connects to REDIS_URL, or to the private Redis where there has been one.
 * @returns null when there is none, or it does not answer.
 */
export async function tryOpenRedis(
  settings: Settings,
  log: Logger,
  role: RedisRole = 'tool',
): Promise<OpenRedis | null> {
  const isPrivate = settings.REDIS_URL === undefined;
  if (isPrivate && !existsSync(settings.REDIS_DIR)) return null;
  try {
    return await openRedis(settings, log, role);
  } catch (error) {
    log.warn({ err: error }, 'runs are not mirrored: no Redis');
    return null;
  }
}

/** @throws {Error} when there is no Redis or it does not answer. */
export async function openRedis(settings: Settings, log: Logger, role: RedisRole): Promise<OpenRedis> {
  const held = settings.REDIS_URL === undefined ? await startPrivateRedis(settings.REDIS_DIR) : null;
  const found = { ...settings, REDIS_URL: held?.url ?? settings.REDIS_URL };
  const redis = connectRedis(found, log, role);
  const close = async (): Promise<void> => {
    redis.disconnect();
    await held?.stop();
  };
  if (await whenReady(redis, CONNECT_WITHIN_MS)) return { redis, settings: found, close };
  await close();
  throw new Error('Redis does not answer');
}

/** The operators' changes: from Redis, else as they were last seen. */
export async function loadOverrides(
  redis: RedisClient | null,
  settings: Pick<Settings, 'LAKE_DIR'>,
  log: Logger,
): Promise<Overrides> {
  const file = join(settings.LAKE_DIR, LAST_SEEN);
  try {
    if (!redis) throw new Error('no Redis');
    const overrides = await readOverrides(redis);
    await mkdir(settings.LAKE_DIR, { recursive: true });
    const texts = [...overrides].map(([id, override]) => [id, JSON.stringify(override)]);
    await replaceFile(file, JSON.stringify(Object.fromEntries(texts)));
    return overrides;
  } catch (error) {
    const text = await readFile(file, 'utf8').catch(() => '{}');
    const overrides = parseOverrides(JSON.parse(text) as Record<string, string>);
    if (redis || overrides.size > 0)
      log.warn({ err: error, overrides: overrides.size }, "operators' changes as last seen");
    return overrides;
  }
}
