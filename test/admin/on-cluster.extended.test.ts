/** The operator area's pages, credits, runs and reconciliation once more, on a Redis Cluster with replicas. */
import { describe, expect, it } from 'vitest';
import { redisKeys } from '../../data/schema/redis-keys.ts';
import { stopAfterTests } from '../after-tests.ts';
import { createArchivedWeek } from '../build/archive/archived-week.ts';
import { flushRedis, startRedisCluster, useRedisCluster } from '../redis.ts';

const cluster = await stopAfterTests(startRedisCluster({ replicas: 1, nodeTimeoutMs: 10_000 }));
useRedisCluster(cluster);

describe('admin/credits', () => import('./credits.test.ts').then(() => {}));
describe('admin/indicators-and-runs', () => import('./indicators-and-runs.test.ts').then(() => {}));
describe('admin/pages', () => import('./pages.test.ts').then(() => {}));

it('admin/reconcile agrees, pages through archive and live entries, and names only the corrupted account', async () => {
  const redis = await cluster.connect(1);
  await flushRedis(redis);
  const week = await createArchivedWeek(redis);
  try {
    expect(await week.reconcile()).toMatchObject({ accounts: 3, problems: [], discrepancies: [] });
    for (const [id, ledger] of week.ledgers)
      expect(await week.store.ledger(id, { limit: 500 })).toEqual(ledger);
    const id = week.ids.at(-1) ?? '';
    await redis.hincrby(redisKeys.archivedThrough(id), 'balance', 1);
    expect(new Set((await week.discrepancies()).map(({ account_id }) => account_id))).toEqual(new Set([id]));
  } finally {
    await week.stop();
  }
});
