/**
 * The upstream files of a run: a Parquet file with origin, size, hash and times of each and the series that it feeds, and
 * a summary for the record. A file that feeds thousands of series stands in it once.
 */
import { hash } from 'node:crypto';
import { join } from 'node:path';
import { z } from 'zod';
import { sqlOf } from '../../data/runtime/sql-files.ts';
import type { ReadFile, RunRecord, SourceFile, UpstreamFile } from '../../data/schema/lake.ts';
import { DuckSession } from '../runtime/duckdb.ts';
import { type LakeRun, type ProviderLake, SOURCES } from './provider-lake.ts';

const sql = sqlOf(import.meta.url);

export type RunSources = NonNullable<RunRecord['sources']>;

/** The summary names this many files. */
const NAMED = 20;

/**
 * Lists the files that a run read, and those of series whose rows it carried over, in its directory.
 * @param before the last good run
 * @param files what the run read
 * @param references of the files that each series comes from, as its connector named them
 * @param carried slugs of series whose rows are those of `before`
 * @returns a summary for the record
 * @throws {Error} when a connector names a file that it has not read.
 */
export async function recordSources(
  lake: ProviderLake,
  run: { id: string; directory: string },
  before: LakeRun | null,
  files: readonly ReadFile[],
  references: ReadonlyMap<string, ReadonlySet<string>>,
  carried: readonly string[],
): Promise<RunSources> {
  const scratch = join(lake.directory, '.scratch-sources');
  const [earlier = []] = await readSources([before], scratch);
  const read = assignSeries(keepFetchTimes(files, earlier), references);
  const list = JSON.stringify(carryFiles(read, earlier, carried));
  await using duck = await DuckSession.open({ scratch });
  await duck.run(sql('write-sources'), { files: list, file: join(run.directory, SOURCES) });
  return summarise(run.id, read);
}

/** @param runId the run whose directory holds the list */
function summarise(runId: string, files: readonly SourceFile[]): RunSources {
  const sorted = files.toSorted((a, b) => (`${a.url} ${a.reference}` < `${b.url} ${b.reference}` ? -1 : 1));
  const lines = sorted.map(({ url, reference, sha256 }) => `${sha256} ${url} ${reference}\n`);
  return {
    run_id: runId,
    files: files.length,
    bytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
    digest: hash('sha256', lines.join('')),
    first: sorted
      .slice(0, NAMED)
      .map(({ url, sha256, bytes, fetched_at }) => ({ url, sha256, bytes, fetched_at })),
  };
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
  await using duck = await DuckSession.open({ scratch });
  const lists: SourceFile[][] = [];
  for (const run of runs) {
    const file = run && join(run.directory, SOURCES);
    lists.push(file === null ? [] : await duck.select(listedFile, sql('read-sources'), { file }));
  }
  return lists;
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

/** Files with equal URL and hash are one: a mirror in a layout of its own has one URL for all. */
const contentKey = ({ url, sha256 }: UpstreamFile): string => `${url} ${sha256}`;
const identity = (file: ReadFile): string => `${contentKey(file)} ${file.reference}`;

/** Adds to the files of a run the series that they feed. */
function assignSeries(
  files: readonly ReadFile[],
  references: ReadonlyMap<string, ReadonlySet<string>>,
): SourceFile[] {
  const fed = new Map(files.map(({ reference }): [string, string[]] => [reference, []]));
  for (const [slug, named] of references) {
    for (const reference of named) {
      const series = fed.get(reference);
      if (!series) throw new Error(`the connector has not read ${reference}, which it names for ${slug}`);
      series.push(slug);
    }
  }
  return files.map((file) => ({ ...file, series: fed.get(file.reference) ?? [], carried: false }));
}

/** Gives bytes that an earlier run had from the same URL the time at which that one fetched them. */
function keepFetchTimes(files: readonly ReadFile[], earlier: readonly SourceFile[]): ReadFile[] {
  const times = new Map<string, string>();
  for (const file of earlier) {
    const known = times.get(contentKey(file));
    if (known === undefined || file.fetched_at < known) times.set(contentKey(file), file.fetched_at);
  }
  return files.map((file) => {
    const known = times.get(contentKey(file));
    return known !== undefined && known < file.fetched_at ? { ...file, fetched_at: known } : file;
  });
}

/** Adds the files of series whose rows are those of an earlier run. */
function carryFiles(
  files: readonly SourceFile[],
  earlier: readonly SourceFile[],
  slugs: readonly string[],
): SourceFile[] {
  const wanted = new Set(slugs);
  const merged = new Map(files.map((file) => [identity(file), file]));
  for (const file of earlier) {
    const series = file.series.filter((slug) => wanted.has(slug));
    if (series.length === 0) continue;
    const read = merged.get(identity(file));
    merged.set(
      identity(file),
      read ? { ...read, series: [...read.series, ...series] } : { ...file, series, carried: true },
    );
  }
  return [...merged.values()];
}

/**
 * The files of each series by URL.
 * @param list the files of a run
 * @param slugs all series of the run
 */
export function filesBySeries(
  list: readonly SourceFile[],
  slugs: readonly string[],
): Map<string, UpstreamFile[]> {
  const bySeries = new Map(slugs.map((slug): [string, UpstreamFile[]] => [slug, []]));
  for (const [, same] of [...Map.groupBy(list, contentKey)].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const [first] = same.sort((a, b) => (a.fetched_at < b.fetched_at ? -1 : 1));
    if (!first) continue;
    const { url, sha256, bytes, fetched_at } = first;
    const file = { url, sha256, bytes, fetched_at };
    for (const slug of new Set(same.flatMap(({ series }) => series))) bySeries.get(slug)?.push(file);
  }
  return bySeries;
}
