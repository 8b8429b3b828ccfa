/**
 * The kinds of Redis that the account pages promise to stand on, for tests that hold on each of them: one that has
 * just been made, one that was killed and started again on its files under a running service, and a cluster.
 */
import { afterAll, beforeAll } from 'vitest';
import { whenReady } from '../../../data/runtime/redis.ts';
import { startRedis } from '../../redis.ts';
import { type AccountPagesHarness, startAccountPages } from './harness.ts';

const BACK_WITHIN_MS = 60_000;

export interface OpenDeployment {
  harness: AccountPagesHarness;
  stop(): Promise<void>;
}

export interface Deployment {
  name: string;
  /** How many schedules a race is given; the first place has the most, the others show that nothing hangs on it. */
  numRuns: number;
  open(settings: Record<string, string>): Promise<OpenDeployment>;
}

async function plain(settings: Record<string, string>, cluster: boolean): Promise<OpenDeployment> {
  const harness = await startAccountPages({ settings, cluster });
  return { harness, stop: () => harness.stop() };
}

/** Somebody was here before the crash, so that there is something in the files to come back. */
async function restarted(settings: Record<string, string>): Promise<OpenDeployment> {
  const redis = await startRedis({ persistent: true });
  const harness = await startAccountPages({ redis, settings });
  const stop = async (): Promise<void> => {
    await harness.stop();
    await redis.stop();
  };
  try {
    const before = await harness.customer('Somebody before the crash');
    await redis.kill();
    const away = (await before.visitor.get('/account/')).status;
    if (away !== 503) throw new Error(`without Redis the page answered ${away}`);
    await redis.restart();
    if (!(await whenReady(harness.redis, BACK_WITHIN_MS))) throw new Error('Redis did not come back');
    const back = (await before.visitor.get('/account/')).status;
    if (back !== 200) throw new Error(`after the restart the page answered ${back}`);
  } catch (error) {
    await stop();
    throw error;
  }
  return { harness, stop };
}

export const DEPLOYMENTS: Deployment[] = [
  { name: 'a fresh Redis', numRuns: 25, open: (settings) => plain(settings, false) },
  { name: 'a Redis that was killed and started again', numRuns: 10, open: restarted },
  { name: 'a Redis Cluster', numRuns: 10, open: (settings) => plain(settings, true) },
];

/** Opens a place before the tests of a `describe`, and closes it after them. @param ready is given the harness. */
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
