/** The rows of an indicator that its page shows unless more is asked for, read from a small file instead of its Parquet. */
import { excerptFile, type StoredExcerpt } from '../../../../data/schema/snapshot.ts';
import type { SnapshotFiles } from '../files/snapshot-files.ts';
import { IndicatorColumns, NO_DELTA, NO_RANK, type RowFilter } from './indicator-columns.ts';

export class Excerpt {
  /** Only rows that the excerpt covers; asking for others needs the whole series. */
  readonly columns: IndicatorColumns;
  /** By ISO3, what the source says of the figure of the latest year. */
  readonly statuses: ReadonlyMap<string, string>;
  readonly #year: number | null;
  readonly #countries: ReadonlySet<string>;

  constructor({ year, countries, runs, columns, statuses }: StoredExcerpt) {
    const starts = new Uint32Array(runs.length + 1);
    for (const [at, [, rows]] of runs.entries()) starts[at + 1] = (starts[at] ?? 0) + rows;
    const held = {
      year: new Int32Array(columns.year),
      value: doubles(columns.value),
      ciLo: columns.ci_lo && doubles(columns.ci_lo),
      ciHi: columns.ci_hi && doubles(columns.ci_hi),
      rank: new Int16Array(columns.rank.map((rank) => rank ?? NO_RANK)),
      rankDelta: new Int16Array(columns.rank_delta_1y.map((delta) => delta ?? NO_DELTA)),
      projected: new Uint8Array(columns.projected.map(Number)),
    };
    const codes = runs.map(([iso3]) => iso3);
    this.columns = new IndicatorColumns(held, codes, starts);
    this.statuses = new Map(Object.entries(statuses));
    this.#year = year;
    this.#countries = new Set(countries);
  }

  /** Whether it has every row that passes. */
  covers({ countries, from, to }: RowFilter): boolean {
    if (from !== undefined && from === to && from === this.#year) return true;
    return countries?.every((iso3) => this.#countries.has(iso3)) ?? false;
  }
}

/** `from` would go through an iterator, which takes several times as long. */
const doubles = (values: readonly (number | null)[]): Float64Array =>
  new Float64Array(values.map((value) => value ?? Number.NaN));

/** Null where there is none. @throws {SnapshotUnreadable} */
export async function readExcerpt(files: SnapshotFiles, indicator: string): Promise<Excerpt | null> {
  const parse = (text: string): Excerpt => new Excerpt(JSON.parse(text));
  return (await files.shared(excerptFile(indicator), 'excerpt', parse)) ?? null;
}
