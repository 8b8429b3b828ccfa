/**
 * Reconciliation at full size: a year of archive and a hundred thousand accounts. It must find no discrepancy, finish in
 * seconds, delay no paid call, and then name the one account whose archived entry is altered.
 */
import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Reconciler, type Reconciliation } from '../../admin/reconcile/reconciler.ts';
import type { RedisClient } from '../../data/runtime/redis.ts';
import { silentLog, startRedis } from '../redis.ts';
import {
  ACCOUNTS,
  accountId,
  alterEntry,
  DAYS,
  ENTRIES,
  fillRedis,
  NOW_MS,
  writeArchive,
} from './reconcile-data.ts';
import { measureRedisLatency } from './redis-latency.ts';
import type { Reporter } from './table.ts';

/** Time limit of the page, with room for a busy machine. */
const ANSWERED_WITHIN_MS = 15_000;
/** How long a Redis command may wait behind reconciliation. */
const WAIT_AT_MOST_MS = 50;

export default async function reconcileFaults(report: Reporter): Promise<void> {
  await using dir = await mkdtempDisposable(join(tmpdir(), 'alm-year-'));
  await using server = await startRedis({ dedicated: true });
  const archiveDir = join(dir.path, 'archive');
  await writeArchive(archiveDir);
  const redis = await server.connect();
  await fillRedis(redis);
  const read = reader(redis, archiveDir, join(dir.path, 'work'));
  const first = await read();
  const bystander = await server.connect();
  const [second, wait_ms] = await measureRedisLatency(bystander, read);
  const size = `${number(ACCOUNTS)} accounts, ${number(ENTRIES)} archived entries in ${DAYS} parts`;
  report(
    'Reconciliation of correct books finds nothing',
    `${size}: ${first.discrepancies.length + second.discrepancies.length} named, read whole in ${seconds(first)}`,
    isClean(first) && isClean(second) && second.archive.entries === ENTRIES,
  );
  report(
    'Reconciliation takes seconds',
    `${seconds(second)} when every part has been read before`,
    second.duration_ms < ANSWERED_WITHIN_MS,
  );
  report(
    'Paid calls do not wait for reconciliation',
    `99 of 100 questions to Redis wait less than ${wait_ms.toFixed(1)} ms meanwhile`,
    wait_ms < WAIT_AT_MOST_MS,
  );
  const victim = await alterEntry(archiveDir);
  const third = await read();
  const named = new Set(third.discrepancies.map(({ account_id }) => account_id));
  const [one] = third.discrepancies;
  report(
    'One altered entry is found and named',
    one ? `${one.what}, off by ${one.actual - one.expected}, in ${seconds(third)}` : 'nobody',
    named.size === 1 && named.has(accountId(victim)),
  );
}

function reader(redis: RedisClient, archiveDir: string, workDir: string): () => Promise<Reconciliation> {
  const reconciler = new Reconciler({ redis, now: () => NOW_MS, archiveDir, workDir }, silentLog);
  return async () => {
    const before = reconciler.last;
    await reconciler.refresh(600_000);
    if (reconciler.last === null || reconciler.last === before) throw new Error('the reading failed');
    return reconciler.last;
  };
}

const isClean = ({ discrepancies, problems }: Reconciliation): boolean =>
  discrepancies.length === 0 && problems.length === 0;
const number = (count: number): string => count.toLocaleString('en');
const seconds = ({ duration_ms }: Reconciliation): string => `${(duration_ms / 1000).toFixed(1)} s`;
