/**
 * Usage, as statistics; money is always read from the ledger.
 *
 * - By UTC day, route and key: the totals of all callers, and the report of one account.
 * - Which indicators each account used in the last 30 days, to tell it what a new edition changed of them. A process notes
 *   an indicator of an account once a day.
 *
 * A process writes to Redis every few seconds; one that is killed loses its last seconds.
 */
import type { RedisClient } from '../../../data/runtime/redis.ts';
import { readScript, type ScriptRunner } from '../../../data/runtime/redis-scripts.ts';
import { DAY_MS, dateOfDay, dayOf, redisKeys } from '../../../data/schema/redis-keys.ts';
import type { UsageCounts, UsageReport } from './admission.ts';

const FLUSH_EVERY_MS = 5_000;
const KEPT_MS = 400 * DAY_MS;

/** The counts of one request. */
export interface RequestCounts {
  failed: boolean;
  rows: number;
  credits: number;
}

/** An anonymous request, whatever its result. */
export const FREE_CALL: RequestCounts = { failed: false, rows: 0, credits: 0 };

/** Stands in place of the route for anonymous requests. */
export const ANONYMOUS = 'anonymous';

/**
 * Counts the requests, errors, rows and credits of all callers per UTC day and route, for the operator's overview.
 *
 * Counts in memory and adds to Redis every few seconds. Best effort: a process that is killed loses its last seconds.
 * Money is never read from here; the ledger is the truth.
 */
export class UsageTotals {
  readonly #redis: RedisClient;
  /** Not yet in Redis: by UTC day, then by route. */
  #pending = new Map<number, Map<string, UsageCounts>>();
  #timer: NodeJS.Timeout | null = null;

  constructor(redis: RedisClient) {
    this.#redis = redis;
  }

  count(route: string, now_ms: number, { failed, rows, credits }: RequestCounts): void {
    const day = dayOf(now_ms);
    const routes = this.#pending.get(day) ?? new Map<string, UsageCounts>();
    const counts = routes.get(route) ?? zero();
    this.#pending.set(day, routes.set(route, counts));
    counts.requests += 1;
    if (failed) counts.errors += 1;
    counts.rows += rows;
    counts.credits += credits;
    this.#timer ??= setTimeout(() => void this.flush(), FLUSH_EVERY_MS).unref();
  }

