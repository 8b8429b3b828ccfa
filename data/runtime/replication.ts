/**
 * Changes of money that must outlive the loss of a master: after the script, on the same connection, Redis is asked to
 * `WAIT` until so many replicas hold what was written. One question answers for every script that was sent before it,
 * and a connection has one question under way at a time; so a busy gateway asks once for many calls, and nobody
 * waits for a further round trip before the question is asked.
 *
 * What replicas do not confirm in time is of unknown fate: it may or may not survive. Redis promises no more than that
 * the replicas held it; that the one of them which takes over is among those rests on its election, which prefers the
 * replica that holds most.
 */
import { setImmediate as endOfTurn, setTimeout as pause } from 'node:timers/promises';
import { Cluster, type Command, type Redis } from 'ioredis';
import type { RedisClient } from './redis.ts';

/** How long replicas may take. Other commands of the connection wait behind it. */
const WAIT_MS = 500;
/** How long a script follows its keys to another master. */
const MOVED_WITHIN_MS = 1_000;
const MOVED_EVERY_MS = 50;
/** Refused, and nothing done: the keys lie, or will lie, elsewhere. */
const ELSEWHERE = /^(MOVED|ASK|CLUSTERDOWN|TRYAGAIN|READONLY) |^The master isn't ready/;

/** Too few replicas hold a change that the master has made. */
export class NotReplicated extends Error {
  override name = 'NotReplicated';
}

/** What is asked of one connection. */
interface Questions {
  /** Settles when the question under way has been answered. */
  underWay: Promise<unknown> | null;
  /** Asked when there is none under way; answers for all that was sent before. */
  next: Promise<number> | null;
}

export class Replication {
  readonly #redis: RedisClient;
  readonly #replicas: number;
  readonly #questions = new WeakMap<Redis, Questions>();

  constructor(redis: RedisClient, replicas: number) {
    this.#redis = redis;
    this.#replicas = replicas;
  }

  /**
   * Sends a command to the master of its keys, and again when they have moved.
   * @param make the command; a new one for each try.
   * @throws {NotReplicated} and what ioredis says.
   */
  async run(make: () => Command): Promise<unknown> {
    const deadline = performance.now() + MOVED_WITHIN_MS;
    for (;;) {
      try {
        return await this.#once(make());
      } catch (error) {
        const isElsewhere = error instanceof Error && ELSEWHERE.test(error.message);
        if (!isElsewhere || performance.now() > deadline) throw error;
        if (this.#redis instanceof Cluster) this.#redis.refreshSlotsCache();
        await pause(MOVED_EVERY_MS);
      }
    }
  }

  async #once(command: Command): Promise<unknown> {
    const node = this.#masterFor(command);
    node.sendCommand(command);
    const [reply, held] = await Promise.all([command.promise, this.#heldBy(node)]);
    if (held < this.#replicas) throw new NotReplicated(`${held} of ${this.#replicas} replicas`);
    return reply;
  }

  #masterFor(command: Command): Redis {
    if (!(this.#redis instanceof Cluster)) return this.#redis;
    const [place] = this.#redis.slots[command.getSlot()] ?? [];
    const master = this.#redis
      .nodes('master')
      .find(({ options, status }) => `${options.host}:${options.port}` === place && status === 'ready');
    if (!master) throw new Error("The master isn't ready and enableOfflineQueue options is false");
    return master;
  }

  /** How many replicas hold everything that was sent on a connection until now. */
  #heldBy(node: Redis): Promise<number> {
    const questions = this.#questions.get(node) ?? { underWay: null, next: null };
    this.#questions.set(node, questions);
    questions.next ??= this.#ask(node, questions);
    return questions.next;
  }

  async #ask(node: Redis, questions: Questions): Promise<number> {
    await (questions.underWay ?? endOfTurn());
    questions.next = null;
    const answer = node.wait(this.#replicas, WAIT_MS);
    const answered = answer
      .catch(() => {})
      .finally(() => {
        if (questions.underWay === answered) questions.underWay = null;
      });
    questions.underWay = answered;
    return answer;
  }
}
