/**
 * Starts the gateway: settings, Redis (a private one without `REDIS_URL`), snapshots, then the port. On SIGINT, SIGTERM or
 * SIGHUP it finishes the requests in flight and stops in reverse order. `--beside PROGRAM` runs another program along with it.
 *
 * With `WORKERS` above one this process is the primary of that many worker processes, which run this file too.
 */
import cluster from 'node:cluster';
import { parseArgs } from 'node:util';
import type { Logger } from 'pino';
import { createLog, flushLog } from '../data/runtime/log.ts';
import { readSettings, type Settings } from '../data/runtime/settings.ts';
import {
  runUntilStopped,
  type ShutdownHook,
  STOP_SIGNALS,
  unlessStopped,
} from '../data/runtime/stop-signals.ts';
import { startChildProcess } from './process/child-process.ts';
import { resolveRedisUrl, startFailureReason } from './process/lifecycle.ts';
import { findPort } from './process/ports.ts';

/** Runs everything in one process. Resolves to the start-up banner. */
async function startSingleProcess(
  settings: Settings,
  log: Logger,
  shutdownHooks: ShutdownHook[],
  stopping: AbortSignal,
): Promise<string> {
  const port = await findPort(settings.PORT, settings.HOST);
  const redisUrl = await resolveRedisUrl(settings, shutdownHooks, stopping);
  const { startServerProcess } = await import('./process/server-process.ts');
  const options = { redisUrl, port, reusePort: false, processCount: 1 };
  const server = await startServerProcess(settings, options, log, shutdownHooks);
  stopping.throwIfAborted();
  if (server.metrics && settings.METRICS_PORT !== undefined) {
    const { serveMetrics } = await import('./api/http/server/metrics.ts');
    shutdownHooks.push(await serveMetrics(server.metrics, settings.METRICS_PORT, settings.HOST));
  }
  return server.startLeaderTasks();
}

async function main(): Promise<void> {
  const settings = readSettings();
  const log = createLog(settings);
  await runUntilStopped(log, async (shutdownHooks, stopping) => {
    const primary = settings.WORKERS > 1 ? await import('./process/primary.ts') : null;
    const startupBanner = primary
      ? await primary.startWorkers(import.meta.filename, settings, log, shutdownHooks, stopping)
      : await startSingleProcess(settings, log, shutdownHooks, stopping);
    stopping.throwIfAborted();
    const { beside } = parseArgs({ options: { beside: { type: 'string' } } }).values;
    if (beside !== undefined) {
      const child = startChildProcess(beside, log);
      shutdownHooks.push(() => child.stop());
      // The banner comes after its messages.
      await unlessStopped(child.ready, stopping);
    }
    await flushLog();
    stopping.throwIfAborted();
    process.stdout.write(startupBanner);
  });
}

async function startWorker(): Promise<void> {
  // A terminal sends Ctrl-C to every process of the group; only the primary acts on it.
  for (const signal of STOP_SIGNALS) process.on(signal, () => {});
  const { runWorker } = await import('./process/worker.ts');
  runWorker();
}

try {
  await (cluster.isWorker ? startWorker() : main());
} catch (error) {
  const reason = startFailureReason(error);
  if (reason === null) console.error(error);
  else process.stderr.write(`${reason}\n`);
  process.exit(1);
}
