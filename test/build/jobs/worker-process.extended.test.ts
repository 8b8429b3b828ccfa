/** The worker process: killed during a run, stopped by a signal, and as a child process. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createHandlers } from '../../../build/jobs/job-handlers.ts';
import { startJobWorker } from '../../../build/jobs/job-worker.ts';
import { RunReporter, recoverRuns } from '../../../build/jobs/run-reporter.ts';
import { JobService } from '../../../data/runtime/jobs.ts';
import { connectRedis } from '../../../data/runtime/redis.ts';
import { RunStore } from '../../../data/runtime/run-store.ts';
import { INGEST_QUEUE } from '../../../data/schema/jobs.ts';
import { redisKeys } from '../../../data/schema/redis-keys.ts';
import { startChildProcess } from '../../../gateway/process/child-process.ts';
import { expireLock } from '../../expire-lock.ts';
import { type Listening, listen } from '../../listen.ts';
import { silentLog, useRedis } from '../../redis.ts';
import { pidFrom, sendSignal } from '../../signals.ts';
import { World } from '../world.ts';

const WORKER = fileURLToPath(new URL('../../../build/worker.ts', import.meta.url));
const until = <Value>(look: () => Promise<Value>) => vi.waitFor(look, { timeout: 120_000, interval: 20 });

let world: World;
/** An upstream that never answers. */
let silent: Listening;
let child: ChildProcess | undefined;

const server = await useRedis();
const redis = await server.connect();
beforeEach(async () => {
  world = await World.create();
  silent = await listen(createServer(() => {}));
});
afterEach(async () => {
  child?.kill('SIGKILL');
  await silent.stop();
  if ('flushall' in redis) await redis.flushall();
  await world.remove();
});

const environment = (more: Record<string, string> = {}) => ({
  REDIS_URL: server.url,
  VAR_DIR: world.directory,
  CURATED_DIR: world.settings.CURATED_DIR,
  PROVIDER_MIRROR: silent.url,
  NIGHTLY_CRON: 'off',
  LOG_LEVEL: 'silent',
  ...more,
});

function startProcess(more: Record<string, string> = {}): ChildProcess {
  const settings = Object.entries(environment(more)).map(([name, value]) => `${name}=${value}`);
  return spawn('env', [...settings, process.execPath, WORKER], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
}

/** Starts a worker process with a run that waits for its upstream forever. */
async function startBusyWorker(): Promise<{
  jobs: JobService;
  runs: RunStore;
  runId: string;
  job: string | null;
}> {
  child = startProcess();
  const jobs = new JobService(redis, Date.now);
  const runs = new RunStore(redis, Date.now);
  const { job } = await jobs.ingest('atlas');
  const run = await until(async () => {
    const running = await runs.running('atlas');
    expect(running).not.toBeNull();
    return running;
  });
  return { jobs, runs, runId: run?.run_id ?? '', job };
}

it('a run whose worker was killed becomes failed and its provider can be ingested again', async () => {
  const { jobs, runs, runId, job } = await startBusyWorker();
  child?.kill('SIGKILL');
  await once(child as ChildProcess, 'exit');
  await expireLock(world.lake('atlas').lockFile);
  // Expire the dead worker's lock on its job.
  for (const held of [`${job}:lock`, 'stalled-check'])
    await redis.del(`${redisKeys.jobs}:${INGEST_QUEUE}:${held}`);
  const reporter = new RunReporter(redis, Date.now);
  const jobConnection = connectRedis({ REDIS_URL: server.url, REDIS_CLUSTER: false }, silentLog, 'jobs');
  await world.publish('atlas', { one: { cells: [['AFG', 2020, 1]] } });
  const createContext = async (signal: AbortSignal) => ({
    ...(await world.dependencies()),
    now: Date.now,
    log: pino({ level: 'silent' }),
    observer: reporter,
    signal,
  });
  const worker = startJobWorker({
    redis: jobConnection,
    handlers: createHandlers({ createContext, jobs }),
    log: silentLog,
    concurrency: 1,
    onLost: () => recoverRuns(world.settings, reporter, Date.now, silentLog),
    lock_ms: 2_000,
    stalledCheck_ms: 100,
  });
  await until(async () => {
    expect(await runs.get('atlas', runId)).toMatchObject({
      status: 'failed',
      reason: 'The process ended before the run finished.',
    });
  });
  expect(await jobs.ingest('atlas')).toMatchObject({ state: 'queued' });
  await until(async () => {
    const { runs: listed } = await runs.list({ subject: 'atlas' });
    expect(listed.map(({ status }) => status)).toEqual(['succeeded', 'failed']);
  });
  await worker.stop();
  await jobs.close();
  await reporter.close();
  jobConnection.disconnect();
});

it('starts the nightly run by its schedule, and removes the schedule when it is off', async () => {
  const runs = new RunStore(redis, Date.now);
  const schedules = async () =>
    'zcard' in redis ? redis.zcard(`${redisKeys.jobs}:${INGEST_QUEUE}:repeat`) : Number.NaN;
  child = startProcess({ NIGHTLY_CRON: '* * * * * *' });
  await until(async () => expect(await runs.running('atlas')).not.toBeNull());
  expect(await schedules()).toBe(1);
  child.kill('SIGTERM');
  await once(child, 'exit');
  child = startProcess();
  await until(async () => expect(await schedules()).toBe(0));
});

it('cancels its run before it stops on SIGTERM', async () => {
  const { jobs, runs, runId } = await startBusyWorker();
  child?.kill('SIGTERM');
  await once(child as ChildProcess, 'exit');
  expect((await runs.get('atlas', runId))?.status).toBe('cancelled');
  expect((await world.lake('atlas').records()).map(({ status }) => status)).toEqual(['cancelled']);
  await jobs.close();
});

it('ends with its parent process', async () => {
  child = startProcess();
  await until(async () => {
    const clients = String('client' in redis ? await redis.client('LIST') : '');
    expect(clients).toContain('name=almanac-jobs');
  });
  child.disconnect();
  await once(child, 'exit');
  expect(child.signalCode).toBeNull();
});

it('a child process ends with the gateway and is restarted when it dies', async () => {
  const pids: number[] = [];
  const log = pino({ level: 'silent' });
  const program = `${world.directory}/child.ts`;
  const note = `${world.directory}/pids`;
  await world.write(
    'child.ts',
    `import { appendFileSync } from 'node:fs';
     appendFileSync(${JSON.stringify(note)}, process.pid + '\\n');
     process.on('disconnect', () => process.exit());
     setInterval(() => {}, 1000);`,
  );
  const { ready, stop } = startChildProcess(program, log);
  const started = (times: number) =>
    until(async () => {
      const lines = (await readFile(note, 'utf8')).split('\n').slice(0, -1);
      expect(lines).toHaveLength(times);
      pids.splice(0, pids.length, ...lines.map(pidFrom));
    });
  await started(1);
  sendSignal(pids[0], 'SIGKILL');
  await started(2);
  await ready;
  await stop();
  expect(() => process.kill(pids[1] ?? 0, 0)).toThrow('ESRCH');
});
