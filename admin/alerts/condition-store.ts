/**
 * The conditions that operators have an alert about. An alert is sent once when one begins and once when it ends, whichever
 * gateway sees it, also over restarts.
 */
import type { RedisClient } from '../../data/runtime/redis.ts';
import { readScript, ScriptRunner } from '../../data/runtime/redis-scripts.ts';
import { redisKeys } from '../../data/schema/redis-keys.ts';
import type { Condition } from '../../gateway/commerce/notifications/notifications.ts';
import { expectEvents } from '../../gateway/commerce/store/store.ts';

const TAKE_WATCH = readScript(import.meta.url, '../lua/take-watch.lua', 2);
const NOTE = readScript(import.meta.url, '../lua/note-conditions.lua', 3);

/** What one look at the service found. */
export interface Observation {
  found: readonly Condition[];
  /** Kinds of conditions of which none can have been missed. */
  complete: readonly string[];
}

export interface NotedAlert {
  id: string;
  /** ISO 8601. */
  at: string;
}

export class ConditionStore {
  readonly #redis: RedisClient;
  readonly #runner: ScriptRunner;

  constructor(redis: RedisClient) {
    this.#redis = redis;
    this.#runner = new ScriptRunner(redis);
  }

  /** The number of a look that begins now; null while another process watches. */
  async takeWatch(process: string, kept_ms: number): Promise<number | null> {
    const names = [redisKeys.alertWatcher, redisKeys.alertTurns];
    const look = Number(await this.#runner.run(TAKE_WATCH, [...names, process, kept_ms]));
    return look === 0 ? null : look;
  }

  /** Notes what a look found, and writes an alert for what began and ended. @returns how many did */
  async note(look: number, { found, complete }: Observation, { id, at }: NotedAlert): Promise<number> {
    const at_ms = Date.parse(at);
    await expectEvents({ redis: this.#redis, now: () => at_ms }, 'operators');
    const names = [redisKeys.alertConditions, redisKeys.operatorOutbox, redisKeys.alertNoted];
    const conditions = found.flatMap((condition) => [condition.condition, JSON.stringify(condition)]);
    const facts = [look, id, at, at_ms, complete.join(' ')];
    return Number(await this.#runner.runIdempotent(NOTE, [...names, ...facts, ...conditions]));
  }
}
