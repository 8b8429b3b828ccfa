/** Alerts about a low balance that are set anew while a mail about an earlier crossing is sent. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { BalanceAlerts } from '../../../gateway/commerce/notifications/balance-alerts.ts';
import { startRedis, type TestRedis } from '../../redis.ts';
import { createWorld, type World } from '../api/metering/harness.ts';

let redis: TestRedis;
let world: World;
let alerts: BalanceAlerts;

beforeAll(async () => {
  redis = await startRedis();
  world = createWorld(await redis.connect());
  alerts = new BalanceAlerts(world.redis);
});
afterAll(() => redis.stop());

it.each([
  ['another threshold', [80]],
  ['the same threshold', [90]],
  ['none and then another', [null, 80]],
])('set to %s, the alert tells of the next crossing', async (_name, changes) => {
  const { account_id } = await world.customer({ credits: 100 });
  const move = (delta: number) => world.store.adjust(account_id, { delta, by: 'test' });
  await alerts.set(account_id, 90);
  await move(-15);
  const mailed = await alerts.pendingCrossings(account_id);
  expect(mailed).toBe(1);
  for (const low_at of changes) await alerts.set(account_id, low_at);
  expect(await alerts.pendingCrossings(account_id)).toBe(0);
  await alerts.markNotified(account_id, mailed);
  await move(15);
  await move(-30);
  const next = await alerts.pendingCrossings(account_id);
  expect(next).toBeGreaterThan(0);
  await alerts.markNotified(account_id, next);
  expect(await alerts.pendingCrossings(account_id)).toBe(0);
});

it('gives each crossing a number of its own, so that a job that was given up keeps no later mail back', async () => {
  const { account_id } = await world.customer({ credits: 100 });
  await alerts.set(account_id, 90);
  await world.store.adjust(account_id, { delta: -15, by: 'test' });
  const first = await alerts.pendingCrossings(account_id);
  await alerts.set(account_id, 80);
  await world.store.adjust(account_id, { delta: -15, by: 'test' });
  expect(await alerts.pendingCrossings(account_id)).toBe(first + 1);
});
