/**
 * The upstream files of a run: a Parquet file with origin, size, hash and times of each and the series that it feeds, and
 * a summary for the record.
 */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { BIGINT, BOOLEAN, LIST, listValue, VARCHAR } from '@duckdb/node-api';
import { z } from 'zod';
import { readSql } from '../../data/runtime/sql-files.ts';
import type { ReadFile, RunRecord, SourceFile } from '../../data/schema/lake.ts';
import { DuckSession } from '../runtime/duckdb.ts';
import { type LakeRun, type ProviderLake, SOURCES } from './lake.ts';

const SOURCES_TABLE = readSql(import.meta.url, 'sql/sources-table.sql');
const READ_SOURCES = readSql(import.meta.url, 'sql/read-sources.sql');
const WRITE_SOURCES = readSql(import.meta.url, 'sql/write-sources.sql');

export type RunSources = NonNullable<RunRecord['sources']>;

/** The summary names this many files. */
const NAMED = 20;

const compareFiles = (a: ReadFile, b: ReadFile): number => {
  const [first, second] = [a, b].map(({ url, reference }) => `${url} ${reference}`);
  return (first ?? '') < (second ?? '') ? -1 : 1;
};

/**
 * Summarises what a run read.
 * @param runId the run whose directory holds the list
 */
export function summariseSources(runId: string, list: readonly SourceFile[]): RunSources {
  const files = list.filter(({ carried }) => !carried);
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
  const texts = (name: 'url' | 'reference' | 'sha256' | 'fetched_at' | 'confirmed_at') => ({
    type: VARCHAR,
    values: files.map((file) => file[name]),
  });
  try {
    await duck.run(SOURCES_TABLE);
    await duck.fill('sources', [
      ...(['url', 'reference', 'sha256'] as const).map(texts),
      { type: BIGINT, values: files.map(({ bytes }) => BigInt(bytes)) },
      ...(['fetched_at', 'confirmed_at'] as const).map(texts),
      { type: LIST(VARCHAR), values: files.map(({ series }) => listValue([...series])) },
      { type: BOOLEAN, values: files.map(({ carried }) => carried) },
    ]);
    await duck.run(WRITE_SOURCES, { file: join(runDirectory, SOURCES) });
  } finally {
    await duck.close();
  }
}

/** The files that the newest run since `good` read or confirmed. */
export async function knownSources(lake: ProviderLake, good: LakeRun): Promise<RunSources> {
  const confirmed = (await lake.records()).findLast(
    ({ run_id: id, status }) => id > good.record.run_id && status === 'unchanged',
  );
  const sources = confirmed?.sources ?? good.record.sources;
  if (sources === undefined) throw new Error(`${good.directory} lists no upstream files`);
  return sources;
}

/**
 * Reads the lists of several good runs, wherever they are kept; an empty one for no run.
 * @param scratch a spill directory, removed at the end
 */
export async function readSources(
  runs: readonly (LakeRun | null)[],
  scratch: string,
): Promise<SourceFile[][]> {
  if (runs.every((run) => run === null)) return runs.map(() => []);
  const duck = await DuckSession.open({ scratch });
  try {
    const lists: SourceFile[][] = [];
    for (const run of runs) {
      const rows = run === null ? [] : await duck.rows(READ_SOURCES, { file: join(run.directory, SOURCES) });
      lists.push(rows.map((row) => listedFile.parse(row)));
    }
    return lists;
  } finally {
    await duck.close();
  }
}

const listedFile = z.object({
  url: z.string(),
  reference: z.string(),
  sha256: z.string(),
  /** 64-bit integers come as text. */
  bytes: z.coerce.number(),
  fetched_at: z.string(),
  confirmed_at: z.string(),
  series: z.array(z.string()),
  carried: z.boolean(),
});