  /** Adds the counts to Redis. Drops them on failure, because adding them twice would be worse. */
  async flush(): Promise<void> {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    const pending = this.#pending;
    this.#pending = new Map();
    const additions: Promise<unknown>[] = [];
    for (const [day, routes] of pending) {
      const key = redisKeys.globalUsage(day);
      for (const [route, counts] of routes) {
        for (const name of COUNTS) {
          if (counts[name] > 0) additions.push(this.#redis.hincrby(key, `${route}|${name}`, counts[name]));
        }
      }
      additions.push(this.#redis.pexpire(key, KEPT_MS));
    }
    await Promise.allSettled(additions);
  }
}

const COUNTS = ['requests', 'errors', 'rows', 'credits'] as const;

const zero = (): UsageCounts => ({ requests: 0, errors: 0, rows: 0, credits: 0 });

/** The counters of one UTC day; of a day without calls none. */
export interface UsageDay {
  date: string;
  /** `<route>|<key id>|<count>`, or `<route>|<count>` in totals. */
  counters: Readonly<Record<string, string>>;
}

interface Counter {
  route: string;
  /** Empty in totals. */
  key_id: string;
  name: keyof UsageCounts;
  value: number;
}

function* countersOf({ counters }: UsageDay): Generator<Counter> {
  for (const [field, text] of Object.entries(counters)) {
    const parts = field.split('|');
    const [route = '', key_id = ''] = parts.slice(0, -1);
    const name = COUNTS.find((count) => count === parts.at(-1));
    if (name) yield { route, key_id, name, value: Number(text) };
  }
}

/** The counters of some days, by what `nameOf` says of each; busiest first, ties by name. */
function foldBy(days: readonly UsageDay[], nameOf: (counter: Counter) => string): [string, UsageCounts][] {
  const groups = new Map<string, UsageCounts>();
  for (const day of days) {
    for (const counter of countersOf(day)) {
      const name = nameOf(counter);
      const counts = groups.get(name) ?? zero();
      groups.set(name, counts);
      counts[counter.name] += counter.value;
    }
  }
  return [...groups].sort(([a, x], [b, y]) => y.requests - x.requests || (a < b ? -1 : 1));
}

function sum(days: UsageCounts[]): UsageCounts {
  const total = zero();
  for (const day of days) for (const count of COUNTS) total[count] += day[count];
  return total;
}

/** Builds the report from one hash per UTC day, oldest first. */
export function foldUsage(days: readonly UsageDay[]): Omit<UsageReport, 'credits'> {
  const daily = days.map((day) => {
    const [[, counts] = ['', zero()]] = foldBy([day], () => '');
    return { date: day.date, ...counts };
  });
  const endpoints = foldBy(days, ({ route }) => route).map(([route, counts]) => ({ route, ...counts }));
  return { totals: sum(daily), daily, endpoints };
}

/** Usage by key, busiest first. */
export const foldUsageByKey = (days: readonly UsageDay[]): ({ key_id: string } & UsageCounts)[] =>
  foldBy(days, ({ key_id }) => key_id).map(([key_id, counts]) => ({ key_id, ...counts }));

/** The counters of the last `days` UTC days, today included, oldest first. Rejects with the error of Redis. */
export async function readUsageDays(
  redis: RedisClient,
  accountId: string,
  days: number,
  now_ms: number,
): Promise<UsageDay[]> {
  const today = dayOf(now_ms);
  const numbers = Array.from({ length: days }, (_, index) => today - days + 1 + index);
  const hashes = await Promise.all(numbers.map((day) => redis.hgetall(redisKeys.usage(accountId, day))));
  return numbers.map((day, index) => ({ date: dateOfDay(day), counters: hashes[index] ?? {} }));
}

/** Wallet and usage of the last `days` UTC days, today included. Rejects with the error of Redis. */
export async function readUsage(
  redis: RedisClient,
  accountId: string,
  days: number,
  now_ms: number,
): Promise<UsageReport> {
  const [wallet, usage] = await Promise.all([
    redis.hmget(redisKeys.account(accountId), 'balance', 'granted', 'spent'),
    readUsageDays(redis, accountId, days, now_ms),
  ]);
  const [balance = 0, lifetime_granted = 0, lifetime_spent = 0] = wallet.map(Number);
  return { credits: { balance, lifetime_granted, lifetime_spent }, ...foldUsage(usage) };
}

const NOTE = readScript(import.meta.url, 'lua/note-used.lua', 2);
export const USED_DAYS = 30;
/** Indicators kept per account; a provider has some thousands. */
const USED_MAX = 10_000;
const USED_KEPT_MS = (USED_DAYS + 2) * DAY_MS;
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
    const noted = this.#noted.get(account_id) ?? new Set();
    const fresh = ids.filter((id) => !noted.has(id));
    if (fresh.length === 0) return;
    const pending = this.#pending.get(account_id) ?? new Set();
    for (const id of new Set(fresh)) {
      noted.add(id);
      pending.add(id);
      this.#count += 1;
    }
    this.#noted.set(account_id, noted);
    this.#pending.set(account_id, pending);
    this.#timer ??= setTimeout(() => void this.flush(), FLUSH_EVERY_MS).unref();
  }

  #begin(day: number): void {
    // What is pending of the day before is written for it.
    if (day !== this.#day) void this.flush();
    this.#day = day;
    this.#noted = new Map();
    this.#count = 0;
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
    const facts = [day, day - USED_DAYS, USED_MAX, USED_KEPT_MS];
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
