/**
 * Events that the script of a change writes with the person whom they are about, in the same atomic step: no crash
 * comes between a change and its mails. A job hands each event over and removes it after that; the sweep queues that job
 * again for events that were left behind. An event may so be handed over twice, and handlers must be idempotent by its id.
 */
import type { RedisClient } from '../../../data/runtime/redis.ts';
import { redisKeys } from '../../../data/schema/redis-keys.ts';
import type { AddressChange } from '../accounts/accounts.ts';
import { throwUnavailable } from '../store/store.ts';

/** Longer than any script may run after its person was indexed. */
const INDEX_KEPT_MS = 3_600_000;

export class Outbox {
  readonly #redis: RedisClient;
  readonly #now: () => number;

  constructor({ redis, now }: { redis: RedisClient; now: () => number }) {
    this.#redis = redis;
    this.#now = now;
  }

  /** Hands over what waits for a person, and removes each event after that. */
  async handOver(
    person_id: string,
    take: (event_id: string, change: AddressChange) => Promise<void>,
  ): Promise<void> {
    const name = redisKeys.personOutbox(person_id);
    for (const [event_id, json] of Object.entries(await this.#redis.hgetall(name).catch(throwUnavailable))) {
      await take(event_id, JSON.parse(json) as AddressChange);
      await this.#redis.hdel(name, event_id).catch(throwUnavailable);
    }
  }

  /** The persons for whom events wait. */
  async listPersons(): Promise<string[]> {
    const from_ms = this.#now() - INDEX_KEPT_MS;
    const waiting: string[] = [];
    for (const person_id of await this.#redis.zrange(redisKeys.outbox, '0', '-1').catch(throwUnavailable)) {
      if ((await this.#redis.exists(redisKeys.personOutbox(person_id)).catch(throwUnavailable)) === 0)
        continue;
      waiting.push(person_id);
      await this.#redis.zadd(redisKeys.outbox, this.#now(), person_id).catch(throwUnavailable);
    }
    // By score, so that a person who was indexed again meanwhile stays.
    await this.#redis.zremrangebyscore(redisKeys.outbox, '-inf', `(${from_ms}`).catch(throwUnavailable);
    return waiting;
  }
}
