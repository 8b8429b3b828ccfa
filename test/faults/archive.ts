/**
 * The archive over a year of nightly runs, and over days of a million entries: Redis memory stays flat, a million entries are
 * archived in one run, and every entry exists exactly once.
 */
import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ArchiveSummary, runArchive } from '../../build/archive/run-archive.ts';
import type { RedisClient } from '../../data/runtime/redis.ts';
import { ArchiveOracle } from '../build/archive/archive-oracle.ts';
import { type Customer, createWorld, UNLIMITED } from '../gateway/api/metering/harness.ts';
import { silentLog, startRedis } from '../redis.ts';
import { fillDay, liveEntries } from './ledger-days.ts';
import { measureRedisLatency } from './redis-latency.ts';
import { SimulatedExpiry } from './simulated-expiry.ts';
import type { Reporter } from './table.ts';

export interface ArchiveScale {
  nights: number;
  callsADay: number;
  /** Per full day. */
  debits: number;
  /** Consecutive full days. */
  days: number;
}

const FULL: ArchiveScale = { nights: 365, callsADay: 600, debits: 1_000_000, days: 9 };
const DAY_MS = 86_400_000;
const CUSTOMERS = 8;
const AT_ONCE = 200;
const LIVE_DAYS = 3;
/** Later quarters relative to the second, with room for allocator rounding. */
const FLAT = 1.05;
/** How long a Redis command may wait behind the archive. */
const WAIT_AT_MOST_MS = 100;

export default async function archiveFaults(report: Reporter, scale: ArchiveScale = FULL): Promise<void> {
  await simulateYear(report, scale);
  await archiveFullDay(report, scale.debits);
  await archiveManyDays(report, scale);
}

