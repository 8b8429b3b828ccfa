/**
 * Replicated writes, for changes of money that must survive the loss of a master: after the script, a `WAIT` on the same
 * connection waits until enough replicas hold it. One `WAIT` covers every script that was sent before it, and a
 * connection has one pending `WAIT` at a time, so a busy gateway sends one for many calls.
 *
 * A write that replicas do not confirm in time has an unknown outcome. A confirmed write survives a failover when one of
 * the confirming replicas is promoted; Redis prefers the replica that holds most.
 */
import { setTimeout as delay, setImmediate as endOfTurn } from 'node:timers/promises';
import { Cluster, type Command, type Redis } from 'ioredis';
import type { RedisClient } from './redis.ts';

/** Timeout of `WAIT`. Other commands of the connection queue behind it. */
const WAIT_MS = 500;
/** How long a command is retried while its keys move to another master. */
const MOVED_WITHIN_MS = 1_000;
const MOVED_RETRY_MS = 50;
/** Errors of commands that had no effect because another node holds the keys, or will. */
const MOVED = /^(MOVED|ASK|CLUSTERDOWN|TRYAGAIN|READONLY) |^The master isn't ready/;

/** Too few replicas hold a write of the master. */
export class NotReplicated extends Error {
  override name = 'NotReplicated';
}

/** The `WAIT` commands of one connection. */
interface Waits {
  pending: Promise<unknown> | null;
  /** Sent when none is pending; covers everything sent before. */
  next: Promise<number> | null;
}

export class ReplicatedWrites {
  readonly #redis: RedisClient;
  readonly #replicas: number;
  readonly #waits = new WeakMap<Redis, Waits>();

  constructor(redis: RedisClient, replicas: number) {
    this.#redis = redis;
    this.#replicas = replicas;
  }

  /**
   * Sends a command to the master of its keys, and retries while they move.
   * @param make makes the command again for each try.
   * @throws {NotReplicated}, and the errors of ioredis.
   */
  async run(make: () => Command): Promise<unknown> {
    const deadline = performance.now() + MOVED_WITHIN_MS;
    for (;;) {
      try {
        return await this.#once(make());
      } catch (error) {
        const isMoved = error instanceof Error && MOVED.test(error.message);
        if (!isMoved || performance.now() > deadline) throw error;
        if (this.#redis instanceof Cluster) this.#redis.refreshSlotsCache();
        await delay(MOVED_RETRY_MS);
      }
    }
  }

  async #once(command: Command): Promise<unknown> {
    const node = this.#masterFor(command);
    node.sendCommand(command);
    const [reply, confirmed] = await Promise.all([command.promise, this.#confirmedBy(node)]);
    if (confirmed < this.#replicas) throw new NotReplicated(`${confirmed} of ${this.#replicas} replicas`);
    return reply;
  }

  #masterFor(command: Command): Redis {
    if (!(this.#redis instanceof Cluster)) return this.#redis;
    const [address] = this.#redis.slots[command.getSlot()] ?? [];
    const master = this.#redis
      .nodes('master')
      .find(({ options, status }) => `${options.host}:${options.port}` === address && status === 'ready');
    if (!master) throw new Error("The master isn't ready and enableOfflineQueue options is false");
    return master;
  }

  /** The number of replicas that hold everything sent on a connection so far. */
  #confirmedBy(node: Redis): Promise<number> {
    const waits = this.#waits.get(node) ?? { pending: null, next: null };
    this.#waits.set(node, waits);
    waits.next ??= this.#wait(node, waits);
    return waits.next;
  }

  async #wait(node: Redis, waits: Waits): Promise<number> {
    await (waits.pending ?? endOfTurn());
    waits.next = null;
    const answer = node.wait(this.#replicas, WAIT_MS);
    const answered = answer
      .catch(() => {})
      .finally(() => {
        if (waits.pending === answered) waits.pending = null;
      });
    waits.pending = answered;
    return answer;
  }
}
