/** The operator area with a gateway, a real build, a job worker and figures of the test's own. */
import { type DecisionStore, openDecisions } from '../../admin/decision-store.ts';
import { withDecisions } from '../../build/editions/plan/licensing.ts';
import { createHandlers } from '../../build/jobs/job-handlers.ts';
import { startJobWorker } from '../../build/jobs/job-worker.ts';
import { RunReporter } from '../../build/jobs/run-reporter.ts';
import { loadDecisions, loadOverrides } from '../../build/runtime/redis-connection.ts';
import { JobService } from '../../data/runtime/jobs.ts';
import { connectRedis } from '../../data/runtime/redis.ts';
import { type Series, World } from '../build/world.ts';
import { silentLog, startRedis } from '../redis.ts';
import { type AnyAdminService, startAdminOn, type Visitor } from './harness.ts';

export interface LiveArea {
  service: AnyAdminService;
  operator: Visitor;
  world: World;
  jobService: JobService;
  decisions: DecisionStore;
  reporter: RunReporter;
  /** Calls the public API with the key of an account that has credits. */
  call<Body>(path: string): Promise<{ status: number; text: string; charged: string | null; body: Body }>;
  stop(): Promise<void>;
}

/**
 * Publishes the series of each provider and serves them.
 * @param definitions of the providers @param series by provider, then by slug
 */
export async function startLiveArea(
  definitions: Record<string, Record<string, unknown>>,
  series: Record<string, Record<string, Series>>,
): Promise<LiveArea> {
  const redis = await startRedis();
  const world = await World.create(definitions);
  for (const [id, own] of Object.entries(series)) {
    await world.publish(id, own);
    await world.ingest(id);
  }
  await world.build();
  const { SNAPSHOT_DIR, CURATED_DIR } = world.settings;
  const settings = { SNAPSHOT_DIR, CURATED_DIR, FREE_PER_MINUTE: '100000' };
  const service = await startAdminOn(redis, settings, { lakeDir: world.settings.LAKE_DIR });
  const { client } = service;
  const operator = await service.signedIn();
  const account = { email: 'ann@example.org', verified: true, credits: 10_000, by: 'test' };
  const { account_id } = await service.accounts.create(account);
  const { key } = await service.accounts.keys.mint(account_id);
  const jobService = new JobService(client, () => world.clock);
  const reporter = new RunReporter(client, () => world.clock);
  const jobs = connectRedis({ REDIS_URL: redis.url, REDIS_CLUSTER: false }, silentLog, 'jobs');
  const decisions = () => loadDecisions(client, world.settings, silentLog);
  const createContext = async (signal: AbortSignal) => {
    const dependencies = await world.dependencies();
    return {
      ...dependencies,
      curated: withDecisions(dependencies.curated, await decisions()),
      decisions,
      observer: reporter,
      signal,
      overrides: () => loadOverrides(client, world.settings, silentLog),
    };
  };
  const worker = startJobWorker({
    redis: jobs,
    handlers: createHandlers({ createContext, jobs: jobService }),
    log: silentLog,
    concurrency: 2,
    onLost: async () => {},
  });
  return {
    service,
    operator,
    world,
    jobService,
    reporter,
    decisions: openDecisions(client),
    async call(path) {
      const response = await fetch(service.url + path, { headers: { authorization: `Bearer ${key}` } });
      const text = await response.text();
      const charged = response.headers.get('x-credits-charged');
      return { status: response.status, text, charged, body: JSON.parse(text) };
    },
    async stop() {
      await worker.stop();
      jobs.disconnect();
      await jobService.close();
      await reporter.close();
      await service.stop();
      await world.remove();
    },
  };
}
