/** What `excerpts/<indicator id>.json` of a snapshot holds. */

/**
 * The rows that the page of an indicator shows unless more is asked for, by country, then year. They are those of its
 * Parquet file, which takes several times as long to read. Compressed with zstd.
 */
export interface StoredExcerpt {
  /** The year of which it has the rows of all countries: the latest one. Null for a series without figures. */
  year: number | null;
  /** The countries of which it has all rows, by ISO3. */
  countries: string[];
  /** Each country with its number of rows, in row order. */
  runs: [iso3: string, rows: number][];
  /** Named as in Parquet. */
  columns: ExcerptColumns;
  /** By ISO3, what the source says of the figure of the latest year, where it says something. */
  statuses: Record<string, string>;
}

export interface ExcerptColumns {
  year: number[];
  value: (number | null)[];
  /** Null where no row has bounds. */
  ci_lo: (number | null)[] | null;
  ci_hi: (number | null)[] | null;
  rank: (number | null)[];
  rank_delta_1y: (number | null)[];
  projected: boolean[];
}
