/** Fixed UTC windows on an injected clock: boundaries, and the window that is reported. */
import { describe, expect, it } from 'vitest';
import { readTotalUsage } from '../../../../admin/routes/usage.ts';
import { DAY_MS, dayOf, minuteOf, redisKeys } from '../../../../data/schema/redis-keys.ts';
import { flushRedis, useRedis } from '../../../redis.ts';
import { createWorld, LIMITS, NOON_MS, UNLIMITED } from './harness.ts';

const server = await useRedis();

const at = (text: string): number => Date.parse(`2026-11-20T${text}Z`);
/** A customer of the free tier, and the clock of their world. */
async function customerOf(per_minute: number, per_day: number) {
  const settings = { ...LIMITS, FREE_PER_MINUTE: per_minute, FREE_PER_DAY: per_day };
  const world = createWorld(await server.connect(), settings);
  return { ...world, ...(await world.customer()) };
}

describe('windows start and end on the UTC clock:', () => {
  it.each([
    ['the first moment of a minute', '12:00:00.000', '12:01:00'],
    ['the last moment of a minute', '12:00:59.999', '12:01:00'],
    ['the first moment of the next', '12:01:00.000', '12:02:00'],
    ['the last moment of an hour', '12:59:59.999', '13:00:00'],
  ])('%s', async (_what, moment, end) => {
    const { clock, call } = await customerOf(5, 1000);
    clock.ms = at(moment);
    expect(await call()).toMatchObject({ window: { limit: 5, remaining: 4, reset_s: at(end) / 1000 } });
  });

  it.each([
    ['a full minute admits again in the next minute', 2, 1000, '12:00:59.999', '12:01:00.000', 1],
    ['a full minute rejects to its last millisecond', 2, 1000, '12:00:00.000', '12:00:59.999', 0],
    ['a full day rejects in the next minute', 1000, 2, '12:00:00.000', '12:01:00.000', 0],
    ['a full day rejects to the last millisecond', 1000, 2, '00:00:00.000', '23:59:59.999', 0],
    ['a full day admits again at midnight', 1000, 2, '23:59:59.999', '24:00:00.000', 1],
    ['both full: both admit again at midnight', 2, 2, '23:59:59.999', '24:00:00.000', 1],
  ])('%s', async (_what, per_minute, per_day, filled, later, admitted) => {
    const { clock, call } = await customerOf(per_minute, per_day);
    clock.ms = at(filled);
    expect([(await call()).kind, (await call()).kind]).toEqual(['admitted', 'admitted']);
    expect((await call()).kind).toBe('rate_limited');
    clock.ms = later === '24:00:00.000' ? at('00:00:00.000') + 86_400_000 : at(later);
    expect((await call()).kind).toBe(admitted ? 'admitted' : 'rate_limited');
  });
});

it.each([
  ['a full minute', 2, 1000],
  ['a full day', 1000, 2],
  ['a tier without any call', 0, 0],
])('a refused call leaves the windows as they were: %s', async (_what, per_minute, per_day) => {
  const { clock, redis, account_id, call } = await customerOf(per_minute, per_day);
  const names = [
    redisKeys.minute(account_id, minuteOf(clock.ms)),
    redisKeys.day(account_id, dayOf(clock.ms)),
  ];
  for (let i = 0; i < Math.min(per_minute, per_day); i++) await call();
  const before = await redis.mget(...names);
  for (const peek of [false, true])
    expect(await call({ peek })).toMatchObject({ kind: 'rate_limited', window: { remaining: 0 } });
  expect(await redis.mget(...names)).toEqual(before);
  for (const [at, name] of names.entries())
    if (before[at] !== null) expect(await redis.pttl(name)).toBeGreaterThan(0);
});

describe('the reported window is the one with fewer requests left:', () => {
  it.each([
    ['the minute', 5, 100, 1, { limit: 5, remaining: 4, reset_s: at('12:01:00') / 1000 }],
    ['the day', 5, 3, 1, { limit: 3, remaining: 2, reset_s: at('00:00:00') / 1000 + 86_400 }],
    [
      'the day when both have as many left, because its wait is longer',
      5,
      5,
      1,
      { limit: 5, remaining: 4, reset_s: at('00:00:00') / 1000 + 86_400 },
    ],
    ['the minute is full', 5, 100, 5, { limit: 5, remaining: 0, reset_s: at('12:01:00') / 1000 }],
  ])('%s', async (_what, per_minute, per_day, calls, window) => {
    const { clock, call } = await customerOf(per_minute, per_day);
    clock.ms = at('12:00:30');
    for (let i = 1; i < calls; i++) await call();
    expect(await call()).toMatchObject({ kind: 'admitted', window });
  });

  it('Retry-After is the rest of the full window in whole seconds, at least one', async () => {
    const { clock, call } = await customerOf(1, 2);
    clock.ms = at('12:00:00');
    await call();
    expect(await call()).toMatchObject({ kind: 'rate_limited', retry_after_s: 60 });
    clock.ms = at('12:00:59.999');
    expect(await call()).toMatchObject({ kind: 'rate_limited', retry_after_s: 1 });
    clock.ms = at('12:01:00');
    await call();
    expect(await call()).toMatchObject({ kind: 'rate_limited', retry_after_s: 11 * 3600 + 59 * 60 });
  });
});

it('usage is counted by UTC day: last millisecond of one, first of the next', async () => {
  const world = createWorld(await server.connect(), UNLIMITED);
  const { account_id, call } = await world.customer();
  world.clock.ms = at('23:59:59.999');
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

const HOUR_MS = DAY_MS / 24;
/** The time between calls: over two midnights, and back over one, as when a clock is set. */
const STEPS_MS = [0, 5 * HOUR_MS, 8 * HOUR_MS, 0, -3 * HOUR_MS, 3 * HOUR_MS, 0, DAY_MS, 1, -DAY_MS, DAY_MS];

it('usage totals count every call on its UTC day, under its route or as anonymous', async () => {
  const world = createWorld(await server.connect(), UNLIMITED);
  await flushRedis(world.redis);
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
