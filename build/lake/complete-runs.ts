/**
 * Completes runs that earlier versions wrote: names the base of each and compares the two again, as long as LAKE_KEEP
 * has left the rows of both. The upstream files of such a run cannot be listed any more.
 */
import { existsSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { RunRecord } from '../../data/schema/lake.ts';
import { type ProviderLake, REVISIONS } from './lake.ts';
import { changedSeries, isOfThisReading, writeRevisions } from './revisions.ts';

const hasData = ({ status }: RunRecord): boolean => status === 'succeeded' || status === 'suspicious';

/**
 * Completes the runs of a provider, oldest first; does nothing when all are complete. The caller holds the lock. A crash
 * leaves the rest to the next call.
 */
export async function completeRuns(lake: ProviderLake): Promise<void> {
  const records = await lake.records();
  for (const record of records.filter((one) => hasData(one) && one.base_run === undefined)) {
    const base = records.findLast(({ run_id: id, status }) => id < record.run_id && status === 'succeeded');
    await completeRun(lake, record, base?.run_id ?? null);
  }
}

async function completeRun(lake: ProviderLake, record: RunRecord, baseId: string | null): Promise<void> {
  const { revisions: _, ...rest } = record;
  const base = baseId === null ? null : await lake.run(baseId);
  if (!base) return lake.complete({ ...rest, base_run: null }, null);
  const run = await lake.run(record.run_id);
  const changed = changedSeries(await lake.series(base), await lake.series(run));
  const draft = join(lake.directory, '.scratch-completed');
  await mkdir(draft, { recursive: true });
  const revisions = await writeRevisions({
    lake,
    base,
    changed,
    readsStatus: isOfThisReading(record) && !isOfThisReading(base.record),
    current: run.observations,
    file: join(draft, REVISIONS),
  });
  const file = join(draft, REVISIONS);
  await lake.complete({ ...rest, base_run: base.record.run_id, revisions }, existsSync(file) ? file : null);
  await rm(draft, { recursive: true, force: true });
}
