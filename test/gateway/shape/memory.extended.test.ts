/** The memory of a gateway process while it streams to a reader who is slow: it does not grow with the answer. */
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { expect, test } from 'vitest';
import type { IndicatorRecord } from '../../../data/schema/records.ts';
import { AccountStore } from '../../../gateway/commerce/accounts/account-store.ts';
import { stopAfterTests } from '../../after-tests.ts';
import { cpuTime, memoryLine } from '../../bench/process-stats.ts';
import { useRedis } from '../../redis.ts';
import { buildStarter } from '../../shared-builds.ts';
import { Program } from '../program.ts';

const SHORT_ROWS = 100_000;
const LONG_ROWS = 1_000_000;
const INDICATORS_MAX = 50;
/** Measured: 3 to 25; with whole answers held, 44 (CSV) to 88 (NDJSON). Parquet of so many rows has 6 MB and tells nothing. */
const HELD_MAX_MB = 34;
/** Twice what was measured. */
const GROWTH_MAX_MB = 48;
/** Arrow has its pieces outside the heap, where V8 collects them late: measured 31 to 65 of a 62-MB answer. */
const ARROW_GROWTH_MAX_MB = 96;
/** A limit for what hangs. */
const STREAMED_WITHIN_MS = 300_000;
/** Garbage is collected before it makes up most of the memory. */
const TIGHT_HEAP = '--max-semi-space-size=4 --max-old-space-size=192';
const IDLE_LOOK_MS = 100;

const { snapshots } = await buildStarter();
const redis = await useRedis();
const program = await stopAfterTests(Program.prepare());
const settings = {
  SNAPSHOT_DIR: snapshots,
  REDIS_URL: redis.url,
  WORKERS: '1',
  HOT_CACHE_MB: '1',
  LOG_LEVEL: 'silent',
  FREE_PER_MINUTE: '1000000',
  FREE_PER_DAY: '100000000',
  NODE_OPTIONS: TIGHT_HEAP,
  // As `npm start` sets it.
  MALLOC_ARENA_MAX: '2',
};
const random = (size: number): Buffer => Buffer.alloc(size, 7);
const accounts = new AccountStore({ redis: await redis.connect(), now: Date.now, random, packs: [] });
const account = { email: 'reader@example.org', verified: true, credits: 1_000_000_000, by: 'test' };
const { account_id } = await accounts.create(account);
const { key } = await accounts.keys.mint(account_id);

async function ask(url: string): Promise<IncomingMessage> {
  const sent = request(url, { headers: { authorization: `Bearer ${key}` }, agent: false }).end();
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  return answer;
}

async function json<Body>(url: string): Promise<Body> {
  const pieces: Buffer[] = [];
  for await (const piece of await ask(url)) pieces.push(piece);
  return JSON.parse(Buffer.concat(pieces).toString());
}

/** Calls of about so many rows, at most. */
async function callOf(gateway: string, rowsMax: number): Promise<string> {
  const { data } = await json<{ data: IndicatorRecord[] }>(`${gateway}/v1/indicators`);
  const extent = ({ coverage }: IndicatorRecord): number =>
    coverage === null ? 0 : coverage.n_countries * ((coverage.yr_max ?? 0) - (coverage.yr_min ?? 0));
  const open = data.filter(({ access_tier }) => access_tier === 'open');
  const largest = open.toSorted((a, b) => extent(b) - extent(a));
  const ids: string[] = [];
  let rows = 0;
  for (const { id } of largest) {
    const dry = await json<{ data: { rows: number } }>(`${gateway}/v1/data?indicator=${id}&dry_run=true`);
    if (rows + dry.data.rows > rowsMax || ids.length === INDICATORS_MAX) continue;
    rows += dry.data.rows;
    ids.push(id);
  }
  expect(rows).toBeGreaterThan(0.8 * rowsMax);
  return `${gateway}/v1/data?indicators=${ids.join(',')}`;
}

interface Late {
  bytes: number;
  /** Of the process's memory, from its start until the first byte was read. */
  peak_mb: number;
}

/** Reads nothing until the gateway has nothing left to do, then everything. */
async function readLate(url: string, pid: number | undefined): Promise<Late> {
  const answer = await ask(url);
  expect(answer.statusCode).toBe(200);
  let before: number | null = null;
  const isIdle = async (): Promise<boolean> => {
    const now = await cpuTime(pid);
    const isSame = now === before;
    before = now;
    return isSame;
  };
  await expect.poll(isIdle, { interval: IDLE_LOOK_MS, timeout: STREAMED_WITHIN_MS }).toBe(true);
  const peak_mb = await peakOf(pid);
  let bytes = 0;
  for await (const piece of answer) bytes += piece.length;
  return { bytes, peak_mb };
}

async function peakOf(pid: number | undefined): Promise<number> {
  const megabytes = await memoryLine(pid, 'VmHWM');
  if (megabytes === null) throw new Error('there is no /proc');
  return megabytes;
}

/**
 * A process for each, because a peak never falls. While nothing is read, an answer holds its first pieces and no more; while
 * it is read, memory depends on when V8 collects them.
 */
test.each(['ndjson', 'csv', 'parquet', 'arrow'])('%s', async (format) => {
  const { child, url } = await program.start(settings);
  const short = `${await callOf(url, SHORT_ROWS)}&format=${format}`;
  const long = `${await callOf(url, LONG_ROWS)}&format=${format}`;
  // Code is compiled and the young generation grows in the first answers, whatever their length.
  for (let time = 0; time < 3; time += 1) await readLate(short, child.pid);
  const { bytes } = await readLate(short, child.pid);
  const before = await peakOf(child.pid);
  const late = await readLate(long, child.pid);
  expect(late.bytes).toBeGreaterThan(5 * bytes);
  const growth = (await peakOf(child.pid)) - before;
  child.kill('SIGTERM');
  await once(child, 'exit');
  expect(late.peak_mb - before).toBeLessThan(HELD_MAX_MB);
  expect(growth).toBeLessThan(format === 'arrow' ? ARROW_GROWTH_MAX_MB : GROWTH_MAX_MB);
});
