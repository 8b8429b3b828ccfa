/** Compares a run with the good run before it, observation by observation: a Parquet file, and counts for the record. */
import { join } from 'node:path';
import { type DuckDBValue, listValue } from '@duckdb/node-api';
import { readSql } from '../../data/runtime/sql-files.ts';
import type { RunRecord } from '../../data/schema/lake.ts';
import { DuckSession } from '../runtime/duckdb.ts';
import { type LakeRun, type ProviderLake, REVISIONS } from './provider-lake.ts';
import type { SeriesFile } from './series-facts.ts';

const REVISIONS_SUMMARY = readSql(import.meta.url, 'sql/revisions-summary.sql');
const WITHDRAWN_BEFORE = readSql(import.meta.url, 'sql/withdrawn-before.sql');
const WITHDRAWN_TABLE = readSql(import.meta.url, 'sql/withdrawn-table.sql');
const WRITE_REVISIONS = readSql(import.meta.url, 'sql/write-revisions.sql');
const MEMORY_MB = 512;

type Revisions = NonNullable<RunRecord['revisions']>;

/** Slugs of series that were added, changed or removed. */
export function changedSeries(before: SeriesFile, after: SeriesFile): string[] {
  const slugs = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...slugs].filter((slug) => before[slug]?.digest !== after[slug]?.digest).sort();
}

export interface ComparedRuns {
  lake: ProviderLake;
  base: LakeRun;
  /** The observations to compare with those of `base`. */
  current: string;
  /** The file to write. */
  file: string;
  /** The series to compare; all others are equal. */
  changed: readonly string[];
}

/** Writes the revisions, unless nothing changed, and counts them. */
export async function writeRevisions(runs: ComparedRuns): Promise<Revisions> {
  const { lake, base, current, changed, file } = runs;
  if (changed.length === 0) return { added: 0, changed: 0, removed: 0, restored: 0, indicators: [] };
  const scratch = join(lake.directory, '.scratch-revisions');
  await using duck = await DuckSession.open({ scratch, memoryMb: MEMORY_MB });
  const list: DuckDBValue = listValue([...changed]);
  await duck.run(WITHDRAWN_TABLE);
  const earlier = await withdrawals(lake, base, changed);
  if (earlier.length > 0) await duck.run(WITHDRAWN_BEFORE, { earlier: listValue(earlier), changed: list });
  await duck.run(WRITE_REVISIONS, {
    previous: base.observations,
    current,
    changed: list,
    file,
  });
  return await summarise(duck, file);
}

/** The revisions up to `base` that withdrew figures of these series. */
async function withdrawals(lake: ProviderLake, base: LakeRun, slugs: readonly string[]): Promise<string[]> {
  const wanted = new Set(slugs);
  const runs = (await lake.history()).filter(({ record }) => {
    if (record.status !== 'succeeded' || !record.base_run || record.run_id > base.record.run_id) return false;
    return record.revisions?.indicators.some(({ slug, removed }) => removed > 0 && wanted.has(slug)) ?? false;
  });
  return runs.map(({ directory }) => join(directory, REVISIONS));
}

async function summarise(duck: DuckSession, file: string): Promise<Revisions> {
  const rows = await duck.rows(REVISIONS_SUMMARY, { file });
  const indicators = rows.map((row) => ({
    slug: String(row.indicator),
    added: Number(row.added),
    changed: Number(row.changed),
    removed: Number(row.removed),
    restored: Number(row.restored),
  }));
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
