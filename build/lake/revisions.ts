/** Compares a run with the good run before it, observation by observation: a Parquet file, and counts for the record. */
import { join } from 'node:path';
import { listValue } from '@duckdb/node-api';
import { z } from 'zod';
import { sqlOf } from '../../data/runtime/sql-files.ts';
import type { RunRecord } from '../../data/schema/lake.ts';
import { DuckSession } from '../runtime/duckdb.ts';
import { type LakeRun, OBSERVATIONS, type ProviderLake, REVISIONS } from './provider-lake.ts';
import type { SeriesFile } from './series-facts.ts';

const sql = sqlOf(import.meta.url);
const MEMORY_MB = 512;

type Revisions = NonNullable<RunRecord['revisions']>;

/** Slugs of series that were added, changed or removed. */
export function changedSeries(before: SeriesFile, after: SeriesFile): string[] {
  const slugs = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...slugs].filter((slug) => before[slug]?.digest !== after[slug]?.digest).sort();
}

/**
 * Writes the revisions of a run, unless nothing changed, and counts them.
 * @param directory of the run, with its observations
 * @param changed the series to compare; all others are equal
 */
export async function writeRevisions(
  lake: ProviderLake,
  base: LakeRun,
  directory: string,
  changed: readonly string[],
): Promise<Revisions> {
  if (changed.length === 0) return { added: 0, changed: 0, removed: 0, restored: 0, indicators: [] };
  const scratch = join(lake.directory, '.scratch-revisions');
  await using duck = await DuckSession.open({ scratch, memoryMb: MEMORY_MB });
  const list = listValue([...changed]);
  await duck.run(sql('withdrawn-table'));
  const earlier = await withdrawals(lake, base, changed);
  if (earlier.length > 0)
    await duck.run(sql('withdrawn-before'), { earlier: listValue(earlier), changed: list });
  const file = join(directory, REVISIONS);
  const compared = { previous: base.observations, current: join(directory, OBSERVATIONS) };
  await duck.run(sql('write-revisions'), { ...compared, changed: list, file });
  const indicators = await duck.select(summaryRow, sql('revisions-summary'), { file });
  const sum = (what: 'added' | 'changed' | 'removed' | 'restored'): number =>
    indicators.reduce((total, one) => total + one[what], 0);
  return {
    added: sum('added'),
    changed: sum('changed'),
    removed: sum('removed'),
    restored: sum('restored'),
    indicators,
  };
}

const summaryRow = z.object({
  slug: z.string(),
  added: z.int(),
  changed: z.int(),
  removed: z.int(),
  restored: z.int(),
});

/** The revisions up to `base` that withdrew figures of these series. */
async function withdrawals(lake: ProviderLake, base: LakeRun, slugs: readonly string[]): Promise<string[]> {
  const wanted = new Set(slugs);
  const runs = (await lake.history()).filter(({ record }) => {
    if (record.status !== 'succeeded' || !record.base_run || record.run_id > base.record.run_id) return false;
    return record.revisions?.indicators.some(({ slug, removed }) => removed > 0 && wanted.has(slug)) ?? false;
  });
  return runs.map(({ directory }) => join(directory, REVISIONS));
}
