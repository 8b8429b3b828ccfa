/**
 * Counts the different files that an address takes without a key in a fixed UTC hour; a repeat is free. One script decides, so
 * that concurrent requests at any number of gateways never pass the limit. When Redis is unavailable or slow, files are given
 * uncounted, as other anonymous requests are.
 */
import type { RedisClient } from '../../../data/runtime/redis.ts';
import { readScript, type ScriptRunner } from '../../../data/runtime/redis-scripts.ts';
import { HOUR_MS, redisKeys } from '../../../data/schema/redis-keys.ts';
import { addressUnit, rateLimited, withTimeout } from './address-meter.ts';
import type { AnonymousVerdict } from './admission.ts';

const DOWNLOAD = readScript(import.meta.url, 'lua/download.lua', 1);

/** Different files that an address may take in an hour. */
export const DOWNLOADS_PER_HOUR = 30;

interface Dependencies {
  redis: RedisClient;
  runner: ScriptRunner;
  timeout_ms: number;
}

/** @param file digest of what is asked for */
export async function admitDownload(
  { redis, runner, timeout_ms }: Dependencies,
  address: string,
  file: string,
  now_ms: number,
): Promise<AnonymousVerdict> {
  if (redis.status !== 'ready') return { kind: 'admitted' };
  const hour = Math.floor(now_ms / HOUR_MS);
  const key = redisKeys.addressDownloads(addressUnit(address), hour);
  const counted = runner.run(DOWNLOAD, [key, file, DOWNLOADS_PER_HOUR]).catch(() => null);
  const isOver = (await withTimeout(counted, timeout_ms)) === 0;
  return isOver ? rateLimited((hour + 1) * HOUR_MS, now_ms) : { kind: 'admitted' };
}
