/**
 * Jobs on a real Redis or a cluster, from the request to the end: run once, visible while running, cancellable.
 * `job-worker.test.ts` and `job-worker.extended.test.ts` run these tests.
 */
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createHandlers, type JobHandlers } from '../../../build/jobs/job-handlers.ts';
import { type JobWorker, startJobWorker } from '../../../build/jobs/job-worker.ts';
import { RunReporter, recoverRuns } from '../../../build/jobs/run-reporter.ts';
import { emptyRecord } from '../../../build/lake/provider-lake.ts';
import type { NightlyDependencies } from '../../../build/nightly.ts';
import { loadOverrides } from '../../../build/runtime/redis-connection.ts';
import { acquireLock } from '../../../data/runtime/file-lock.ts';
import { type EnqueueResult, JobService } from '../../../data/runtime/jobs.ts';
import { connectRedis, type RedisClient } from '../../../data/runtime/redis.ts';
import { RunStore } from '../../../data/runtime/run-store.ts';
import { SNAPSHOT_SUBJECT } from '../../../data/schema/jobs.ts';
import { redisKeys } from '../../../data/schema/redis-keys.ts';
import { stopAfterTests } from '../../after-tests.ts';
import { silentLog, type TestRedis } from '../../redis.ts';
import { World } from '../world.ts';

const COUNTRIES = ['AFG', 'ALB', 'BRA'] as const;
const figures = (value: number) => ({
  one: { name: 'One', cells: COUNTRIES.map((place): [string, number, number] => [place, 2020, value]) },
});
const until = <Value>(look: () => Promise<Value>) => vi.waitFor(look, { timeout: 120_000, interval: 20 });

type Server = Pick<TestRedis, 'url' | 'stop'> & { connect(): Promise<RedisClient> };

