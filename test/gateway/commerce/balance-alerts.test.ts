/** Alerts about a low balance: each crossing is written once, also where the alert is set anew. */
import { expect, it } from 'vitest';
import { redisKeys } from '../../../data/schema/redis-keys.ts';
import { BalanceAlerts } from '../../../gateway/commerce/notifications/alerts/balance-alerts.ts';
import { stopAfterTests } from '../../after-tests.ts';
import { startRedis } from '../../redis.ts';
import { createWorld } from '../api/metering/harness.ts';

const redis = await stopAfterTests(startRedis());
const world = createWorld(await redis.connect());
const alerts = new BalanceAlerts({ redis: world.redis, now: () => world.clock.ms });

/** How many crossings wait to be told, after a look. */
async function told(account_id: string): Promise<number> {
  await alerts.look(account_id);
  return world.redis.hlen(redisKeys.accountOutbox(account_id));
}

it.each([
  ['another threshold', [80]],
  ['the same threshold', [90]],
  ['none and then another', [null, 80]],
])('set to %s, the alert tells of the next crossing, and each crossing once', async (_name, changes) => {
  const { account_id } = await world.customer({ credits: 100 });
  const move = (delta: number) => world.store.adjust(account_id, { delta, by: 'test' });
  await alerts.set(account_id, 90);
  await move(-15);
  const before = await told(account_id);
  for (const low_at of changes) await alerts.set(account_id, low_at);
  expect(await told(account_id)).toBe(before);
  await move(15);
  await move(-30);
  expect(await told(account_id)).toBe(before + 1);
  expect(await told(account_id)).toBe(before + 1);
});
