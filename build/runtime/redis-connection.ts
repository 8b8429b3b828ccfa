/**
 * What the build has to do with Redis: runs are mirrored there, operators' changes come from there. Nothing here is
 * required. A command line without Redis works; it then publishes with the operators' changes as they were last seen,
 * kept beside the lake, so that what an operator has switched off does not come back because Redis was away.
 */
import { existsSync } from 'node:fs';
import { mkdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import { replaceFile } from '../../data/runtime/durable-files.ts';
import { startPrivateRedis } from '../../data/runtime/private-redis.ts';
import { connectRedis, type RedisClient, whenReady } from '../../data/runtime/redis.ts';
import { type Settings, SettingsError } from '../../data/runtime/settings.ts';
import { claimStore } from '../../data/runtime/store-version.ts';
import {
  type OperatorDecisions,
  type Overrides,
  parseDecisions,
  parseOverrides,
} from '../../data/schema/operator-changes.ts';
import { redisKeys } from '../../data/schema/redis-keys.ts';

const CONNECT_WITHIN_MS = 3_000;

export interface OpenRedis {
  redis: RedisClient;
  /** Where this Redis is, for further connections. */
  settings: Settings;
  close(): Promise<void>;
}

/**
 * Connects to REDIS_URL, or to the private Redis where there has been one.
 * @returns null when there is none, or it does not answer.
 * @throws {SettingsError} when it holds another version.
 */
export async function tryOpenRedis(settings: Settings, log: Logger): Promise<OpenRedis | null> {
  const isPrivate = settings.REDIS_URL === undefined;
  if (isPrivate && !existsSync(settings.REDIS_DIR)) return null;
  try {
    return await openStore(settings, log);
  } catch (error) {
    if (error instanceof SettingsError) throw error;
    log.warn({ err: error }, 'runs are not mirrored: no Redis');
    return null;
  }
}

/** @throws {Error} when there is no Redis, it does not answer, or it holds another version. */
export async function openStore(settings: Settings, log: Logger): Promise<OpenRedis> {
  const opened = await openRedis(settings, log);
  await claimStore(opened.redis).catch(async (error: unknown) => {
    await opened.close();
    throw error;
  });
  return opened;
}

/** Of any version. @throws {Error} when there is no Redis or it does not answer. */
export async function openRedis(settings: Settings, log: Logger): Promise<OpenRedis> {
  const held = settings.REDIS_URL === undefined ? await startPrivateRedis(settings.REDIS_DIR) : null;
  const found = { ...settings, REDIS_URL: held?.url ?? settings.REDIS_URL };
  const redis = connectRedis(found, log, 'tool');
  const close = async (): Promise<void> => {
    redis.disconnect();
    await held?.stop();
  };
  if (await whenReady(redis, CONNECT_WITHIN_MS)) return { redis, settings: found, close };
  await close();
  throw new Error('Redis does not answer');
}

/** The operators' changes of indicators: from Redis, else as they were last seen. */
export function loadOverrides(
  redis: RedisClient | null,
  { LAKE_DIR }: Pick<Settings, 'LAKE_DIR'>,
  log: Logger,
): Promise<Overrides> {
  const read = (open: RedisClient) => open.hgetall(redisKeys.overrides);
  return loadOrLastSeen(redis, join(LAKE_DIR, 'overrides.json'), log, read, {}, parseOverrides);
}

/** What operators decided about providers, licences and findings: from Redis, else as it was last seen. */
export function loadDecisions(
  redis: RedisClient | null,
  { LAKE_DIR }: Pick<Settings, 'LAKE_DIR'>,
  log: Logger,
): Promise<OperatorDecisions> {
  const read = async (open: RedisClient) => ({
    providers: await open.hgetall(redisKeys.providerDecisions),
    licences: await open.hgetall(redisKeys.licenceDecisions),
    findings: await open.hgetall(redisKeys.findingDecisions),
  });
  const none = { providers: {}, licences: {}, findings: {} };
  return loadOrLastSeen(redis, join(LAKE_DIR, 'decisions.json'), log, read, none, parseDecisions);
}

/** @param none when nothing was ever seen */
async function loadOrLastSeen<Texts, Value>(
  redis: RedisClient | null,
  file: string,
  log: Logger,
  read: (redis: RedisClient) => Promise<Texts>,
  none: Texts,
  parse: (texts: Texts) => Value,
): Promise<Value> {
  try {
    if (!redis) throw new Error('no Redis');
    const texts = await read(redis);
    const value = parse(texts);
    await mkdir(dirname(file), { recursive: true });
    await replaceFile(file, JSON.stringify(texts));
    return value;
  } catch (error) {
    const text = await readFile(file, 'utf8').catch(() => null);
    if (redis || (text !== null && text !== JSON.stringify(none)))
      log.warn({ err: error, file }, "operators' changes as last seen");
    return parse(text === null ? none : (JSON.parse(text) as Texts));
  }
}

const TRIES = 6;
const RECONNECT_WITHIN_MS = 10_000;
const PAUSE_MS = 250;

/**
 * Repeats a read, or an idempotent script, that got no answer.
 * @throws a refusal of Redis at once; the error of the last try when none was answered.
 */
export async function withRetry<Answer>(redis: RedisClient, ask: () => Promise<Answer>): Promise<Answer> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await ask();
    } catch (error) {
      const isRefused = error instanceof Error && error.name === 'ReplyError';
      if (isRefused || attempt === TRIES) throw error;
    }
    await pause(PAUSE_MS * attempt);
    await whenReady(redis, RECONNECT_WITHIN_MS);
  }
}
