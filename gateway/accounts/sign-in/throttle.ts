/**
 * A growing delay between attempts that fail: the first few are free, then each failure doubles the wait. Nobody is
 * made to wait inside of a request: who comes too early is told when to come again.
 */
import type { RedisClient } from '../../../data/runtime/redis.ts';
import { readScript, ScriptRunner } from '../../../data/runtime/redis-scripts.ts';
import { DAY_MS, redisKeys } from '../../../data/schema/redis-keys.ts';

const ATTEMPT = readScript(import.meta.url, 'attempt.lua', 1);

export interface Pace {
  /** Attempts without a delay. */
  free: number;
  /** The delay doubles up to this. */
  longest_ms: number;
}

export class Throttle {
  readonly #redis: RedisClient;
  readonly #runner: ScriptRunner;
  readonly #now: () => number;

  constructor(redis: RedisClient, now: () => number) {
    this.#redis = redis;
    this.#runner = new ScriptRunner(redis);
    this.#now = now;
  }

  /** Milliseconds to wait, or 0: the attempt goes ahead and counts as failed until `forgive`. */
  async attempt(scope: string, who: string, { free, longest_ms }: Pace): Promise<number> {
    const values = [redisKeys.throttle(scope, who), this.#now(), free, longest_ms, DAY_MS];
    return Number(await this.#runner.run(ATTEMPT, values));
  }

  /** It succeeded after all: what was held against it is forgotten. */
  async forgive(scope: string, who: string): Promise<void> {
    await this.#redis.del(redisKeys.throttle(scope, who));
  }
}
