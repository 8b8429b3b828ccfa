/** The worker as a process: killed in the middle of a run, stopped, and beside a gateway that is killed. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { createHandlers } from '../../../build/jobs/job-handlers.ts';
import { startJobWorker } from '../../../build/jobs/job-worker.ts';
import { recoverRuns } from '../../../build/jobs/recover-runs.ts';
import { RunReporter } from '../../../build/jobs/run-reporter.ts';
import { JobService } from '../../../data/runtime/jobs.ts';
import { connectRedis, type RedisClient } from '../../../data/runtime/redis.ts';
import { RunStore } from '../../../data/runtime/run-store.ts';
import { INGEST_QUEUE } from '../../../data/schema/jobs.ts';
import { redisKeys } from '../../../data/schema/redis-keys.ts';
import { startChildProcess } from '../../../gateway/process/child-process.ts';
import { silentLog, startRedis, type TestRedis } from '../../redis.ts';
import { pidFrom, sendSignal } from '../../signals.ts';
import { World } from '../world.ts';

const WORKER = fileURLToPath(new URL('../../../build/worker.ts', import.meta.url));
const until = <Value>(look: () => Promise<Value>) => vi.waitFor(look, { timeout: 20_000, interval: 20 });

let server: TestRedis;
let redis: RedisClient;
let world: World;
/** An upstream that takes requests and never answers. */
let silent: Server;
let child: ChildProcess | undefined;

beforeAll(async () => {
  server = await startRedis();
  redis = await server.connect();
});
afterAll(() => server.stop());
beforeEach(async () => {
  world = await World.create();
  silent = createServer(() => {}).listen(0, '127.0.0.1');
  await once(silent, 'listening');
});
afterEach(async () => {
  child?.kill('SIGKILL');
  silent.closeAllConnections();
  silent.close();
  if ('flushall' in redis) await redis.flushall();
  await world.remove();
});

const environment = (more: Record<string, string> = {}) => ({
  REDIS_URL: server.url,
  VAR_DIR: world.directory,
  CURATED_DIR: world.settings.CURATED_DIR,
  PROVIDER_MIRROR: `http://127.0.0.1:${(silent.address() as AddressInfo).port}`,
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

/** A worker in a process of its own that has begun a run which never ends by itself. */
async function atWork(): Promise<{ desk: JobService; book: RunStore; runId: string; job: string | null }> {
  child = startProcess();
  const desk = new JobService(redis, Date.now);
  const book = new RunStore(redis, Date.now);
  const { job } = await desk.ingest('atlas');
  const run = await until(async () => {
    const running = await book.running('atlas');
    expect(running).not.toBeNull();
    return running;
  });
  return { desk, book, runId: run?.run_id ?? '', job };
}

it('a run whose worker was killed is recognised as failed, and the provider is free again', async () => {
  const { desk, book, runId, job } = await atWork();
  child?.kill('SIGKILL');
  await once(child as ChildProcess, 'exit');
  // The time of the dead worker's hold on its job passes.
  for (const held of [`${job}:lock`, 'stalled-check'])
    await redis.del(`${redisKeys.jobs}:${INGEST_QUEUE}:${held}`);
  const mirror = new RunReporter(redis, Date.now);
  const jobs = connectRedis({ REDIS_URL: server.url, REDIS_CLUSTER: false }, silentLog, 'jobs');
  await world.publish('atlas', { one: { cells: [['AFG', 2020, 1]] } });
  const tools = async (signal: AbortSignal) => ({
    ...(await world.dependencies()),
    now: Date.now,
    log: pino({ level: 'silent' }),
    observer: mirror,
    signal,
  });
  const worker = startJobWorker({
    redis: jobs,
    handlers: createHandlers({ desk, tools }),
    log: silentLog,
    atOnce: 1,
    onLost: () => recoverRuns(world.settings, mirror, Date.now, silentLog),
    lock_ms: 2_000,
    lookForStalled_ms: 100,
  });
  await until(async () => {
    expect(await book.get('atlas', runId)).toMatchObject({
      status: 'failed',
      reason: 'The process was ended before the run was.',
    });
  });
  expect(await desk.ingest('atlas')).toMatchObject({ state: 'queued' });
  await until(async () => {
    const { runs } = await book.list({ subject: 'atlas' });
    expect(runs.map(({ status }) => status)).toEqual(['succeeded', 'failed']);
  });
  await worker.stop();
  await desk.close();
  await mirror.close();
  jobs.disconnect();
});

it('the night begins by its schedule, asked for by nobody, and no longer when the schedule is off', async () => {
  const book = new RunStore(redis, Date.now);
  const schedules = async () =>
    'zcard' in redis ? redis.zcard(`${redisKeys.jobs}:${INGEST_QUEUE}:repeat`) : Number.NaN;
  child = startProcess({ NIGHTLY_CRON: '* * * * * *' });
  await until(async () => expect(await book.running('atlas')).not.toBeNull());
  expect(await schedules()).toBe(1);
  child.kill('SIGTERM');
  await once(child, 'exit');
  child = startProcess();
  await until(async () => expect(await schedules()).toBe(0));
});

it('a worker that is stopped cancels its run first', async () => {
  const { desk, book, runId } = await atWork();
  child?.kill('SIGTERM');
  await once(child as ChildProcess, 'exit');
  expect((await book.get('atlas', runId))?.status).toBe('cancelled');
  expect((await world.lake('atlas').records()).map(({ status }) => status)).toEqual(['cancelled']);
  await desk.close();
});

it('a worker ends with the process that runs it beside itself, however that ends', async () => {
  child = startProcess();
  await until(async () => {
    const clients = String('client' in redis ? await redis.client('LIST') : '');
    expect(clients).toContain('name=almanac-jobs');
  });
  child.disconnect();
  await once(child, 'exit');
  expect(child.signalCode).toBeNull();
});

it('a companion is ended with the gateway, and started again when it ends by itself', async () => {
  const pids: number[] = [];
  const log = pino({ level: 'silent' });
  const program = `${world.directory}/companion.ts`;
  const note = `${world.directory}/pids`;
  await world.write(
    'companion.ts',
    `import { appendFileSync } from 'node:fs';
     appendFileSync(${JSON.stringify(note)}, process.pid + '\\n');
     process.on('disconnect', () => process.exit());
     setInterval(() => {}, 1000);`,
  );
  const stop = startChildProcess(program, log);
  const started = (times: number) =>
    until(async () => {
      const lines = (await readFile(note, 'utf8')).split('\n').slice(0, -1);
      expect(lines).toHaveLength(times);
      pids.splice(0, pids.length, ...lines.map(pidFrom));
    });
  await started(1);
  sendSignal(pids[0], 'SIGKILL');
  await started(2);
  await stop();
  expect(() => process.kill(pids[1] ?? 0, 0)).toThrow('ESRCH');
});
