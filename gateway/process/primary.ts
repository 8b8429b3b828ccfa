/**
 * The primary process when there are several workers. It serves no requests: it claims the port, holds the private
 * Redis, starts, replaces and stops the workers, and adds up their metrics.
 *
 * Workers share the port with `SO_REUSEPORT`: the kernel distributes connections. Measured against `node:cluster` on two
 * cores (keep-alive connections of the two workers; new connections a second): SO_REUSEPORT 15 to 17, 9,000; one shared
 * listening socket 25 to 7, 14,000; distributed by the primary 29 to 3, 3,400.
 */
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Settings } from '../../data/runtime/settings.ts';
import { resolveRedisUrl, type ShutdownHook } from './lifecycle.ts';
import { WorkerGroup } from './worker-group.ts';

/** After a primary was killed, its workers release the port within this time. */
const RELEASE_TIMEOUT_MS = 1_000;
const RETRY_EVERY_MS = 50;

/** Resolves to the start-up banner when all workers are ready. @param program the script that a worker runs. */
export async function startWorkers(
  program: string,
  settings: Settings,
  log: Logger,
  shutdownHooks: ShutdownHook[],
): Promise<string> {
  const port = await findPort(settings.PORT, settings.HOST);
  const reusePort = await canReusePort(port, settings.HOST);
  // The processes load while Redis starts.
  const group = new WorkerGroup(program, settings.WORKERS, log);
  const redisUrl = await resolveRedisUrl(settings, shutdownHooks);
  shutdownHooks.push(() => group.stop());
  const startupBanner = await group.start({ port, reusePort, redisUrl });
  if (settings.METRICS_PORT !== undefined) {
    const { groupMetrics, serveMetrics } = await import('../http/metrics.ts');
    const metrics = groupMetrics(() => group.readyCount);
    shutdownHooks.push(await serveMetrics(metrics, settings.METRICS_PORT, settings.HOST));
  }
  return startupBanner;
}

/** The port, or a free one for 0. Rejects when another process listens on it, even one that would share it. */
async function findPort(port: number, host: string): Promise<number> {
  const deadline_ms = performance.now() + RELEASE_TIMEOUT_MS;
  for (;;) {
    try {
      return await listenOnce({ port, host });
    } catch (error) {
      const isInUse = error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
      if (!isInUse || performance.now() > deadline_ms) throw error;
    }
    await delay(RETRY_EVERY_MS);
  }
}

/** False where the system lacks SO_REUSEPORT; workers then share one listening socket. */
const canReusePort = (port: number, host: string): Promise<boolean> =>
  listenOnce({ port, host, reusePort: true }).then(
    () => true,
    () => false,
  );

async function listenOnce(options: { port: number; host: string; reusePort?: boolean }): Promise<number> {
  const server = createServer().listen(options);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
