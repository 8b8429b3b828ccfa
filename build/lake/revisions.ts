/** Compares two runs of a provider observation by observation: a Parquet file, and counts for the run record. */

import { type DuckDBValue, listValue } from '@duckdb/node-api';
import { readSql } from '../../data/runtime/sql-files.ts';
import type { RunRecord } from '../../data/schema/lake.ts';
import type { DuckSession } from '../runtime/duckdb.ts';
import type { SeriesFile } from './series-facts.ts';

const REVISIONS_SUMMARY = readSql(import.meta.url, 'sql/revisions-summary.sql');
const WRITE_REVISIONS = readSql(import.meta.url, 'sql/write-revisions.sql');

/** Slugs of series that were added, changed or removed. */
export function changedSeries(before: SeriesFile, after: SeriesFile): string[] {
  const slugs = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...slugs].filter((slug) => before[slug]?.digest !== after[slug]?.digest).sort();
}

/**
 * Compares the observations of two runs.
 * @param changed the series to compare; all others are equal. When empty, no file is written.
 */
export async function writeRevisions(
  duck: DuckSession,
  files: { previous: string; current: string; file: string },
  changed: readonly string[],
): Promise<NonNullable<RunRecord['revisions']>> {
  if (changed.length === 0) return { added: 0, changed: 0, removed: 0, indicators: [] };
  const list: DuckDBValue = listValue([...changed]);
  await duck.run(WRITE_REVISIONS, { ...files, changed: list });
  const rows = await duck.rows(REVISIONS_SUMMARY, { file: files.file });
  const indicators = rows.map((row) => ({
    slug: String(row.indicator),
    added: Number(row.added),
    changed: Number(row.changed),
    removed: Number(row.removed),
  }));
  const sum = (what: 'added' | 'changed' | 'removed'): number =>
    indicators.reduce((total, one) => total + one[what], 0);
  return { added: sum('added'), changed: sum('changed'), removed: sum('removed'), indicators };
}
