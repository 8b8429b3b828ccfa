/**
 * Starts the gateway: settings, Redis (a private one when none is named), snapshots, then the port. Ends it in the
 * reverse order on SIGINT or SIGTERM, when everything in flight has been answered. `--beside PROGRAM` runs another
 * program along with it.
 *
 * With `WORKERS` above one this process answers nothing itself and runs that many of its own kind.
 */
import cluster from 'node:cluster';
import { parseArgs } from 'node:util';
import type { Logger } from 'pino';
import { createLog } from '../data/runtime/log.ts';
import { readSettings, type Settings } from '../data/runtime/settings.ts';
import { startChildProcess } from './process/child-process.ts';
import {
  resolveRedisUrl,
  runShutdownHooks,
  type ShutdownHook,
  shutDownOnSignal,
  startFailureReason,
} from './process/lifecycle.ts';

/** One process for everything. Resolves to the startupBanner. */
async function startAlone(settings: Settings, log: Logger, shutdownHooks: ShutdownHook[]): Promise<string> {
  const redisUrl = await resolveRedisUrl(settings, shutdownHooks);
  const { startServerProcess } = await import('./process/server-process.ts');
  const where = { redisUrl, port: settings.PORT, reusePort: false, processCount: 1 };
  const server = await startServerProcess(settings, where, log, shutdownHooks);
  if (server.metrics && settings.METRICS_PORT !== undefined) {
    const { serveMetrics } = await import('./http/metrics.ts');
    shutdownHooks.push(await serveMetrics(server.metrics, settings.METRICS_PORT, settings.HOST));
  }
  return server.startLeaderTasks();
}

async function startGroup(settings: Settings, log: Logger, shutdownHooks: ShutdownHook[]): Promise<string> {
  const { startWorkers } = await import('./process/primary.ts');
  return startWorkers(import.meta.filename, settings, log, shutdownHooks);
}

async function main(): Promise<void> {
  const settings = readSettings();
  const log = createLog(settings);
  const shutdownHooks: ShutdownHook[] = [];
  shutDownOnSignal(shutdownHooks, log);
  try {
    const start = settings.WORKERS > 1 ? startGroup : startAlone;
    process.stdout.write(await start(settings, log, shutdownHooks));
    const { beside } = parseArgs({ options: { beside: { type: 'string' } } }).values;
    if (beside !== undefined) shutdownHooks.push(startChildProcess(beside, log));
  } catch (error) {
    await runShutdownHooks(shutdownHooks, log);
    throw error;
  }
}

async function work(): Promise<void> {
  // A terminal sends its Ctrl-C to every process; when to end is the primary's word.
  process.on('SIGINT', () => {});
  process.on('SIGTERM', () => {});
  const { runWorker } = await import('./process/worker.ts');
  runWorker();
}

try {
  await (cluster.isWorker ? work() : main());
} catch (error) {
  const reason = startFailureReason(error);
  if (reason === null) console.error(error);
  else process.stderr.write(`${reason}\n`);
  process.exit(1);
}
