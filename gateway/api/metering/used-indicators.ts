/**
 * Which indicators each account used in the last 30 days, for telling it what a new edition changed of them.
 *
 * A process notes an indicator of an account once a day and writes to Redis every few seconds, so that a call costs a
 * look into memory. A process that is killed loses what it noted in its last seconds.
 */
import type { RedisClient } from '../../../data/runtime/redis.ts';
import { readScript, type ScriptRunner } from '../../../data/runtime/redis-scripts.ts';
import { DAY_MS, dateOfDay, dayOf, redisKeys } from '../../../data/schema/redis-keys.ts';

const NOTE = readScript(import.meta.url, 'lua/note-used.lua', 2);
const FLUSH_EVERY_MS = 5_000;
export const USED_DAYS = 30;
/** Indicators kept per account; a provider has some thousands. */
const USED_MAX = 10_000;
const KEPT_MS = (USED_DAYS + 2) * DAY_MS;
/** Pairs of account and indicator in memory, of 28 bytes each. Beyond that all are forgotten, and written once more. */
const NOTED_MAX = 500_000;
const IDS_AT_ONCE = 500;

export class UsedIndicators {
  readonly #runner: ScriptRunner;
  #day = 0;
  /** By account, what is in Redis for this day or will be. */
  #noted = new Map<string, Set<string>>();
  #count = 0;
  /** By account, what is not in Redis yet. */
  #pending = new Map<string, Set<string>>();
  #timer: NodeJS.Timeout | null = null;

  constructor(runner: ScriptRunner) {
    this.#runner = runner;
  }

  note(account_id: string, ids: readonly string[], now_ms: number): void {
    const day = dayOf(now_ms);
    if (day !== this.#day || this.#count > NOTED_MAX) this.#begin(day);
    let noted = this.#noted.get(account_id);
    if (noted === undefined) {
      noted = new Set();
      this.#noted.set(account_id, noted);
    }
    for (const id of ids) {
      if (noted.has(id)) continue;
      noted.add(id);
      this.#count += 1;
      this.#add(account_id, id);
    }
  }

  #begin(day: number): void {
    // What is pending of the day before is written for it.
    if (day !== this.#day) void this.flush();
    this.#day = day;
    this.#noted = new Map();
    this.#count = 0;
  }

  #add(account_id: string, id: string): void {
    const pending = this.#pending.get(account_id);
    if (pending) pending.add(id);
    else this.#pending.set(account_id, new Set([id]));
    this.#timer ??= setTimeout(() => void this.flush(), FLUSH_EVERY_MS).unref();
  }

  /** Writes what is pending. What fails is written once the indicator is used again. Never rejects. */
  async flush(): Promise<void> {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    const [pending, day] = [this.#pending, this.#day];
    this.#pending = new Map();
    const writes = [...pending].map(([account_id, ids]) =>
      this.#write(account_id, [...ids], day).catch(() => this.#noted.delete(account_id)),
    );
    await Promise.all(writes);
  }

  async #write(account_id: string, ids: readonly string[], day: number): Promise<void> {
    const names = [redisKeys.account(account_id), redisKeys.usedIndicators(account_id)];
    const facts = [day, day - USED_DAYS, USED_MAX, KEPT_MS];
    for (let from = 0; from < ids.length; from += IDS_AT_ONCE)
      await this.#runner.run(NOTE, [...names, ...facts, ...ids.slice(from, from + IDS_AT_ONCE)]);
  }
}

/** Indicators that an account used on the 30 UTC days up to `day`, or later. Rejects with the error of Redis. */
export const readUsedIndicators = (redis: RedisClient, account_id: string, day: number): Promise<string[]> =>
  redis.zrangebyscore(redisKeys.usedIndicators(account_id), day - USED_DAYS + 1, '+inf');

/** The indicators that are kept of an account, with the UTC day of their last use. Rejects with the error of Redis. */
export async function readUsedDays(
  redis: RedisClient,
  account_id: string,
): Promise<{ indicator: string; last_used: string }[]> {
  const flat = await redis.zrange(redisKeys.usedIndicators(account_id), '0', '-1', 'WITHSCORES');
  const ids = flat.filter((_, index) => index % 2 === 0);
  return ids.map((indicator, index) => ({ indicator, last_used: dateOfDay(Number(flat[2 * index + 1])) }));
}
