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
import { resolveRedisUrl } from './process/redis-url.ts';
import { type Stop, stopAll, stopOnSignal } from './process/shutdown.ts';
import { startFailureReason } from './process/start-failure.ts';

/** One process for everything. Resolves to the startupBanner. */
async function startAlone(settings: Settings, log: Logger, stops: Stop[]): Promise<string> {
  const redisUrl = await resolveRedisUrl(settings, stops);
  const { serve } = await import('./process/server-process.ts');
  const where = { redisUrl, port: settings.PORT, reusePort: false, sharers: 1 };
  const serving = await serve(settings, where, log, stops);
  if (serving.metrics && settings.METRICS_PORT !== undefined) {
    const { serveMetrics } = await import('./http/metrics.ts');
    stops.push(await serveMetrics(serving.metrics, settings.METRICS_PORT, settings.HOST));
  }
  return serving.lead();
}

async function startGroup(settings: Settings, log: Logger, stops: Stop[]): Promise<string> {
  const { startWorkers } = await import('./process/workers/primary.ts');
  return startWorkers(import.meta.filename, settings, log, stops);
}

async function main(): Promise<void> {
  const settings = readSettings();
  const log = createLog(settings);
  const stops: Stop[] = [];
  stopOnSignal(stops, log);
  try {
    const start = settings.WORKERS > 1 ? startGroup : startAlone;
    process.stdout.write(await start(settings, log, stops));
    const { beside } = parseArgs({ options: { beside: { type: 'string' } } }).values;
    if (beside !== undefined) stops.push(startChildProcess(beside, log));
  } catch (error) {
    await stopAll(stops, log);
    throw error;
  }
}

async function work(): Promise<void> {
  // A terminal sends its Ctrl-C to every process; when to end is the primary's word.
  process.on('SIGINT', () => {});
  process.on('SIGTERM', () => {});
  const { runWorker } = await import('./process/workers/worker.ts');
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
