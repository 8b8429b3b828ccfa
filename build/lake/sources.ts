/** The upstream files of a run: a Parquet file with origin, size, hash and times of each, and a summary for the record. */
import { createHash } from 'node:crypto';
import { BIGINT, VARCHAR } from '@duckdb/node-api';
import { readSql } from '../../data/runtime/sql-files.ts';
import type { RunRecord, SourceFile } from '../../data/schema/lake.ts';
import { DuckSession } from '../runtime/duckdb.ts';
import { type LakeRun, type ProviderLake, SOURCES } from './lake.ts';

const SOURCES_TABLE = readSql(import.meta.url, 'sql/sources-table.sql');
const WRITE_SOURCES = readSql(import.meta.url, 'sql/write-sources.sql');

export type RunSources = NonNullable<RunRecord['sources']>;

/** The summary names this many files. */
const NAMED = 20;

const compareFiles = (a: SourceFile, b: SourceFile): number => {
  const [first, second] = [a, b].map(({ url, reference }) => `${url} ${reference}`);
  return (first ?? '') < (second ?? '') ? -1 : 1;
};

/** @param runId the run whose directory holds the list */
export function summariseSources(runId: string, files: readonly SourceFile[]): RunSources {
  const sorted = files.toSorted(compareFiles);
  const lines = sorted.map(({ url, reference, sha256 }) => `${sha256} ${url} ${reference}\n`);
  return {
    run_id: runId,
    files: files.length,
    bytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
    digest: createHash('sha256').update(lines.join('')).digest('hex'),
    first: sorted
      .slice(0, NAMED)
      .map(({ url, sha256, bytes, fetched_at }) => ({ url, sha256, bytes, fetched_at })),
  };
}

/**
 * Writes the list into a run's directory.
 * @param scratch a spill directory, removed at the end.
 */
export async function writeSources(
  runDirectory: string,
  files: readonly SourceFile[],
  scratch: string,
): Promise<void> {
  const duck = await DuckSession.open({ scratch });
  const texts = (name: Exclude<keyof SourceFile, 'bytes'>) => ({
    type: VARCHAR,
    values: files.map((file) => file[name]),
  });
  try {
    await duck.run(SOURCES_TABLE);
    await duck.fill('sources', [
      ...(['url', 'reference', 'sha256'] as const).map(texts),
      { type: BIGINT, values: files.map(({ bytes }) => BigInt(bytes)) },
      ...(['fetched_at', 'confirmed_at'] as const).map(texts),
    ]);
    await duck.run(WRITE_SOURCES, { file: `${runDirectory}/${SOURCES}` });
  } finally {
    await duck.close();
  }
}

/** The files that the newest run since `good` read or confirmed; null when they were not kept. */
export async function knownSources(lake: ProviderLake, good: LakeRun): Promise<RunSources | null> {
  const since = (await lake.records()).filter(
    ({ run_id: id, status }) =>
      id === good.record.run_id || (id > good.record.run_id && status === 'unchanged'),
  );
  return since.findLast(({ sources }) => sources !== undefined)?.sources ?? null;
}
