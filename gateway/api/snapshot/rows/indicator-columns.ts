/**
 * Rows of one indicator as typed columns, sorted by country and year, and which of them an answer has.
 *
 * A filter by countries and years is a handful of row ranges found by binary search; no figure is copied. Doubles
 * pass through unchanged; a missing one is NaN here and null outside.
 */

/** A missing rank; ranks start at 1. */
export const NO_RANK = 0;
/** A missing change of rank; outside the range of any list of countries. */
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
  /** 1 for a row that stays where rows without a value are left out. */
  kept?: Uint8Array | undefined;
}

/** Rows from `start` up to, not including, `end`. */
export interface RowRange {
  start: number;
  end: number;
}

/** Absent members select everything. Years are inclusive. */
export interface RowFilter {
  /** ISO 3166-1 alpha-3, upper case, sorted, each once. */
  countries?: readonly string[] | undefined;
  from?: number | undefined;
  to?: number | undefined;
  /** Ascending, each once; `from` and `to` are then the first and the last of them. */
  years?: readonly number[] | undefined;
}

export class IndicatorColumns {
  readonly rows: number;
  readonly columns: ColumnArrays;
  /** Countries in row order; `starts` holds each one's first row, and the number of rows as its last entry. */
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
  select({ countries, from, to, years }: RowFilter): RowRange[] {
    if (countries === undefined && from === undefined && to === undefined)
      return this.rows === 0 ? [] : [{ start: 0, end: this.rows }];
    const span = { from: from ?? Number.NEGATIVE_INFINITY, to: to ?? Number.POSITIVE_INFINITY };
    const spans = years?.map((year) => ({ from: year, to: year })) ?? [span];
    const ranges: RowRange[] = [];
    for (const position of this.#positions(countries)) {
      const last = this.#end(position);
      let next = this.#start(position);
      for (const { from: first, to: final } of spans) {
        const start = this.#firstFrom(next, last, first);
        next = this.#firstFrom(start, last, final + 1);
        if (start === next) continue;
        const previous = ranges.at(-1);
        if (previous?.end === start) previous.end = next;
        else ranges.push({ start, end: next });
      }
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

/** Which of the rows that pass a filter are left out. */
export interface Omission {
  /** All but the newest so many observed values of each country. */
  latest?: number | undefined;
  /** Rows without a value. */
  missing?: boolean | undefined;
}

/** All rows of an indicator as text, after a head and with a separator between two rows. */
export interface RowText {
  buffer: Buffer;
  head_bytes: number;
  separator_bytes: number;
  /** Byte offset of the end of each row. */
  ends: Uint32Array;
}

/** Gives the text in a format, made of all rows when it is first wanted. */
export type KeptText = (
  format: string,
  make: (all: SelectedRows) => Promise<RowText>,
) => RowText | Promise<RowText>;

interface Picked {
  at: Uint32Array;
  country: Uint16Array;
}

export class SelectedRows {
  readonly held: IndicatorColumns;
  readonly count: number;
  readonly #filter: RowFilter;
  readonly #ranges: readonly RowRange[];
  readonly #keptText: KeptText | null;
  #picked: Picked | null = null;

  constructor(
    held: IndicatorColumns,
    filter: RowFilter,
    omission: Omission = {},
    keptText: KeptText | null = null,
  ) {
    this.held = held;
    this.#filter = filter;
    this.#ranges = held.select(filter);
    this.#keptText = keptText;
    const isWhole = omission.latest === undefined && omission.missing !== true;
    if (!isWhole) this.#picked = pick(held, filter, omission);
    this.count = this.#picked?.at.length ?? countRows(this.#ranges);
  }

  /** Positions of the rows, ascending: by country and year. */
  get at(): Uint32Array {
    return this.#rows.at;
  }

  /** The country of each, as an index into `held.countries`. */
  get country(): Uint16Array {
    return this.#rows.country;
  }

  get #rows(): Picked {
    this.#picked ??= pick(this.held, this.#filter, {});
    return this.#picked;
  }

  /** Head and rows of a selection without omission, in a few views of kept text: one where it has all rows. */
  async text(format: string, make: (all: SelectedRows) => Promise<RowText>): Promise<Buffer[]> {
    if (this.#keptText === null) throw new Error('the text of these rows is not kept');
    const kept = this.#keptText(format, make);
    const { buffer, head_bytes, separator_bytes, ends } = kept instanceof Promise ? await kept : kept;
    const startOf = (row: number): number =>
      row === 0 ? head_bytes : (ends[row - 1] ?? head_bytes) + separator_bytes;
    const last = this.#ranges.length - 1;
    const views = this.#ranges.map(({ start, end }, at) =>
      buffer.subarray(
        at === 0 && start === 0 ? 0 : startOf(start),
        at === last ? ends[end - 1] : startOf(end),
      ),
    );
    return this.#ranges[0]?.start === 0 ? views : [buffer.subarray(0, head_bytes), ...views];
  }
}

function pick(held: IndicatorColumns, filter: RowFilter, omission: Omission): Picked {
  const bound = countRows(held.select(filter));
  const at = new Uint32Array(bound);
  const country = new Uint16Array(bound);
  let rows = 0;
  for (const [index, iso3] of held.countries.entries()) {
    if (filter.countries !== undefined && !filter.countries.includes(iso3)) continue;
    const ranges = held.select({ ...filter, countries: [iso3] });
    const before = rows;
    for (const position of wanted(held, ranges, omission)) {
      at[rows] = position;
      rows += 1;
    }
    country.fill(index, before, rows);
  }
  return { at: at.subarray(0, rows), country: country.subarray(0, rows) };
}

/** Positions that are not left out, ascending. */
function wanted(
  { columns: { value, projected, kept } }: IndicatorColumns,
  ranges: readonly RowRange[],
  { latest, missing }: Omission,
): number[] {
  const hasValue = (at: number): boolean => !Number.isNaN(value[at]) || kept?.[at] === 1;
  const found: number[] = [];
  if (latest === undefined) {
    for (const { start, end } of ranges)
      for (let at = start; at < end; at += 1) if (missing !== true || hasValue(at)) found.push(at);
    return found;
  }
  for (const { start, end } of ranges.toReversed())
    for (let at = end - 1; at >= start && found.length < latest; at -= 1)
      if (projected[at] !== 1 && hasValue(at)) found.push(at);
  return found.reverse();
}
