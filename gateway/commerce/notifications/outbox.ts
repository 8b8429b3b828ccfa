/**
 * The outbox: events that the script of a change writes in the same atomic step, so that no crash comes between a change
 * and its telling. They wait beside what the script changes: with an account, a person, the conditions that operators are
 * alerted to (owner `operators`) or the privacy requests (`requests`).
 *
 * An event is removed after it was handed over, and may so be handed over twice: whoever takes it must be idempotent by
 * its id.
 */
import { redisKeys } from '../../../data/schema/redis-keys.ts';
import { Store } from '../store/store.ts';

/** As a script writes it. */
export interface StoredEvent {
  /** `order.paid:ord_1:1763726400000`: the type and what is unique among those of its owner. */
  id: string;
  type: string;
  /** Unix milliseconds. */
  at_ms: number;
  /** A person, `stripe`, or whoever else; empty where nobody is to be named. */
  by: string;
  /** What its author states, or empty. */
  reason: string;
  data: unknown;
}

/** Longer than any script may run after its owner was indexed. */
const INDEX_KEPT_MS = 3_600_000;

function outboxKey(owner: string): string {
  if (owner === 'operators') return redisKeys.operatorOutbox;
  if (owner === 'requests') return redisKeys.requestOutbox;
  return owner.startsWith('per_') ? redisKeys.personOutbox(owner) : redisKeys.accountOutbox(owner);
}

/** The account that an event is about; null for one of a person, or of operators. */
export function eventAccount(owner: string, { data }: StoredEvent): string | null {
  if (owner === 'requests') return String((data as { account_id: unknown }).account_id);
  return owner === 'operators' || owner.startsWith('per_') ? null : owner;
}

/** Takes an event over, or leaves it in the outbox. */
type TakeEvent = (event: StoredEvent) => Promise<'taken' | 'left'>;

export class Outbox extends Store {
  /** Writes an event that no script writes. Once, until it is handed over. */
  async emit(owner: string, type: string, id: string, data: unknown): Promise<void> {
    await this.expectEvents(owner);
    const event = JSON.stringify({ type, at_ms: this.now(), data });
    await this.redis.hsetnx(outboxKey(owner), `${type}:${id}`, event);
  }

  /** Hands over the events of an owner, oldest first, and removes each after that. */
  async drain(owner: string, take: TakeEvent): Promise<void> {
    const name = outboxKey(owner);
    const stored = await this.redis.hgetall(name);
    const events = Object.entries(stored).map(
      ([id, json]): StoredEvent => ({ by: '', reason: '', ...JSON.parse(json), id }),
    );
    for (const event of events.sort((one, other) => one.at_ms - other.at_ms)) {
      if ((await take(event)) === 'taken') await this.redis.hdel(name, event.id);
    }
  }

  /** The owners whose events wait. */
  async listOwners(): Promise<string[]> {
    const from_ms = this.now() - INDEX_KEPT_MS;
    const indexed = await this.redis.zrange(redisKeys.outbox, '0', '-1');
    const sizes = await Promise.all(indexed.map((owner) => this.redis.hlen(outboxKey(owner))));
    const waiting = indexed.filter((_, index) => sizes[index] !== 0);
    if (waiting.length > 0) {
      const scores = waiting.flatMap((owner) => [this.now(), owner]);
      await this.redis.zadd(redisKeys.outbox, ...scores);
    }
    // By score, so that an owner who was indexed again meanwhile stays.
    await this.redis.zremrangebyscore(redisKeys.outbox, '-inf', `(${from_ms}`);
    return waiting;
  }
}
