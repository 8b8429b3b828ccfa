/**
 * Writes the usage of finished days: one file a day with all accounts, once the day can no longer change. The counters
 * stay in Redis and expire there.
 */
import { readSql } from '../../data/runtime/sql-files.ts';
import { USAGE_COLUMNS } from '../../data/schema/archive.ts';
import { dateOfDay, dayOf, redisKeys } from '../../data/schema/redis-keys.ts';
import { withRetry } from '../runtime/redis-connection.ts';
import type { ArchiveContext } from './archive-storage.ts';
import { type Cell, writeTable } from './entry-rows.ts';
import { accountPages, firstDay } from './redis-access.ts';

const VERIFY_USAGE = readSql(import.meta.url, 'sql/verify-usage.sql');

/**
 * A day is final this long after its end: a gateway that was cut off from Redis reverses debits for up to 12 hours, on
 * the day on which they were made, and its clock may be off by minutes.
 */
const FINAL_AFTER_MS = 12.5 * 3_600_000;
/** Counters expire 100 days after their first call; the oldest day may expire while it is read. */
const KEPT_DAYS = 99;
const ACCOUNTS_PER_READ = 500;
const COUNTS = ['requests', 'errors', 'rows', 'credits'] as const;

export interface UsageArchived {
  /** Days that were written, `2026-11-21`. */
  days: string[];
  /** First and last day whose counters expired before they were archived; null when none did. */
  lost: { from: string; to: string } | null;
}

export async function archiveUsage(context: ArchiveContext): Promise<UsageArchived> {
  const { storage, redis, now, signal, onStep } = context;
  const archived: UsageArchived = { days: [], lost: null };
  const first = await firstDay(redis);
  if (first === null) return archived;
  const lastDay = dayOf(now() - FINAL_AFTER_MS) - 1;
  const firstKept = dayOf(now()) - KEPT_DAYS;
  const written = await storage.usageDays();
  archived.lost = lostDays(first, firstKept - 1, written);
  if (archived.lost) context.log.warn(archived.lost, 'usage of these days expired before it was archived');
  for (let day = Math.max(first, firstKept); day <= lastDay; day += 1) {
    signal.throwIfAborted();
    const date = dateOfDay(day);
    if (written.includes(date)) continue;
    await writeDay(context, day);
    archived.days.push(date);
    await onStep(`usage written ${date}`);
  }
  return archived;
}

/** Days that expired unarchived. Days before the newest written one were reported by an earlier run. */
function lostDays(first: number, last: number, written: readonly string[]): UsageArchived['lost'] {
  const newest = written.at(-1);
  const from = Math.max(first, newest === undefined ? first : dayOf(Date.parse(newest)) + 1);
  return from <= last ? { from: dateOfDay(from), to: dateOfDay(last) } : null;
}

async function writeDay({ storage, duck, redis, log }: ArchiveContext, day: number): Promise<void> {
  const date = dateOfDay(day);
  const table = await duck.createTable('usage_counts', USAGE_COLUMNS);
  let credits = 0n;
  for await (const ids of accountPages(redis, ACCOUNTS_PER_READ)) {
    const hashes = await withRetry(redis, () =>
      Promise.all(ids.map((id) => redis.hgetall(redisKeys.usage(id, day)))),
    );
    for (const [index, account_id] of ids.entries()) {
      for (const row of usageRows(account_id, hashes[index] ?? {})) {
        table.add(row);
        credits += row.at(-1) as bigint;
      }
    }
  }
  table.close();
  const file = storage.usageDraft(date);
  await writeTable(duck, table, file);
  const [found] = await duck.rows(VERIFY_USAGE, { file });
  if (Number(found?.counted) !== table.added || String(found?.credits) !== String(credits)) {
    throw new Error(`${file} does not read back as what was written`);
  }
  await storage.publishUsage(date);
  log.info({ date, rows: table.added }, 'a day of usage is written');
}

/** One row a route, in the order of USAGE_COLUMNS, from fields `<route>|<key id>|<count>` and `<route>|<count>`. */
function usageRows(account_id: string, hash: Readonly<Record<string, string>>): Cell[][] {
  const routes = new Map<string, Map<string, bigint>>();
  for (const [field, count] of Object.entries(hash)) {
    const [route = '', ...names] = field.split('|');
    const name = names.at(-1) ?? '';
    const counts = routes.get(route) ?? new Map<string, bigint>();
    routes.set(route, counts.set(name, (counts.get(name) ?? 0n) + BigInt(count)));
  }
  const countsOf = (counts: ReadonlyMap<string, bigint>) => COUNTS.map((name) => counts.get(name) ?? 0n);
  return [...routes].map(([route, counts]) => [account_id, route, ...countsOf(counts)]);
}
