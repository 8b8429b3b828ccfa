/** Jobs from asking to their end, on a real Redis: once each, seen while they run, ended when somebody wants it. */
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { createHandlers, type JobHandlers } from '../../../build/jobs/job-handlers.ts';
import { type JobWorker, startJobWorker } from '../../../build/jobs/job-worker.ts';
import { recoverRuns } from '../../../build/jobs/recover-runs.ts';
import { RunReporter } from '../../../build/jobs/run-reporter.ts';
import type { NightlyDependencies } from '../../../build/nightly.ts';
import { loadOverrides } from '../../../build/runtime/redis-connection.ts';
import { acquireLock } from '../../../data/runtime/file-lock.ts';
import { type EnqueueResult, JobService } from '../../../data/runtime/jobs.ts';
import { connectRedis, type RedisClient } from '../../../data/runtime/redis.ts';
import { RunStore } from '../../../data/runtime/run-store.ts';
import { SNAPSHOT_SUBJECT } from '../../../data/schema/jobs.ts';
import { redisKeys } from '../../../data/schema/redis-keys.ts';
import { silentLog, startRedis, startRedisCluster } from '../../redis.ts';
import { World } from '../world.ts';

const COUNTRIES = ['AFG', 'ALB', 'BRA'] as const;
const figures = (value: number) => ({
  one: { name: 'One', cells: COUNTRIES.map((place): [string, number, number] => [place, 2020, value]) },
});
const until = <Value>(look: () => Promise<Value>) => vi.waitFor(look, { timeout: 20_000, interval: 20 });

