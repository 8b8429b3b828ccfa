/** How long others wait for Redis while something is done to it. */
import type { RedisClient } from '../../data/runtime/redis.ts';

const ASK_EVERY_MS = 5;

/** Does something while Redis is asked again and again; also how long 99 of 100 questions waited at most. */
export async function measureRedisLatency<T>(
  redis: RedisClient,
  work: () => Promise<T>,
): Promise<[outcome: T, wait_ms: number]> {
  const waits: number[] = [];
  let asking = Promise.resolve();
  const ask = async (): Promise<void> => {
    const began = performance.now();
    await redis.ping();
    waits.push(performance.now() - began);
  };
  const timer = setInterval(() => {
    asking = asking.then(ask);
  }, ASK_EVERY_MS);
  const outcome = await work();
  clearInterval(timer);
  await asking;
  waits.sort((a, b) => a - b);
  return [outcome, waits[Math.floor(waits.length * 0.99)] ?? 0];
}
