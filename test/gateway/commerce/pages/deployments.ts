/** The kinds of Redis on which the account pages must work: fresh, killed and restarted from its files, and a cluster. */
import { afterAll, beforeAll } from 'vitest';
import { whenReady } from '../../../../data/runtime/redis.ts';
import { cases } from '../../../environment.ts';
import { startRedis } from '../../../redis.ts';
import { type AccountPagesHarness, startAccountPages } from './harness.ts';

const RESTART_TIMEOUT_MS = 60_000;

interface OpenDeployment {
  harness: AccountPagesHarness;
  stop(): Promise<void>;
}

interface Deployment {
  name: string;
  /** Random schedules for each race. */
  numRuns: number;
  open(settings: Record<string, string>): Promise<OpenDeployment>;
}

async function plain(settings: Record<string, string>, cluster: boolean): Promise<OpenDeployment> {
  const harness = await startAccountPages({ settings, cluster });
  return { harness, stop: () => harness.stop() };
}

/** One account exists before the crash, so that the files have content. */
async function restarted(settings: Record<string, string>): Promise<OpenDeployment> {
  const redis = await startRedis({ persistent: true });
  const harness = await startAccountPages({ redis, settings });
  const stop = async (): Promise<void> => {
    await harness.stop();
    await redis.stop();
  };
  try {
    const before = await harness.customer('Before the crash');
    await redis.kill();
    const down = (await before.visitor.get('/account/')).status;
    if (down !== 503) throw new Error(`without Redis the page returned ${down}`);
    await redis.restart();
    if (!(await whenReady(harness.redis, RESTART_TIMEOUT_MS))) throw new Error('Redis did not come back');
    const back = (await before.visitor.get('/account/')).status;
    if (back !== 200) throw new Error(`after the restart the page returned ${back}`);
  } catch (error) {
    await stop();
    throw error;
  }
  return { harness, stop };
}

const FRESH: Deployment = {
  name: 'a fresh Redis',
  numRuns: cases(25),
  open: (settings) => plain(settings, false),
};
const RESTARTED: Deployment = {
  name: 'a Redis that was killed and started again',
  numRuns: cases(10),
  open: restarted,
};
const CLUSTER: Deployment = {
  name: 'a Redis Cluster',
  numRuns: cases(10),
  open: (settings) => plain(settings, true),
};

/** For pages: once Redis answers again they run as on a fresh one, and `deployments.test.ts` has a life across its restart. */
export const SERVERS = [FRESH, CLUSTER];
/** For what runs beside pages: workers, and changes that race. */
export const DEPLOYMENTS = [FRESH, RESTARTED, CLUSTER];

/** Opens a deployment before the tests of a `describe` and closes it after them. */
export function useDeployment(
  open: Deployment['open'],
  settings: Record<string, string>,
  ready: (harness: AccountPagesHarness) => Promise<void> | void,
): void {
  let opened: OpenDeployment;
  beforeAll(async () => {
    opened = await open(settings);
    await ready(opened.harness);
  });
  afterAll(() => opened.stop());
}
