/**
 * The primary process when there are several workers. It serves no requests: it claims the port, holds the private
 * Redis, starts, replaces and ends the workers, and adds up their metrics.
 */

import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import { startPrivateRedis } from '../../data/runtime/private-redis.ts';
import type { Settings } from '../../data/runtime/settings.ts';
import type { ShutdownHook } from './lifecycle.ts';
import { WorkerGroup } from './worker-group.ts';

/** The workers of a primary that was killed let go of the port within moments. */
const FREE_WITHIN_MS = 1_000;
const AGAIN_AFTER_MS = 50;

export interface SharedPort {
  port: number;
  /** False where the system cannot deal out connections: then workers share one listening socket. */
  reusePort: boolean;
}

/**
 * Finds a port that nobody listens on, not even somebody who would share it.
 * @throws what listening does, when the port is in use.
 */
export async function claimPort({ PORT, HOST }: Pick<Settings, 'PORT' | 'HOST'>): Promise<SharedPort> {
  const port = await freePort(PORT, HOST);
  return { port, reusePort: await canShare(port, HOST) };
}

async function freePort(port: number, host: string): Promise<number> {
  const deadline_ms = performance.now() + FREE_WITHIN_MS;
  for (;;) {
    try {
      return await listenOnce({ port, host });
    } catch (error) {
      const inUse = error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
      if (!inUse || performance.now() > deadline_ms) throw error;
    }
    await pause(AGAIN_AFTER_MS);
  }
}

const canShare = (port: number, host: string): Promise<boolean> =>
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

/** Resolves to the startupBanner when all workers answer. @param program the script that a worker runs. */
export async function startWorkers(
  program: string,
  settings: Settings,
  log: Logger,
  shutdownHooks: ShutdownHook[],
): Promise<string> {
  const place = await claimPort(settings);
  // The processes come up while Redis does.
  const group = new WorkerGroup(program, settings.WORKERS, log);
  const isPrivate = settings.REDIS_URL === undefined;
  const redis = isPrivate ? startPrivateRedis(settings.REDIS_DIR) : null;
  if (redis) shutdownHooks.push(async () => (await redis).stop());
  shutdownHooks.push(() => group.stop());
  const redisUrl = settings.REDIS_URL ?? (await redis)?.url ?? '';
  const startupBanner = await group.begin({ ...place, redisUrl });
  if (settings.METRICS_PORT !== undefined) {
    const { groupMetrics, serveMetrics } = await import('../http/metrics.ts');
    shutdownHooks.push(
      await serveMetrics(
        groupMetrics(() => group.answering),
        settings.METRICS_PORT,
        settings.HOST,
      ),
    );
  }
  return startupBanner;
}
