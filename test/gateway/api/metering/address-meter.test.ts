/** Rate limits of anonymous callers: exact over several gateways, without asking Redis where an address is over them. */
import { describe, expect, it } from 'vitest';
import { RedisMetering } from '../../../../gateway/api/metering/redis-metering.ts';
import { countCommands, silentLog, useRedis } from '../../../redis.ts';
import { type Clock, LIMITS, NOON_MS } from './harness.ts';

const server = await useRedis({ dedicated: true });

/** @param timeout_ms long, so that a machine that holds Redis back for a moment does not decide what is counted */
async function gateway(
  clock: Clock,
  per_minute = 30,
  per_day = 1000,
  timeout_ms = 10_000,
): Promise<RedisMetering> {
  const settings = { ...LIMITS, ANONYMOUS_PER_MINUTE: per_minute, ANONYMOUS_PER_DAY: per_day };
  const redis = await server.connect();
  return new RedisMetering({ redis, settings, now: () => clock.ms, log: silentLog, timeout_ms });
}

/** How many of `count` requests sent at once are admitted. */
async function admitted(gateways: RedisMetering[], address: string, count: number): Promise<number> {
  const verdicts = await Promise.all(
    Array.from({ length: count }, (_, i) => gateways[i % gateways.length]?.admitAddress(address)),
  );
  return verdicts.filter((verdict) => verdict?.kind === 'admitted').length;
}

const busyFor = (ms: number): unknown => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

describe('the anonymous limit', () => {
  it('admits exactly 30 a minute, then rejects until the minute ends', async () => {
    const clock = { ms: NOON_MS + 15_000 };
    const metering = await gateway(clock);
    expect(await admitted([metering], '192.0.2.10', 30)).toBe(30);
    expect(await metering.admitAddress('192.0.2.10')).toEqual({ kind: 'rate_limited', retry_after_s: 45 });
    clock.ms = NOON_MS + 59_999;
    expect(await metering.admitAddress('192.0.2.10')).toEqual({ kind: 'rate_limited', retry_after_s: 1 });
    clock.ms = NOON_MS + 60_000;
    expect(await metering.admitAddress('192.0.2.10')).toEqual({ kind: 'admitted' });
  });

  it('holds for the day too', async () => {
    const clock = { ms: NOON_MS };
    const metering = await gateway(clock, 30, 50);
    expect(await admitted([metering], '192.0.2.11', 40)).toBe(30);
    clock.ms += 60_000;
    expect(await admitted([metering], '192.0.2.11', 40)).toBe(20);
    clock.ms += 60_000;
    expect(await metering.admitAddress('192.0.2.11')).toEqual({
      kind: 'rate_limited',
      retry_after_s: 12 * 3600 - 120,
    });
    clock.ms = NOON_MS + 12 * 3_600_000;
    expect(await metering.admitAddress('192.0.2.11')).toEqual({ kind: 'admitted' });
  });

  it('is reached exactly although another gateway got one request near its end', async () => {
    const clock = { ms: NOON_MS };
    const [busy, quiet] = [await gateway(clock, 300), await gateway(clock, 300)];
    expect(await admitted([busy], '192.0.2.16', 286)).toBe(286);
    expect(await admitted([quiet], '192.0.2.16', 1)).toBe(1);
    expect(await admitted([busy], '192.0.2.16', 20)).toBe(13);
  });

  it('of the day is exact when many requests are leased at a time', async () => {
    const metering = await gateway({ ms: NOON_MS }, 6000, 250);
    expect(await admitted([metering], '192.0.2.15', 400)).toBe(250);
  });

  it('holds when the process was too busy to send a command or to read its reply', async () => {
    const metering = await gateway({ ms: NOON_MS }, 1, 1000, 1000);
    const read_late = metering.admitAddress('192.0.2.17');
    await new Promise(setImmediate);
    busyFor(1500);
    expect(await read_late).toEqual({ kind: 'admitted' });
    expect(await metering.admitAddress('192.0.2.17')).toMatchObject({ kind: 'rate_limited' });

    const redis = await server.connect();
    await redis.client('PAUSE', 1700, 'ALL');
    const sent_late = metering.admitAddress('192.0.2.18');
    busyFor(1500);
    expect(await sent_late).toEqual({ kind: 'admitted' });
    expect(await metering.admitAddress('192.0.2.18')).toMatchObject({ kind: 'rate_limited' });
  });

  it('is shared by a /64, and by both spellings of an IPv4 address', async () => {
    const metering = await gateway({ ms: NOON_MS });
    expect(await admitted([metering], '2001:db8::1', 20)).toBe(20);
    expect(await admitted([metering], '2001:db8::2:0', 20)).toBe(10);
    expect(await admitted([metering], '192.0.2.14', 20)).toBe(20);
    expect(await admitted([metering], '::ffff:192.0.2.14', 20)).toBe(10);
  });
});

it.each([30, 100, 600])('several gateways together admit no more than %i a minute', async (per_minute) => {
  const clock = { ms: NOON_MS };
  const gateways = await Promise.all([1, 2, 3].map(() => gateway(clock, per_minute, 100_000)));
  const count = await admitted(gateways, `192.0.2.${per_minute % 256}`, per_minute * 2);
  expect(count).toBeLessThanOrEqual(per_minute);
  // What one gateway has leased and not used is at most two seconds' worth.
  expect(count).toBeGreaterThanOrEqual(per_minute - 3 * Math.ceil(per_minute / 30));
});

it('an address over its limit is refused without asking Redis', async () => {
  const metering = await gateway({ ms: NOON_MS });
  await admitted([metering], '192.0.2.22', 31);
  const trips = await countCommands(await server.connect(), ['eval', 'evalsha'], async () => {
    for (let i = 0; i < 100; i++)
      expect(metering.admitAddress('192.0.2.22')).toMatchObject({ kind: 'rate_limited' });
  });
  expect(trips).toBe(0);
});
