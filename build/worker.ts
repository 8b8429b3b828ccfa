/**
 * The worker: `npm run worker`, and beside the gateway with `npm start`. It takes jobs that operators ask for, begins
 * the night by its schedule, and tells Redis of every run. Any number may run; the lake's locks keep them apart, and
 * the schedule fires once however many there are.
 *
 * It runs at lower priority than a gateway on the same machine. SIGINT or SIGTERM cancels what runs and ends it; so
 * does the end of the process that started it beside itself.
 */
import { constants, setPriority } from 'node:os';
import { CuratedError, loadCurated } from '../data/curated/curated.ts';
import { JobService } from '../data/runtime/jobs.ts';
import { createLog } from '../data/runtime/log.ts';
import { PrivateRedisError } from '../data/runtime/private-redis.ts';
import { connectRedis } from '../data/runtime/redis.ts';
import { readSettings, type Settings, SettingsError } from '../data/runtime/settings.ts';
import { runArchive } from './archive/run-archive.ts';
import { findConnector } from './connectors/registry.ts';
import { createHandlers } from './jobs/job-handlers.ts';
import { startJobWorker } from './jobs/job-worker.ts';
import { recoverRuns } from './jobs/recover-runs.ts';
import { RunReporter } from './jobs/run-reporter.ts';
import { combineObservers, loggedProgress } from './runtime/progress.ts';
import { loadOverrides, openRedis } from './runtime/redis-connection.ts';

/** Besides the ingestions: the night, which waits for its own. */
const NIGHT = 1;

async function start(settings: Settings): Promise<() => Promise<void>> {
  const link = await openRedis(settings, createLog(settings), 'tool');
  const mirror = new RunReporter(link.redis, Date.now);
  const log = createLog(settings, mirror);
  const jobs = connectRedis(link.settings, log, 'jobs');
  const desk = new JobService(link.redis, Date.now);
  const tools = async (signal: AbortSignal) => ({
    settings,
    curated: await loadCurated(settings.CURATED_DIR),
    findConnector,
    now: Date.now,
    log,
    overrides: () => loadOverrides(link.redis, settings, log),
    observer: combineObservers(loggedProgress(log), mirror),
    signal,
    archive: () => runArchive({ redis: link.redis, settings, now: Date.now, log, signal }),
    signalFor: (subject: string) => mirror.signalFor(subject),
  });
  const settle = (): Promise<void> => recoverRuns(settings, mirror, Date.now, log);
  await settle();
  const worker = startJobWorker({
    redis: jobs,
    handlers: createHandlers({ tools, desk }),
    log,
    atOnce: settings.INGEST_PARALLEL + NIGHT,
    onLost: settle,
  });
  await desk.schedule(settings.NIGHTLY_CRON === 'off' ? null : settings.NIGHTLY_CRON);
  log.info({ nightly: settings.NIGHTLY_CRON }, 'worker ready');
  return async () => {
    await worker.stop();
    await desk.close();
    await mirror.close();
    jobs.disconnect();
    await link.close();
  };
}

const EXPECTED = [SettingsError, CuratedError, PrivateRedisError];

function sayWhy(error: unknown): void {
  const isExpected = EXPECTED.some((known) => error instanceof known);
  console.error(error instanceof Error ? (isExpected ? error.message : error.stack) : String(error));
}

/** A lower number is a higher priority; not every system lets it be changed. */
function yieldToOthers(): void {
  try {
    setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
  } catch {
    // The night then competes on equal terms.
  }
}

/** Settles when somebody wants this process to end, also while it is still starting. */
const wanted = new Promise<void>((settle) => {
  for (const event of ['SIGINT', 'SIGTERM', 'disconnect']) process.once(event, () => settle());
});

try {
  yieldToOthers();
  const stop = await start(readSettings());
  await wanted;
  await stop();
  process.exit();
} catch (error) {
  sayWhy(error);
  process.exit(1);
}
