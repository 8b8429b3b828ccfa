/** The usage report of one account. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startRedis, type TestRedis } from '../../../redis.ts';
import { createWorld, NOON_MS, UNLIMITED, type World } from './harness.ts';

const DAY_MS = 86_400_000;

let server: TestRedis;
let world: World;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());
beforeEach(async () => {
  world = createWorld(await server.connect(), UNLIMITED);
});

const NOTHING = { requests: 0, errors: 0, rows: 0, credits: 0 };

describe('usage', () => {
  it('is zero on every day and names no route for an account without calls', async () => {
    const { account_id } = await world.customer({ credits: 7 });
    expect(await world.metering.usage(account_id, 3)).toEqual({
      credits: { balance: 7, lifetime_granted: 7, lifetime_spent: 0 },
      totals: NOTHING,
      daily: [
        { date: '2026-11-18', ...NOTHING },
        { date: '2026-11-19', ...NOTHING },
        { date: '2026-11-20', ...NOTHING },
      ],
      endpoints: [],
    });
  });

  it('covers today alone when one day is asked for', async () => {
    const { account_id, call } = await world.customer();
    await call();
    const { daily } = await world.metering.usage(account_id, 1);
    expect(daily).toEqual([{ date: '2026-11-20', requests: 1, errors: 0, rows: 0, credits: 1 }]);
  });

  it('is counted by UTC day: last millisecond of one, first of the next', async () => {
    const { account_id, call } = await world.customer();
    world.clock.ms = Date.UTC(2026, 10, 20) + DAY_MS - 1;
    await call();
    world.clock.ms += 1;
    await call();
    await call();
    const { daily } = await world.metering.usage(account_id, 2);
    expect(daily.map(({ date, requests }) => [date, requests])).toEqual([
      ['2026-11-20', 1],
      ['2026-11-21', 2],
    ]);
  });

  it('covers exactly the number of days asked for', async () => {
    const { account_id, call } = await world.customer();
    await call();
    world.clock.ms = NOON_MS + 89 * DAY_MS;
    expect((await world.metering.usage(account_id, 90)).totals.requests).toBe(1);
    expect((await world.metering.usage(account_id, 89)).totals.requests).toBe(0);
    expect((await world.metering.usage(account_id, 90)).daily).toHaveLength(90);
  });

  it('lists route templates, busiest first, ties by name', async () => {
    const { account_id, call } = await world.customer({ credits: 1000 });
    for (let i = 0; i < 3; i++) await call({ route: '/v1/data', price: 10, rows: 10 });
    await call({ route: '/v1/rankings/{indicator}' });
    await call({ route: '/v1/countries/{iso3}' });
    await call({ route: '/v1/data', status: 422, price: 5, rows: 5 });
    const { endpoints, totals } = await world.metering.usage(account_id, 30);
    expect(endpoints).toEqual([
      { route: '/v1/data', requests: 4, errors: 1, rows: 30, credits: 30 },
      { route: '/v1/countries/{iso3}', requests: 1, errors: 0, rows: 0, credits: 1 },
      { route: '/v1/rankings/{indicator}', requests: 1, errors: 0, rows: 0, credits: 1 },
    ]);
    expect(totals).toEqual({ requests: 6, errors: 1, rows: 30, credits: 32 });
  });

  it('has totals that are the sum of the days and of the routes', async () => {
    const { account_id, call } = await world.customer({ credits: 1000 });
    for (let day = 0; day < 5; day++) {
      await call({ route: `/v1/${day % 2}`, price: day, rows: day * 2 });
      world.clock.ms += DAY_MS;
    }
    const { daily, endpoints, totals } = await world.metering.usage(account_id, 6);
    for (const count of ['requests', 'errors', 'rows', 'credits'] as const) {
      const sum = (items: Record<typeof count, number>[]) =>
        items.reduce((total, item) => total + item[count], 0);
      expect(sum(daily)).toBe(totals[count]);
      expect(sum(endpoints)).toBe(totals[count]);
    }
    expect(totals).toEqual({ requests: 5, errors: 0, rows: 20, credits: 10 });
  });
});
