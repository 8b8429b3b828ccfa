/**
 * Throttling of failed attempts: the first few are free, then each failure doubles the required delay, and failures are
 * forgotten one by one. No request waits: an early attempt is rejected and told when to retry.
 */
import type { RedisClient } from '../../../data/runtime/redis.ts';
import { readScript, ScriptRunner } from '../../../data/runtime/redis-scripts.ts';
import { DAY_MS, redisKeys } from '../../../data/schema/redis-keys.ts';

const ATTEMPT = readScript(import.meta.url, 'lua/attempt.lua', 1);
const REFUND = readScript(import.meta.url, 'lua/refund.lua', 1);

export interface ThrottlePolicy {
  /** Failures without a delay. */
  free_attempts: number;
  /** Upper bound of the delay. */
  max_delay_ms: number;
  /** Time in which one failure is forgotten. */
  decay_ms: number;
}

/** Who is counted where. */
export type Counter = readonly [scope: string, id: string, policy: ThrottlePolicy];

export class Throttle {
  readonly #redis: RedisClient;
  readonly #runner: ScriptRunner;
  readonly #now: () => number;

  constructor(redis: RedisClient, now: () => number) {
    this.#redis = redis;
    this.#runner = new ScriptRunner(redis);
    this.#now = now;
  }

  /** Seconds to wait, or 0: the attempt may proceed and counts as a failure until `reset` or `refund`. */
  async attempt(scope: string, id: string, policy: ThrottlePolicy): Promise<number> {
    const { free_attempts, max_delay_ms, decay_ms } = policy;
    const limits = [free_attempts, max_delay_ms, decay_ms, DAY_MS];
    const values = [redisKeys.throttle(scope, id), this.#now(), ...limits];
    return Math.ceil(Number(await this.#runner.run(ATTEMPT, values)) / 1_000);
  }

  /** As `attempt`, of all counters. Those after the first that refuses are not touched. */
  async attemptAll(counters: readonly Counter[]): Promise<number> {
    for (const counter of counters) {
      const wait_s = await this.attempt(...counter);
      if (wait_s > 0) return wait_s;
    }
    return 0;
  }

  /** Takes back one attempt that succeeded. Unlike after `reset`, earlier failures still count. */
  async refund(scope: string, id: string): Promise<void> {
    await this.#runner.run(REFUND, [redisKeys.throttle(scope, id)]);
  }

  /** Clears the failures after a success. */
  async reset(scope: string, id: string): Promise<void> {
    await this.#redis.del(redisKeys.throttle(scope, id));
  }
}
