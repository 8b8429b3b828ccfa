/**
 * The process that a person starts when there are several workers. It answers nothing itself: it holds the private
 * Redis, starts, replaces and ends the workers, and adds up their metrics.
 */
import type { Logger } from 'pino';
import { startPrivateRedis } from '../../../data/runtime/private-redis.ts';
import type { Settings } from '../../../data/runtime/settings.ts';
import type { Stop } from '../shutdown.ts';
import { claimPort } from './port.ts';
import { WorkerGroup } from './worker-group.ts';

/** Resolves to the startupBanner when all workers answer. @param program the script that a worker runs. */
export async function startWorkers(
  program: string,
  settings: Settings,
  log: Logger,
  stops: Stop[],
): Promise<string> {
  const place = await claimPort(settings);
  // The processes come up while Redis does.
  const group = new WorkerGroup(program, settings.WORKERS, log);
  const isPrivate = settings.REDIS_URL === undefined;
  const redis = isPrivate ? startPrivateRedis(settings.REDIS_DIR) : null;
  if (redis) stops.push(async () => (await redis).stop());
  stops.push(() => group.stop());
  const redisUrl = settings.REDIS_URL ?? (await redis)?.url ?? '';
  const startupBanner = await group.begin({ ...place, redisUrl });
  if (settings.METRICS_PORT !== undefined) {
    const { groupMetrics, serveMetrics } = await import('../../http/metrics.ts');
    stops.push(
      await serveMetrics(
        groupMetrics(() => group.answering),
        settings.METRICS_PORT,
        settings.HOST,
      ),
    );
  }
  return startupBanner;
}
