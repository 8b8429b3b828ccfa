/** Latency of Redis for other clients during some work. */
import type { RedisClient } from '../../data/runtime/redis.ts';

const ASK_EVERY_MS = 5;

/** Pings Redis continuously during `work`. @returns the outcome of `work` and the p99 latency in ms */
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
