/**
 * The worker: `npm run worker`, and a child process of the gateway with `npm start`. It runs the operators' jobs,
 * starts the nightly run by its schedule, and reports runs to Redis. Any number of workers may run: the lake's locks
 * exclude each other, and the schedule fires once. `--nightly` also queues a nightly run at the start.
 *
 * SIGINT, SIGTERM, SIGHUP and the end of the parent process cancel running jobs and end the worker.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { constants, setPriority } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { loadCurated } from '../data/curated/curated.ts';
import { JobService } from '../data/runtime/jobs.ts';
import { createLog, flushLog } from '../data/runtime/log.ts';
import { connectRedis, type RedisClient } from '../data/runtime/redis.ts';
import { readSettings, type Settings } from '../data/runtime/settings.ts';
import { runUntilStopped, type ShutdownHook, STOP_SIGNALS } from '../data/runtime/stop-signals.ts';
import { createHandlers, RunReporter, recoverRuns, startJobWorker } from './jobs/jobs.ts';
import { printedError } from './runtime/errors.ts';
import { openStore } from './runtime/redis-connection.ts';
import { openContext } from './step.ts';

/** A nightly run occupies a slot while it waits for its own ingestions. */
const NIGHTLY_SLOTS = 1;

async function start(
  settings: Settings,
  runsNightlyNow: boolean,
  shutdownHooks: ShutdownHook[],
  stopping: AbortSignal,
): Promise<void> {
  const connection = await openStore(settings, createLog(settings));
  shutdownHooks.push(() => connection.close());
  const { redis } = connection;
  const reporter = new RunReporter(redis, Date.now);
  shutdownHooks.push(() => reporter.close());
  const log = createLog(settings, reporter);
  const jobConnection = connectRedis(connection.settings, log, 'jobs');
  shutdownHooks.push(async () => jobConnection.disconnect());
  const jobs = new JobService(redis, Date.now);
  shutdownHooks.push(() => jobs.close());
  const createContext = async (signal: AbortSignal) =>
    openContext(settings, await loadCurated(settings.CURATED_DIR), { redis, reporter, log, signal });
  const recover = (): Promise<void> => recoverRuns(settings, reporter, Date.now, log);
  await recover();
  stopping.throwIfAborted();
  const worker = startJobWorker({
    redis: jobConnection,
    handlers: createHandlers({ createContext, jobs }),
    log,
    concurrency: settings.INGEST_PARALLEL + NIGHTLY_SLOTS,
    onLost: recover,
  });
  shutdownHooks.push(() => worker.stop());
  await jobs.schedule(settings.NIGHTLY_CRON === 'off' ? null : settings.NIGHTLY_CRON);
  if (runsNightlyNow) await jobs.nightly();
  const { HEALTH_PORT: port, HOST: host } = settings;
  if (port !== undefined) {
    const stopHealth = await serveHealth(redis, { port, host });
    shutdownHooks.push(async () => stopHealth());
  }
  log.info({ nightly: settings.NIGHTLY_CRON }, 'worker ready');
  await flushLog();
  // The parent may be gone by now.
  process.send?.('ready', undefined, {}, () => {});
}

const ANSWER_WITHIN_MS = 2_000;

/**
 * The worker's health endpoint, for containers: `GET /healthz` is 200 while its Redis answers, else 503.
 * @returns a function that stops it.
 */
async function serveHealth(
  redis: RedisClient,
  { port, host }: { port: number; host: string },
): Promise<() => void> {
  const server = createServer(async (request, response) => {
    const isKnown = request.method === 'GET' && request.url === '/healthz';
    response.writeHead(isKnown ? ((await answers(redis)) ? 200 : 503) : 404).end();
  });
  server.listen(port, host);
  await once(server, 'listening');
  return () => {
    server.close();
    server.closeAllConnections();
  };
}

/** Whether Redis answers in time. */
function answers(redis: RedisClient): Promise<boolean> {
  const ping = redis.ping().then(
    () => true,
    () => false,
  );
  return Promise.race([ping, pause(ANSWER_WITHIN_MS, false, { ref: false })]);
}

/** Gives way to a gateway on the same machine. */
function lowerPriority(): void {
  try {
    setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
  } catch {
    // Not every system permits it.
  }
}

try {
  lowerPriority();
  const { nightly = false } = parseArgs({ options: { nightly: { type: 'boolean' } } }).values;
  const settings = readSettings();
  await runUntilStopped(
    createLog(settings),
    (shutdownHooks, stopping) => start(settings, nightly, shutdownHooks, stopping),
    [...STOP_SIGNALS, 'disconnect'],
  );
} catch (error) {
  console.error(printedError(error));
  process.exit(1);
}
