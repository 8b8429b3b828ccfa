/** What the bench of formats tells its floors. */

/** One indicator of an answer, with what SDMX-CSV repeats in every row. */
export interface FloorSeries {
  id: string;
  /** Parquet. */
  file: string;
  unit: string | null;
  licence: string | null;
  licence_url: string | null;
  attribution: string | null;
}

/** The first message chooses the floor and prepares it; it is answered with the number of rows. */
export type Preparation =
  | { kind: 'copy'; series: FloorSeries[]; query: string; options: string; file: string }
  | { kind: 'arrow'; series: FloorSeries[] }
  | { kind: 'zip'; workbook: string };

/** Every further message has the rows written so often. */
export interface Writing {
  times: number;
}

export interface Work {
  elapsed_ms: number;
  cpu_ms: number;
}

/** The columns of an answer, in a table of this name. */
export const ANSWER = 'answer';
export const USUAL_COLUMNS = 'indicator, iso3, year, value, ci_lo, ci_hi, rank, projected';
