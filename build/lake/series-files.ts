/**
 * Which upstream files the figures of each series come from. The list of files of a run says it (`series` in
 * `sources.parquet`), so a file that feeds thousands of series stands in it once.
 */
import type { ReadFile, SourceFile, UpstreamFile } from '../../data/schema/lake.ts';

/** Files with equal URL and hash are one: a mirror in a layout of its own has one URL for all. */
const contentKey = ({ url, sha256 }: UpstreamFile): string => `${url} ${sha256}`;
const identity = (file: ReadFile): string => `${contentKey(file)} ${file.reference}`;

/**
 * Adds to the files of a run the series that they feed.
 * @param references of the files that each series comes from, as its connector named them
 * @throws {Error} when a connector names a file that it has not read.
 */
export function assignSeries(
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
export function keepFetchTimes(files: readonly ReadFile[], earlier: readonly SourceFile[]): ReadFile[] {
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

/**
 * Adds the files of series whose rows are those of an earlier run.
 * @param earlier the list of that run
 * @param slugs the series
 */
export function carryFiles(
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
  for (const same of Map.groupBy(list.toSorted(compareFiles), contentKey).values()) {
    const [first] = same;
    if (!first) continue;
    const { url, sha256, bytes } = first;
    const fetched_at = same.reduce(
      (earliest, one) => (one.fetched_at < earliest ? one.fetched_at : earliest),
      first.fetched_at,
    );
    const file = { url, sha256, bytes, fetched_at };
    for (const slug of new Set(same.flatMap(({ series }) => series))) bySeries.get(slug)?.push(file);
  }
  return bySeries;
}

function compareFiles(a: UpstreamFile, b: UpstreamFile): number {
  const [first, second] = [contentKey(a), contentKey(b)];
  return first < second ? -1 : Number(first > second);
}
