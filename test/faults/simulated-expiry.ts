/**
 * Expires Redis keys by a simulated clock: keys whose time to live has passed on that clock are deleted, since Redis
 * itself follows the real one.
 */
import type { RedisClient } from '../../data/runtime/redis.ts';
import { keysMatching } from '../redis.ts';

export class SimulatedExpiry {
  readonly #redis: RedisClient;
  readonly #due = new Map<string, number>();

  constructor(redis: RedisClient) {
    this.#redis = redis;
  }

  /** Records the expiry times of keys created since the last call. */
  async note(now_ms: number): Promise<void> {
    const fresh = (await keysMatching(this.#redis)).filter((key) => !this.#due.has(key));
    const left = await Promise.all(fresh.map((key) => this.#redis.pttl(key)));
    for (const [index, key] of fresh.entries()) {
      const ms = left[index] ?? -1;
      if (ms > 0) this.#due.set(key, now_ms + ms);
    }
  }

  /** Deletes expired keys. */
  async pass(now_ms: number): Promise<void> {
    const over = [...this.#due].filter(([, due_ms]) => due_ms <= now_ms).map(([key]) => key);
    await Promise.all(over.map((key) => this.#redis.del(key)));
    for (const key of over) this.#due.delete(key);
  }
}
