/** Availability against a plain set of minutes, on a real Redis. */
import { pino } from 'pino';
import { beforeEach, describe, expect, test } from 'vitest';
import { AvailabilityLog } from '../../../../gateway/api/status/availability.ts';
import { recordReadiness } from '../../../../gateway/api/status/readiness.ts';
import { useRedis } from '../../../redis.ts';
import { seededRandom } from '../metering/harness.ts';

const MINUTE = 60_000;
const DAY = 86_400_000;
const START = Date.UTC(2026, 10, 21, 22, 13, 5);

let now_ms = START;
const now = (): number => now_ms;
const redis = await useRedis();
const client = await redis.connect();
beforeEach(async () => {
  await client.flushall();
  now_ms = START;
});

describe('availability', () => {
  test('is that of the recorded minutes, whatever gateways record, repeat and miss', async () => {
    const bytes = seededRandom('availability');
    const random = (): number => (bytes(1)[0] ?? 0) / 256;
    const gateways = [new AvailabilityLog(client, now), new AvailabilityLog(client, now)];
    const minutes = new Set<number>();
    for (let step = 0; step < 400; step++) {
      // Seconds within a minute, gaps of hours, a day that nobody recorded, a clock that is set back.
      const seconds = [20, 20, 20, 45, 3_600, 30_000, -130][Math.floor(random() * 7)] ?? 20;
      now_ms = Math.max(START, now_ms + seconds * 1000);
      for (const gateway of gateways) {
        if (random() < 0.3) continue;
        await gateway.record();
        minutes.add(Math.floor(now_ms / MINUTE));
      }
    }
    now_ms += 5 * MINUTE;
    const first = Math.min(...minutes);
    const { since_ms, days } = await new AvailabilityLog(client, now).read();
    expect(since_ms).toBe(first * MINUTE);
    const expected = new Map<string, [number, number]>();
    for (let minute = first; minute < Math.floor(now_ms / MINUTE); minute++) {
      const date = new Date(minute * MINUTE).toISOString().slice(0, 10);
      const [all, available] = expected.get(date) ?? [0, 0];
      expected.set(date, [all + 1, available + (minutes.has(minute) ? 1 : 0)]);
    }
    expect(expected.size).toBeGreaterThan(10);
    expect(days.map((day) => [day.date, [day.minutes, day.available_minutes]])).toEqual([...expected]);
  });

  test('is kept for a year, and counts no minute before the first or that is not over', async () => {
    const log = new AvailabilityLog(client, now);
    expect(await log.read()).toEqual({ since_ms: null, days: [] });
    await log.record();
    expect((await log.read()).days).toEqual([]);
    now_ms += MINUTE;
    expect((await log.read()).days).toEqual([{ date: '2026-11-21', minutes: 1, available_minutes: 1 }]);
    now_ms = START + 500 * DAY;
    const { days } = await log.read();
    expect(days).toHaveLength(366);
    expect(days.at(-1)?.date).toBe(new Date(now_ms).toISOString().slice(0, 10));
    expect(new Set(days.slice(0, -1).map((day) => `${day.minutes} ${day.available_minutes}`))).toEqual(
      new Set(['1440 0']),
    );
  });

  test('has no minute in which a gateway was not ready, or Redis did not take the record', async () => {
    const availability = new AvailabilityLog(client, now);
    const log = pino({ level: 'silent' });
    let fault: string | null = null;
    const snapshots = { current: () => null, fault: async () => fault };
    const look = (metering: { fault(): Promise<string | null> }, to = availability) =>
      recordReadiness({ snapshots, metering, availability: to, log });
    const writable = { fault: async () => null };
    await look(writable);
    now_ms += MINUTE;
    fault = 'No snapshot is published.';
    await look(writable);
    now_ms += MINUTE;
    fault = null;
    await look({ fault: async () => 'Redis is full and refuses writes.' });
    now_ms += MINUTE;
    const closed = await redis.connect();
    closed.disconnect();
    await look(writable, new AvailabilityLog(closed, now));
    now_ms += MINUTE;
    await look(writable);
    now_ms += MINUTE;
    const { days } = await availability.read();
    expect(days).toEqual([{ date: '2026-11-21', minutes: 5, available_minutes: 2 }]);
  });
});
