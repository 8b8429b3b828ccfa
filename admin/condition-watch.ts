/**
 * Looks at the list "Needs attention" every minute, in one process of all, and alerts operators to what changed: once when a
 * condition begins and once when it ends, whichever gateway sees it, also over restarts.
 */
import type { RedisClient } from '../data/runtime/redis.ts';
import { readScript, ScriptRunner } from '../data/runtime/redis-scripts.ts';
import { redisKeys } from '../data/schema/redis-keys.ts';
import type { JobProducer, OperatorAlerts } from '../gateway/commerce/notifications/notifications.ts';
import { expectEvents } from '../gateway/commerce/store/store.ts';
import { type Observation, readAttentionContext } from './attention/item.ts';
import { observeConditions } from './attention/needs-attention.ts';
import type { AdminArea } from './context.ts';

const TAKE_WATCH = readScript(import.meta.url, 'lua/take-watch.lua', 2);
const NOTE = readScript(import.meta.url, 'lua/note-conditions.lua', 3);
/** After this many looks without a sign of the process that watches, another one takes over. */
const LOOKS_MISSED = 2.5;
/** An older reconciliation is repeated. */
const MAX_RECONCILIATION_AGE_MS = 3_600_000;
const RECONCILE_WAIT_MS = 30_000;

export class ConditionWatch {
  readonly #area: AdminArea;
  readonly #alerts: OperatorAlerts;
  readonly #jobs: JobProducer;
  readonly #conditions: ConditionStore;
  readonly #every_ms: number;
  readonly #process: string;
  #timer: NodeJS.Timeout | null = null;
  #looking: Promise<void> | null = null;
  /** Number of this process' last look. */
  #last = 0;

  constructor(area: AdminArea, every_ms: number) {
    this.#area = area;
    this.#alerts = area.operatorAlerts;
    this.#jobs = area.mailJobs;
    this.#conditions = new ConditionStore(area.redis);
    this.#every_ms = every_ms;
    this.#process = area.operatorAlerts.newId();
  }

  start(): void {
    this.#timer = setInterval(() => this.#lookOnce(), this.#every_ms).unref();
  }

  async stop(): Promise<void> {
    if (this.#timer) clearInterval(this.#timer);
    await this.#looking;
  }

  #lookOnce(): void {
    this.#looking ??= this.#look()
      .catch((error: unknown) =>
        this.#area.log.warn({ err: error }, 'cannot look for what operators are told'),
      )
      .finally(() => {
        this.#looking = null;
      });
  }

  async #look(): Promise<void> {
    const look = await this.#conditions.takeWatch(this.#process, this.#every_ms * LOOKS_MISSED);
    if (look === null) return;
    // Another process may have noted a later reconciliation than the one that this process keeps.
    const max_age_ms = look === this.#last + 1 ? MAX_RECONCILIATION_AGE_MS : 0;
    this.#last = look;
    const context = await readAttentionContext(this.#area, max_age_ms, RECONCILE_WAIT_MS);
    const observation = await observeConditions(context);
    const at = new Date(this.#area.now()).toISOString();
    await this.#conditions.note(look, observation, { id: this.#alerts.newId(), at });
    await this.#alerts.handOver(this.#jobs);
  }
}

interface NotedAlert {
  id: string;
  /** ISO 8601. */
  at: string;
}

/** The conditions that operators have an alert about. */
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