describe.each([
  ['one Redis', startRedis, false],
  ['a cluster', startRedisCluster, true],
] as const)('a worker on %s', (_, startServer, isCluster) => {
  let server: Awaited<ReturnType<typeof startServer>>;
  let redis: RedisClient;
  let world: World;
  let mirror: RunReporter;
  let desk: JobService;
  let book: RunStore;
  let worker: JobWorker | undefined;
  let jobs: RedisClient | undefined;

  beforeAll(async () => {
    server = await startServer();
    redis = await server.connect();
  });
  afterAll(() => server.stop());
  beforeEach(async () => {
    world = await World.create({ atlas: {}, globe: {} });
    await world.publish('atlas', figures(1));
    await world.publish('globe', figures(2));
    mirror = new RunReporter(redis, () => world.clock);
    desk = new JobService(redis, () => world.clock);
    book = new RunStore(redis, () => world.clock);
  });
  afterEach(async () => {
    await worker?.stop();
    jobs?.disconnect();
    worker = undefined;
    await desk.close();
    await mirror.close();
    const nodes = 'nodes' in redis ? redis.nodes('master') : [redis];
    for (const node of nodes) await node.flushall();
    await world.remove();
  });

  async function tools(signal: AbortSignal, more: Partial<NightlyDependencies> = {}) {
    const log = pino({ level: 'info', timestamp: pino.stdTimeFunctions.isoTime }, mirror);
    return {
      ...(await world.dependencies()),
      log,
      observer: mirror,
      signal,
      signalFor: (subject: string) => mirror.signalFor(subject),
      overrides: () => loadOverrides(redis, world.settings, log),
      ...more,
    };
  }

  /** @param slowly told when a provider's series is about to be read, and waited for. */
  function begin(slowly?: (signal: AbortSignal) => Promise<void>, handlers?: Partial<JobHandlers>): void {
    const perform = createHandlers({
      desk,
      tools: async (signal) => {
        const own = await tools(signal);
        if (!slowly) return own;
        const findConnector: NightlyDependencies['findConnector'] = (protocol) => {
          const connector = own.findConnector(protocol);
          return {
            ...connector,
            read: async function* (input) {
              await slowly(input.signal);
              yield* connector.read(input);
            },
          };
        };
        return { ...own, findConnector };
      },
    });
    jobs = connectRedis({ REDIS_URL: server.url, REDIS_CLUSTER: isCluster }, silentLog, 'jobs');
    worker = startJobWorker({
      redis: jobs,
      handlers: { ...perform, ...handlers },
      log: silentLog,
      atOnce: 2,
      onLost: () => recoverRuns(world.settings, mirror, () => world.clock, silentLog),
    });
  }

  const ended = (subject: string, status: string) =>
    until(async () => {
      const { runs } = await book.list({ subject });
      expect(runs.map((run) => run.status)).toContain(status);
      return runs;
    });

  it('ingests what was asked for, publishes it, and tells of both runs with their logs', async () => {
    begin();
    expect(await desk.ingest('atlas', { by: 'olga' })).toMatchObject({ state: 'queued' });
    const [run] = await ended('atlas', 'succeeded');
    expect(run?.record).toMatchObject({ rows_written: 3, provider_id: 'atlas' });
    const [build] = await ended(SNAPSHOT_SUBJECT, 'succeeded');
    expect(build?.build).toMatchObject({
      snapshot: await world.shelf.currentId(),
      counts: { indicators: 1 },
    });
    await mirror.flush();
    const log = await book.log('atlas', run?.run_id ?? '');
    expect(log.map(({ msg }) => msg)).toEqual(['ingestion started', 'ingestion ended']);
    expect((await book.list()).total).toBe(2);
  });

  it('never does two jobs for one provider at once', async () => {
    const gate = Promise.withResolvers<void>();
    begin(() => gate.promise);
    const asked: EnqueueResult[] = [await desk.ingest('atlas'), await desk.ingest('atlas')];
    expect(asked.map(({ state }) => state)).toEqual(['queued', 'waiting']);
    expect(asked[1]?.job).toBe(asked[0]?.job);
    await ended('atlas', 'running');
    const third = await desk.ingest('atlas', { force: true });
    expect(third).toMatchObject({ state: 'running', run: (await book.running('atlas'))?.run_id });
    expect(await desk.ingest('globe')).toMatchObject({ state: 'queued' });
    gate.resolve();
    await ended('atlas', 'succeeded');
    await ended('globe', 'succeeded');
    expect((await book.list({ subject: 'atlas' })).total).toBe(1);
  });

  it('leaves a provider to another process that is at it', async () => {
    const lock = await acquireLock(world.lake('atlas').lockFile, 'provider atlas');
    const handlers = createHandlers({ desk, tools: (signal) => tools(signal) });
    const result = await handlers.ingest(
      { provider: 'atlas', force: false, by: null },
      new AbortController().signal,
    );
    expect(result).toEqual({
      outcome: 'busy',
      reason: expect.stringContaining('provider atlas is already being worked on'),
    });
    await lock.release();
  });

  it('ends a run that somebody wants to end, and that one only', async () => {
    const gate = Promise.withResolvers<void>();
    begin((signal) =>
      Promise.race([
        gate.promise,
        // The end may be wanted before anything is read.
        new Promise<void>((settle) => {
          signal.addEventListener('abort', () => settle());
          if (signal.aborted) settle();
        }),
      ]),
    );
    await desk.ingest('atlas');
    await desk.ingest('globe');
    await ended('globe', 'running');
    const [run] = await ended('atlas', 'running');
    expect(await book.cancel('atlas', run?.run_id ?? '', 'olga')).toBe(true);
    await ended('atlas', 'cancelled');
    expect((await book.running('globe'))?.status).toBe('running');
    gate.resolve();
    await ended('globe', 'succeeded');
    expect(await book.cancel('atlas', run?.run_id ?? '', 'olga')).toBe(false);
  });

  it("publishes what operators changed, also without Redis and by the next night's build", async () => {
    begin();
    await redis.hset(redisKeys.overrides, 'atlas.one', JSON.stringify({ enabled: false }));
    await desk.nightly({ all: true });
    await ended(SNAPSHOT_SUBJECT, 'succeeded');
    const ids = async () =>
      ((await world.body('routes/indicators.json')).data as { id: string }[]).map(({ id }) => id);
    expect(await ids()).toEqual(['globe.one']);
    expect([...(await loadOverrides(null, world.settings, silentLog))]).toEqual([
      ['atlas.one', { enabled: false }],
    ]);
    await redis.hset(redisKeys.overrides, 'atlas.one', JSON.stringify({ name: 'Uno' }));
    world.clock += 60_000;
    await desk.rebuild({ by: 'olga' });
    await until(async () => expect(await ids()).toEqual(['globe.one', 'atlas.one']));
  });

  it('rebuilds once more when asked while it rebuilds', async () => {
    const gate = Promise.withResolvers<void>();
    let builds = 0;
    begin(undefined, {
      rebuild: async () => {
        builds += 1;
        await gate.promise;
        return { outcome: 'succeeded', reason: null };
      },
    });
    await desk.rebuild();
    await until(async () => expect(builds).toBe(1));
    for (let again = 0; again < 3; again += 1) await desk.rebuild();
    gate.resolve();
    await until(async () => expect(builds).toBe(2));
  });

  it('goes back to an earlier snapshot', async () => {
    begin();
    await desk.ingest('atlas');
    await ended(SNAPSHOT_SUBJECT, 'succeeded');
    const first = await world.shelf.currentId();
    world.clock += 60_000;
    await desk.rebuild();
    await until(async () => expect(await world.shelf.currentId()).not.toBe(first));
    await desk.rollback(null);
    await until(async () => expect(await world.shelf.currentId()).toBe(first));
  });

  it('takes a held run as good when told so', async () => {
    begin();
    await desk.ingest('atlas');
    await ended('atlas', 'succeeded');
    world.clock += 60_000;
    await world.publish('atlas', figures(1000));
    await desk.ingest('atlas');
    const [held] = await ended('atlas', 'suspicious');
    expect(held?.reason).toContain('median went from 1 to 1000');
    world.clock += 60_000;
    await desk.accept('atlas', held?.run_id ?? '');
    await until(async () =>
      expect((await world.lake('atlas').current())?.record.accepted_run).toBe(held?.run_id),
    );
  });

  it('keeps one schedule, however often it is set', async () => {
    await desk.schedule('0 2 * * *');
    await desk.schedule('30 3 * * *');
    const { Queue } = await import('bullmq');
    const queue = new Queue('ingest', { connection: redis, prefix: redisKeys.jobs });
    expect((await queue.getJobSchedulers()).map(({ pattern, tz }) => [pattern, tz])).toEqual([
      ['30 3 * * *', 'UTC'],
    ]);
    await desk.schedule(null);
    expect(await queue.getJobSchedulersCount()).toBe(0);
    await queue.close();
  });

  it('takes a run for failed that is not heard of any more', async () => {
    const began = {
      run_id: 'r1',
      provider_id: 'atlas',
      status: 'running',
      started_at: '2026-11-20T12:00:00+00:00',
    };
    const rest = { rows_written: 0, indicators: 0, countries: 0, bytes: 0, vintage: null, rejects: {} };
    mirror.onRun({
      ...began,
      ...rest,
      status: 'running',
      finished_at: null,
      failed_indicators: [],
      reason: null,
    });
    await mirror.flush();
    expect((await book.running('atlas'))?.run_id).toBe('r1');
    const later = new RunStore(redis, () => world.clock + 31_000);
    expect(await later.running('atlas')).toBeNull();
    expect(await later.get('atlas', 'r1')).toMatchObject({
      status: 'failed',
      reason: expect.stringContaining('gone'),
    });
  });

  it('tells of runs that Redis missed', async () => {
    await world.ingest('atlas');
    expect((await book.list()).total).toBe(0);
    await recoverRuns(world.settings, mirror, () => world.clock, silentLog);
    await recoverRuns(world.settings, mirror, () => world.clock, silentLog);
    expect((await book.list({ subject: 'atlas' })).runs.map(({ status }) => status)).toEqual(['succeeded']);
  });
});
