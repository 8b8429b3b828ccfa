/** The published values of one indicator, for its page: the latest of each country, and how many countries each year has. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileList, objectPath, observationsFile, providerOf } from '../data/schema/snapshot.ts';
import {
  type IndicatorColumns,
  QueryRunner,
  readAllColumns,
  readManifest,
} from '../gateway/api/snapshot/snapshot.ts';
import { type ListedSnapshot, listSnapshots } from './snapshots.ts';

const QUERY_TIMEOUT_MS = 10_000;

/**
 * Reads the newest snapshot that has the indicator.
 * @param nameOf the name of a country by its ISO3 code.
 * @returns null when no snapshot has it; `isServed` is false for an unpublished one, which is only in older snapshots.
 */
export async function readIndicatorValues(snapshotDir: string, id: string, nameOf: (iso3: string) => string) {
  const snapshots = await listSnapshots(snapshotDir);
  const inOrder = snapshots.toSorted((a, b) => Number(b.current) - Number(a.current));
  const found = await findFile(snapshotDir, inOrder, id);
  if (found === null) return null;
  const { snapshot, file } = found;
  const queries = await QueryRunner.open(QUERY_TIMEOUT_MS);
  try {
    const columns = await readAllColumns(queries, file);
    return { snapshot: snapshot.id, isServed: snapshot.current, ...summarise(columns, nameOf) };
  } finally {
    queries.close();
  }
}

/** The first of the snapshots that has figures of an indicator, and their file. */
async function findFile(
  snapshotDir: string,
  snapshots: readonly ListedSnapshot[],
  id: string,
): Promise<{ snapshot: ListedSnapshot; file: string } | null> {
  const without = new Set<string>();
  for (const snapshot of snapshots) {
    const manifest = await readManifest(snapshotDir, snapshot.id).catch(() => null);
    const list = manifest?.providers[providerOf(id)];
    if (list === undefined || without.has(list.sha256)) continue;
    const text = await readFile(join(snapshotDir, objectPath(list.sha256)), 'utf8');
    const ref = fileList.parse(JSON.parse(text))[observationsFile(id)];
    if (ref !== undefined) return { snapshot, file: join(snapshotDir, objectPath(ref.sha256)) };
    without.add(list.sha256);
  }
  return null;
}

const NO_RANK = 0;

/** The latest value of each country, largest first, and the countries with a value by year, without gaps. */
function summarise({ countries, starts, columns }: IndicatorColumns, nameOf: (iso3: string) => string) {
  const perYear = new Map<number, number>();
  const latest = [...countries.entries()].flatMap(([position, iso3]) => {
    const rows = Array.from(
      { length: (starts[position + 1] ?? 0) - (starts[position] ?? 0) },
      (_, offset) => (starts[position] ?? 0) + offset,
    ).filter((row) => !Number.isNaN(columns.value[row]));
    const years = rows.map((row) => columns.year[row] ?? 0);
    for (const year of years) perYear.set(year, (perYear.get(year) ?? 0) + 1);
    const last = rows.findLast((row) => columns.projected[row] === 0) ?? rows.at(-1);
    if (last === undefined) return [];
    const rank = columns.rank[last] ?? NO_RANK;
    return [
      {
        iso3,
        country: nameOf(iso3),
        year: columns.year[last] ?? 0,
        value: columns.value[last] ?? 0,
        projected: columns.projected[last] === 1,
        rank: rank === NO_RANK ? null : rank,
        from: years[0] ?? 0,
        to: years.at(-1) ?? 0,
        years: years.length,
      },
    ];
  });
  const [first, last] = [Math.min(...perYear.keys()), Math.max(...perYear.keys())];
  return {
    latest: latest.sort((a, b) => b.value - a.value || (a.iso3 < b.iso3 ? -1 : 1)),
    byYear: Array.from({ length: perYear.size === 0 ? 0 : last - first + 1 }, (_, offset) => ({
      year: first + offset,
      countries: perYear.get(first + offset) ?? 0,
    })),
  };
}
