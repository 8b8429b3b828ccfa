/** Where a program finds its Redis: the one that is named, or a private one that it starts and leaves on `stops`. */
import { startPrivateRedis } from '../../data/runtime/private-redis.ts';
import type { Settings } from '../../data/runtime/settings.ts';
import type { Stop } from './shutdown.ts';

export async function resolveRedisUrl(settings: Settings, stops: Stop[]): Promise<string> {
  if (settings.REDIS_URL !== undefined) return settings.REDIS_URL;
  const server = await startPrivateRedis(settings.REDIS_DIR);
  stops.push(() => server.stop());
  return server.url;
}
