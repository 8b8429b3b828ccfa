/** The usage totals of all callers. In a file of its own, because they are shared by everything on one Redis. */
import { expect, it } from 'vitest';
import { readTotalUsage } from '../../../../admin/routes/usage.ts';
import { stopAfterTests } from '../../../after-tests.ts';
import { startRedis } from '../../../redis.ts';
import { createWorld, NOON_MS, UNLIMITED } from './harness.ts';

const DAY_MS = 86_400_000;
const HOUR_MS = DAY_MS / 24;
/** The time between calls: over two midnights, and back over one, as when a clock is set. */
const STEPS_MS = [0, 5 * HOUR_MS, 8 * HOUR_MS, 0, -3 * HOUR_MS, 3 * HOUR_MS, 0, DAY_MS, 1, -DAY_MS, DAY_MS];

const server = await stopAfterTests(startRedis());

it('usage totals count every call on its UTC day, under its route or as anonymous', async () => {
  const world = createWorld(await server.connect(), UNLIMITED);
  const { call } = await world.customer({ credits: 1_000 });
  const expected = new Map<string, number>();
  const counted = (what: string, amount = 1) => {
    const date = new Date(world.clock.ms).toISOString().slice(0, 10);
    expected.set(`${date} ${what}`, (expected.get(`${date} ${what}`) ?? 0) + amount);
  };
  for (const [turn, step_ms] of STEPS_MS.entries()) {
    world.clock.ms += step_ms;
    for (let anonymous = 0; anonymous <= turn; anonymous++) {
      await world.metering.admitAddress(`192.0.2.${turn}`);
      counted('anonymous');
    }
    const route = turn % 2 === 0 ? '/v1/data' : '/v1/countries/{iso3}';
    await call({ route, price: turn, rows: turn });
    counted(route);
    counted('credits', turn);
  }
  await world.metering.flush();

  const seen = new Map<string, number>();
  for (let day = 0; day < 3; day++) {
    const now_ms = NOON_MS + day * DAY_MS;
    const { daily, endpoints } = await readTotalUsage(world.redis, now_ms, 1);
    for (const { route, requests } of endpoints) seen.set(`${daily[0]?.date} ${route}`, requests);
    seen.set(`${daily[0]?.date} credits`, daily[0]?.credits ?? 0);
  }
  expect([...seen].sort()).toEqual([...expected].sort());
});
