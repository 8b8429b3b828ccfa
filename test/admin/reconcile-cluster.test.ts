/** The same on a Redis Cluster: every account's keys lie together, and accounts lie apart. */
import { expect, it } from 'vitest';
import { redisKeys } from '../../data/schema/redis-keys.ts';
import { live } from '../build/archive/archived-week.ts';
import { startRedisCluster } from '../redis.ts';

it('agrees, pages through archive and live, and names the one account that is corrupted', async () => {
  const cluster = await startRedisCluster();
  const redis = await cluster.connect();
  const lived = await live(redis);
  try {
    expect(await lived.reconcile()).toMatchObject({ accounts: 3, problems: [], discrepancies: [] });
    for (const [id, ledger] of lived.ledgers)
      expect(await lived.store.ledger(id, { limit: 500 })).toEqual(ledger);
    const id = lived.ids.at(-1) ?? '';
    await redis.hincrby(redisKeys.archivedThrough(id), 'balance', 1);
    expect(new Set((await lived.discrepancies()).map(({ account_id }) => account_id))).toEqual(new Set([id]));
  } finally {
    await lived.stop();
    await cluster.stop();
  }
});
