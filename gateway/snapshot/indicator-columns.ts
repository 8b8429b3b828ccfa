/**
 * A slice: rows of one indicator as typed columns, sorted by country and year.
 *
 * Rows of one country stand together, so a filter by countries and years is a handful of row ranges found by binary
 * search, and never copies a figure. Doubles pass through unchanged; a missing one is NaN inside and null outside.
 */

/** A missing rank; ranks start at 1. */
export const NO_RANK = 0;
/** A missing change of rank; no list of countries is long enough to reach it. */
export const NO_DELTA = -32768;

export interface ColumnArrays {
  year: Int32Array;
  value: Float64Array;
  /** Null when no row has bounds: most series. */
  ciLo: Float64Array | null;
  ciHi: Float64Array | null;
  rank: Int16Array;
  rankDelta: Int16Array;
  projected: Uint8Array;
}

/** Rows from `start` up to, not including, `end`. */
export interface RowRange {
  start: number;
  end: number;
}

/** What may be asked of a slice; absent means everything. Years are inclusive. */
export interface RowFilter {
  /** ISO 3166-1 alpha-3, upper case, sorted, each once. */
  countries?: readonly string[] | undefined;
  from?: number | undefined;
  to?: number | undefined;
}

export class IndicatorColumns {
  readonly rows: number;
  readonly columns: ColumnArrays;
  /** Countries in row order, and where each one's rows begin; one more entry than countries. */
  readonly countries: readonly string[];
  readonly starts: Uint32Array;
  readonly #position: Map<string, number>;

  constructor(columns: ColumnArrays, countries: readonly string[], starts: Uint32Array) {
    this.rows = columns.year.length;
    this.columns = columns;
    this.countries = countries;
    this.starts = starts;
    this.#position = new Map(countries.map((country, index) => [country, index]));
  }

  /** Memory held by the columns. */
  get bytes(): number {
    const { year, value, ciLo, ciHi, rank, rankDelta, projected } = this.columns;
    const bounds = (ciLo?.byteLength ?? 0) + (ciHi?.byteLength ?? 0);
    const fixed = year.byteLength + value.byteLength + rank.byteLength + rankDelta.byteLength;
    return fixed + projected.byteLength + bounds + this.starts.byteLength + this.countries.length * 64;
  }

  /** The row of one country and year, or -1. */
  rowOf(country: string, year: number): number {
    const position = this.#position.get(country);
    if (position === undefined) return -1;
    const end = this.#end(position);
    const row = this.#firstFrom(this.#start(position), end, year);
    return row < end && this.columns.year[row] === year ? row : -1;
  }

  /** The ranges of rows that pass the filter, in row order, touching ones merged. */
  select(filter: RowFilter): RowRange[] {
    const { countries, from, to } = filter;
    if (countries === undefined && from === undefined && to === undefined) {
      return this.rows === 0 ? [] : [{ start: 0, end: this.rows }];
    }
    const ranges: RowRange[] = [];
    for (const position of this.#positions(countries)) {
      const last = this.#end(position);
      const start =
        from === undefined ? this.#start(position) : this.#firstFrom(this.#start(position), last, from);
      const end = to === undefined ? last : this.#firstFrom(start, last, to + 1);
      if (start === end) continue;
      const previous = ranges.at(-1);
      if (previous?.end === start) previous.end = end;
      else ranges.push({ start, end });
    }
    return ranges;
  }

  #positions(countries: readonly string[] | undefined): Iterable<number> {
    if (countries === undefined) return this.countries.keys();
    return countries
      .map((country) => this.#position.get(country))
      .filter((position) => position !== undefined);
  }

  #start(position: number): number {
    return this.starts[position] ?? 0;
  }

  #end(position: number): number {
    return this.starts[position + 1] ?? this.rows;
  }

  /** The first row of `start`..`end` whose year is at least `year`; `end` when there is none. */
  #firstFrom(start: number, end: number, year: number): number {
    const years = this.columns.year;
    let low = start;
    let high = end;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((years[middle] ?? 0) < year) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

export function countRows(ranges: readonly RowRange[]): number {
  return ranges.reduce((rows, range) => rows + range.end - range.start, 0);
}
