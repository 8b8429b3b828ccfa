/** Reconciliation once more, on a Redis Cluster with replicas. */
import { expect, it } from 'vitest';
import { redisKeys } from '../../data/schema/redis-keys.ts';
import { createArchivedWeek } from '../build/archive/archived-week.ts';
import { flushRedis } from '../redis.ts';
import { cluster } from './cluster.ts';

it('agrees, pages through archive and live entries, and names only the corrupted account', async () => {
  const redis = await cluster.connect(1);
  await flushRedis(redis);
  await using week = await createArchivedWeek(redis);
  expect(await week.reconcile()).toMatchObject({ accounts: 3, problems: [], discrepancies: [] });
  for (const [id, ledger] of week.ledgers)
    expect(await week.store.ledger(id, { limit: 500 })).toEqual(ledger);
  const id = week.ids.at(-1) ?? '';
  await redis.hincrby(redisKeys.archivedThrough(id), 'balance', 1);
  expect(new Set((await week.discrepancies()).map(({ account_id }) => account_id))).toEqual(new Set([id]));
});
