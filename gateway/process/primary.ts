/**
 * The primary process when there are several workers. It serves no requests: it claims the port, holds the private
 * Redis, starts, replaces and stops the workers, and adds up their metrics.
 *
 * Workers share the port with `SO_REUSEPORT`: the kernel distributes connections. Measured against `node:cluster` on two
 * cores (keep-alive connections of the two workers; new connections a second): SO_REUSEPORT 15 to 17, 9,000; one shared
 * listening socket 25 to 7, 14,000; distributed by the primary 29 to 3, 3,400.
 */
import type { Logger } from 'pino';
import type { Settings } from '../../data/runtime/settings.ts';
import { type ShutdownHook, unlessStopped } from '../../data/runtime/stop-signals.ts';
import { resolveRedisUrl } from './lifecycle.ts';
import { canReusePort, findPort } from './ports.ts';
import { WorkerGroup } from './worker-group.ts';

/** Resolves to the start-up banner when all workers are ready. @param program the script that a worker runs. */
export async function startWorkers(
  program: string,
  settings: Settings,
  log: Logger,
  shutdownHooks: ShutdownHook[],
  stopping: AbortSignal,
): Promise<string> {
  const port = await findPort(settings.PORT, settings.HOST);
  const reusePort = await canReusePort(port, settings.HOST);
  // The processes load while Redis starts.
  const group = new WorkerGroup(program, settings.WORKERS, log);
  shutdownHooks.push(() => group.stop());
  const redisUrl = await resolveRedisUrl(settings, shutdownHooks, stopping);
  const startupBanner = await unlessStopped(group.start({ port, reusePort, redisUrl }), stopping);
  if (settings.METRICS_PORT !== undefined) {
    const { groupMetrics, serveMetrics } = await import('../api/http/server/metrics.ts');
    const metrics = groupMetrics(() => group.readyCount);
    shutdownHooks.push(await serveMetrics(metrics, settings.METRICS_PORT, settings.HOST));
  }
  return startupBanner;
}