/** Defines the tests of the job worker on one kind of Redis. */
export function testJobWorker(name: string, startServer: () => Promise<Server>, isCluster: boolean): void {
  describe(name, async () => {
    let world: World;
    let reporter: RunReporter;
    let jobs: JobService;
    let runs: RunStore;
    let worker: JobWorker | undefined;
    let jobConnection: RedisClient | undefined;

    const server = await stopAfterTests(startServer());
    const redis = await server.connect();
    beforeEach(async () => {
      world = await World.create({ atlas: {}, globe: {} });
      await world.publish('atlas', figures(1));
      await world.publish('globe', figures(2));
      reporter = new RunReporter(redis, () => world.clock);
      jobs = new JobService(redis, () => world.clock);
      runs = new RunStore(redis, () => world.clock);
    });
    afterEach(async () => {
      await worker?.stop();
      jobConnection?.disconnect();
      worker = undefined;
      await jobs.close();
      await reporter.close();
      const nodes = 'nodes' in redis ? redis.nodes('master') : [redis];
      for (const node of nodes) await node.flushall();
      await world.remove();
    });

    async function createContext(signal: AbortSignal, more: Partial<NightlyDependencies> = {}) {
      const log = pino({ level: 'info', timestamp: pino.stdTimeFunctions.isoTime }, reporter);
      return {
        ...(await world.dependencies()),
        log,
        observer: reporter,
        signal,
        signalFor: (subject: string) => reporter.signalFor(subject),
        overrides: () => loadOverrides(redis, world.settings, log),
        ...more,
      };
    }

    /** @param beforeRead awaited before a provider's series are read. */
    function start(
      beforeRead?: (signal: AbortSignal) => Promise<void>,
      handlers?: Partial<JobHandlers>,
    ): void {
      const perform = createHandlers({
        jobs,
        createContext: async (signal) => {
          const own = await createContext(signal);
          if (!beforeRead) return own;
          const findConnector: NightlyDependencies['findConnector'] = (protocol) => {
            const connector = own.findConnector(protocol);
            return {
              ...connector,
              read: async function* (input) {
                await beforeRead(input.signal);
                yield* connector.read(input);
              },
            };
          };
          return { ...own, findConnector };
        },
      });
      jobConnection = connectRedis({ REDIS_URL: server.url, REDIS_CLUSTER: isCluster }, silentLog, 'jobs');
      worker = startJobWorker({
        redis: jobConnection,
        handlers: { ...perform, ...handlers },
        log: silentLog,
        concurrency: 2,
        onLost: () => recoverRuns(world.settings, reporter, () => world.clock, silentLog),
      });
    }

    const ended = (subject: string, status: string) =>
      until(async () => {
        const { runs: listed } = await runs.list({ subject });
        expect(listed.map((run) => run.status)).toContain(status);
        return listed;
      });

    it('ingests a provider, publishes it, and reports both runs with their logs', async () => {
      start();
      expect(await jobs.ingest('atlas', { by: 'olga' })).toMatchObject({ state: 'queued' });
      const [run] = await ended('atlas', 'succeeded');
      expect(run?.record).toMatchObject({ rows_written: 3, provider_id: 'atlas' });
      const [build] = await ended(SNAPSHOT_SUBJECT, 'succeeded');
      expect(build?.build).toMatchObject({
        snapshot: await world.snapshots.currentId(),
        counts: { indicators: 1 },
      });
      await reporter.flush();
      const log = await runs.log('atlas', run?.run_id ?? '');
      expect(log.map(({ msg }) => msg)).toEqual(['ingestion started', 'ingestion ended']);
      expect((await runs.list()).total).toBe(2);
    });

    it('never runs two jobs of one provider at once', async () => {
      const gate = Promise.withResolvers<void>();
      start(() => gate.promise);
      const asked: EnqueueResult[] = [await jobs.ingest('atlas'), await jobs.ingest('atlas')];
      expect(asked.map(({ state }) => state)).toEqual(['queued', 'waiting']);
      expect(asked[1]?.job).toBe(asked[0]?.job);
      await ended('atlas', 'running');
      const third = await jobs.ingest('atlas', { force: true });
      expect(third).toMatchObject({ state: 'running', run: (await runs.running('atlas'))?.run_id });
      expect(await jobs.ingest('globe')).toMatchObject({ state: 'queued' });
      gate.resolve();
      await ended('atlas', 'succeeded');
      await ended('globe', 'succeeded');
      expect((await runs.list({ subject: 'atlas' })).total).toBe(1);
    });

    it('ends as busy when another process ingests the provider', async () => {
      const lock = await acquireLock(world.lake('atlas').lockFile, 'provider atlas');
      const handlers = createHandlers({ jobs, createContext });
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

    it('cancels only the run that an operator cancelled', async () => {
      const gate = Promise.withResolvers<void>();
      start((signal) =>
        Promise.race([
          gate.promise,
          // The run may be cancelled before anything is read.
          new Promise<void>((resolve) => {
            signal.addEventListener('abort', () => resolve());
            if (signal.aborted) resolve();
          }),
        ]),
      );
      await jobs.ingest('atlas');
      await jobs.ingest('globe');
      await ended('globe', 'running');
      const [run] = await ended('atlas', 'running');
      expect(await runs.cancel('atlas', run?.run_id ?? '', 'olga')).toBe(true);
      await ended('atlas', 'cancelled');
      expect((await runs.running('globe'))?.status).toBe('running');
      gate.resolve();
      await ended('globe', 'succeeded');
      expect(await runs.cancel('atlas', run?.run_id ?? '', 'olga')).toBe(false);
    });

    it("publishes operators' changes, also in nightly builds and without Redis", async () => {
      start();
      await redis.hset(redisKeys.overrides, 'atlas.one', JSON.stringify({ enabled: false }));
      await jobs.nightly({ all: true });
      await ended(SNAPSHOT_SUBJECT, 'succeeded');
      const ids = async () =>
        ((await world.body('routes/indicators.json')).data as { id: string }[]).map(({ id }) => id);
      expect(await ids()).toEqual(['globe.one']);
      expect([...(await loadOverrides(null, world.settings, silentLog))]).toEqual([
        ['atlas.one', { enabled: false }],
      ]);
      await redis.hset(redisKeys.overrides, 'atlas.one', JSON.stringify({ name: 'Uno' }));
      world.clock += 60_000;
      await jobs.rebuild({ by: 'olga' });
      await until(async () => expect(await ids()).toEqual(['globe.one', 'atlas.one']));
    });

    it('rebuilds once more when a rebuild is requested during a rebuild', async () => {
      const gate = Promise.withResolvers<void>();
      let builds = 0;
      start(undefined, {
        rebuild: async () => {
          builds += 1;
          await gate.promise;
          return { outcome: 'succeeded', reason: null };
        },
      });
      await jobs.rebuild();
      await until(async () => expect(builds).toBe(1));
      for (let again = 0; again < 3; again += 1) await jobs.rebuild();
      gate.resolve();
      await until(async () => expect(builds).toBe(2));
    });

    it('rolls back to an earlier snapshot', async () => {
      start();
      await jobs.ingest('atlas');
      await ended(SNAPSHOT_SUBJECT, 'succeeded');
      const first = await world.snapshots.currentId();
      world.clock += 60_000;
      await world.define('atlas', { attribution: 'Renamed figures' });
      await jobs.rebuild();
      await until(async () => expect(await world.snapshots.currentId()).not.toBe(first));
      await jobs.rollback(null);
      await until(async () => expect(await world.snapshots.currentId()).toBe(first));
    });

    it('accepts a held run', async () => {
      start();
      await jobs.ingest('atlas');
      await ended('atlas', 'succeeded');
      world.clock += 60_000;
      await world.publish('atlas', figures(1000));
      await jobs.ingest('atlas');
      const [held] = await ended('atlas', 'suspicious');
      expect(held?.reason).toContain('median went from 1 to 1000');
      world.clock += 60_000;
      await jobs.accept('atlas', held?.run_id ?? '');
      await until(async () =>
        expect((await world.lake('atlas').current())?.record.accepted_run).toBe(held?.run_id),
      );
    });

    it('keeps one schedule when it is set twice', async () => {
      await jobs.schedule('0 2 * * *');
      await jobs.schedule('30 3 * * *');
      const { Queue } = await import('bullmq');
      const queue = new Queue('ingest', { connection: redis, prefix: redisKeys.jobs });
      expect((await queue.getJobSchedulers()).map(({ pattern, tz }) => [pattern, tz])).toEqual([
        ['30 3 * * *', 'UTC'],
      ]);
      await jobs.schedule(null);
      expect(await queue.getJobSchedulersCount()).toBe(0);
      await queue.close();
    });

    it('reports a run without a heartbeat as failed', async () => {
      reporter.onRun(emptyRecord('r1', 'atlas', world.clock));
      await reporter.flush();
      expect((await runs.running('atlas'))?.run_id).toBe('r1');
      const later = new RunStore(redis, () => world.clock + 31_000);
      expect(await later.running('atlas')).toBeNull();
      expect(await later.get('atlas', 'r1')).toMatchObject({
        status: 'failed',
        reason: expect.stringContaining('has ended'),
      });
    });

    it('reports runs that Redis missed', async () => {
      await world.ingest('atlas');
      expect((await runs.list()).total).toBe(0);
      await recoverRuns(world.settings, reporter, () => world.clock, silentLog);
      await recoverRuns(world.settings, reporter, () => world.clock, silentLog);
      expect((await runs.list({ subject: 'atlas' })).runs.map(({ status }) => status)).toEqual(['succeeded']);
    });
  });
}
