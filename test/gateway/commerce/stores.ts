/** What tests of stores share: an empty Redis before each test, and a clock that they move. */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach } from 'vitest';
import type { RedisClient } from '../../../data/runtime/redis.ts';
import { flushRedis, startRedis, type TestRedis } from '../../redis.ts';

const START_MS = Date.UTC(2026, 10, 21, 12);

export interface StoreTest {
  server: TestRedis;
  redis: RedisClient;
  clock: { ms: number };
  /** What every store takes. */
  base: { redis: RedisClient; now: () => number; random: typeof randomBytes };
}

/** Its parts are there from the first `beforeAll` on; `prepare` runs before each test. */
export function useStores(prepare: (test: StoreTest) => Promise<void> | void = () => {}): StoreTest {
  const clock = { ms: START_MS };
  const test = { clock } as StoreTest;
  beforeAll(async () => {
    test.server = await startRedis();
    test.redis = await test.server.connect();
    test.base = { redis: test.redis, now: () => clock.ms, random: randomBytes };
  });
  afterAll(() => test.server.stop());
  beforeEach(async () => {
    clock.ms = START_MS;
    await flushRedis(test.redis);
    await prepare(test);
  });
  return test;
}