/** A Redis and a directory, both removed on disposal. */
async function open() {
  const stack = new AsyncDisposableStack();
  const { path: dir } = stack.use(await mkdtempDisposable(join(tmpdir(), 'alm-nights-')));
  const server = stack.use(await startRedis({ dedicated: true }));
  const redis = await server.connect();
  return { dir, server, redis, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

function night(redis: RedisClient, dir: string, now_ms: number): Promise<ArchiveSummary> {
  const settings = { ARCHIVE_DIR: dir, LEDGER_LIVE_DAYS: LIVE_DAYS, AUDIT_LIVE_DAYS: 90 };
  return runArchive({ redis, settings, now: () => now_ms, log: silentLog });
}

const usedMemory = async (redis: RedisClient): Promise<number> =>
  Number(/used_memory:(\d+)/.exec(await redis.info('memory'))?.[1]);

/** Calls through the real admission script by day and the archive by night, on a simulated clock. */
async function simulateYear(report: Reporter, { nights, callsADay }: ArchiveScale): Promise<void> {
  await using to = await open();
  const { redis, dir } = to;
  const world = createWorld(redis, UNLIMITED);
  const customers: Customer[] = [];
  for (let i = 0; i < CUSTOMERS; i += 1) customers.push(await world.customer({ credits: 100_000_000 }));
  const expiry = new SimulatedExpiry(redis);
  const oracle = new ArchiveOracle(redis, dir);
  const quarters: number[] = [];
  let admitted = 0;
  for (let day = 1; day <= nights; day += 1) {
    admitted += await callAllDay(customers, callsADay, `day-${day}`);
    await oracle.record();
    await expiry.note(world.clock.ms);
    world.clock.ms += DAY_MS;
    await expiry.pass(world.clock.ms);
    await night(redis, dir, world.clock.ms);
    if (day === Math.round(((quarters.length + 1) * nights) / 4)) quarters.push(await usedMemory(redis));
  }
  const [, second = 0, ...later] = quarters;
  report(
    'A year of nightly runs: Redis memory stays flat once usage covers its hundred days',
    `${number(admitted)} paid calls; at the end of each quarter ${quarters.map(megabytes).join(', ')} MB`,
    Math.max(...later) <= second * FLAT,
  );
  const wrongs = await oracle.problems({ usage: false });
  report(
    'A year of nightly runs: each entry is in the archive or the live ledger exactly once, and each balance is their sum',
    `${number(oracle.seen)} entries, ${wrongs.length === 0 ? 'none' : wrongs.slice(0, 3).join('; ')} wrong`,
    wrongs.length === 0 && admitted === nights * callsADay && oracle.seen >= admitted,
  );
}

/** @returns the number of admitted calls */
async function callAllDay(customers: readonly Customer[], calls: number, word: string): Promise<number> {
  let admitted = 0;
  for (let from = 0; from < calls; from += AT_ONCE) {
    const verdicts = await Promise.all(
      Array.from({ length: Math.min(AT_ONCE, calls - from) }, (_, i) =>
        customers[i % customers.length]?.call({ request_id: `${word}-${from + i}`, rows: i }),
      ),
    );
    admitted += verdicts.filter((verdict) => verdict?.kind === 'admitted').length;
  }
  return admitted;
}

async function archiveFullDay(report: Reporter, debits: number): Promise<void> {
  await using to = await open();
  const { redis, dir, server } = to;
  const empty = await usedMemory(redis);
  const { entries, ends_ms } = await fillDay(redis, debits);
  const full = await usedMemory(redis);
  const bystander = await server.connect();
  // In microseconds: log scripts that take at least 0.1 ms.
  await redis.config('SET', 'slowlog-log-slower-than', '100', 'slowlog-max-len', '1000000');
  const now_ms = ends_ms + LIVE_DAYS * DAY_MS;
  const began_ms = performance.now();
  const [{ ledger }, wait_ms] = await measureRedisLatency(bystander, () => night(redis, dir, now_ms));
  const seconds = (performance.now() - began_ms) / 1000;
  const steps = await stepTimes(redis);
  const left = await liveEntries(redis);
  const bytes = (full - empty) / entries;
  report(
    'One nightly run moves a day of a million paid calls out of Redis and frees its memory',
    `${number(ledger.entries)} entries of ${bytes.toFixed(0)} bytes in ${seconds.toFixed(0)} s, ${left} left; ` +
      `${megabytes(full)} MB before, ${megabytes(await usedMemory(redis))} MB after; ` +
      `at a million calls a day at most ${megabytes(bytes * 1_000_000 * (LIVE_DAYS + 1))} MB of ledger are live ` +
      `when the night comes (LEDGER_LIVE_DAYS ${LIVE_DAYS} and the day itself)`,
    ledger.entries === entries && left === 0,
  );
  report(
    'Paid calls do not wait for the archive',
    `99 of 100 questions of the archiving process itself wait less than ${wait_ms.toFixed(1)} ms; ${steps}`,
    wait_ms < WAIT_AT_MOST_MS,
  );
}

/** Full days, each followed by its nightly run. */
async function archiveManyDays(report: Reporter, { debits, days }: ArchiveScale): Promise<void> {
  await using to = await open();
  const { redis, dir } = to;
  const most: number[] = [];
  let [written, archived] = [0, 0];
  for (let day = 0; day < days; day += 1) {
    const { entries, ends_ms } = await fillDay(redis, debits, day);
    written += entries;
    most.push(await usedMemory(redis));
    archived += (await night(redis, dir, ends_ms)).ledger.entries;
  }
  const live = await liveEntries(redis);
  const settled = most.slice(LIVE_DAYS);
  report(
    'Consecutive days of a million paid calls: Redis memory stays flat once LEDGER_LIVE_DAYS are full',
    `${days} days, ${number(written)} entries; at the end of each day ${most.map((bytes) => (bytes / 1e6).toFixed(0)).join(', ')} MB; ` +
      `${number(archived)} archived, ${number(live)} live, ${number(written - archived - live)} missing`,
    Math.max(...settled) <= (settled[0] ?? 0) * FLAT && written === archived + live,
  );
}

/** Time in Redis of the script that archives 250 entries, from the slow log. */
async function stepTimes(redis: RedisClient): Promise<string> {
  const log = (await redis.slowlog('GET', 1_000_000)) as [number, number, micros: number, words: string[]][];
  const took = log
    .filter(([, , , words]) => /^eval/i.test(words[0] ?? ''))
    .map(([, , micros]) => micros / 1000);
  await redis.slowlog('RESET');
  took.sort((a, b) => a - b);
  const at = (share: number): string => (took[Math.floor((took.length - 1) * share)] ?? 0).toFixed(2);
  return `a step of 250 entries holds Redis for ${at(0.5)} ms, 99 of 100 for less than ${at(0.99)} ms (${took.length} steps)`;
}

const number = (count: number): string => count.toLocaleString('en');
const megabytes = (bytes: number): string => (bytes / 1e6).toFixed(1);
