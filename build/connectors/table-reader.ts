/**
 * One row of a table as the observation of one series.
 *
 * Every cell that upstream publishes becomes an observation, an empty one a null, unless the settings say that an empty
 * cell is an absent row. Where a series has an observed and a projected column, a row yields one observation: the
 * observed value where there is one, otherwise the projected.
 */

import type { RawObservation } from './connector.ts';
import { type CsvTable, columnIndex } from './csv.ts';
import { SeriesSpool } from './series-spool.ts';
import type { WideSeries } from './table-columns.ts';

export interface RowOptions {
  /** Columns holding the place, best first; an empty cell falls through to the next. */
  place: readonly string[];
  year: string;
  /** Takes the year out of the cell: an expression with one group. A cell that it does not fit is left as it is. */
  yearPattern?: string | undefined;
  status?: string | undefined;
  /** A column that is not empty and not one of `notProjected` marks a forecast. */
  projectedFlag?: string | undefined;
  /** Texts that mean "no value"; the empty text is always one. */
  missing: readonly string[];
  empty: 'null' | 'absent';
  /** Turns a number as upstream writes it into a plain decimal. */
  number?: ((text: string, column: string) => string) | undefined;
  /** Cells to take, by column; rows with others are of another part of the population. */
  pin?: Readonly<Record<string, readonly string[]>> | undefined;
}

type Cells = readonly string[];
/** Where one series' figures stand in a row; -1 for what it does not have. */
export interface SeriesCells {
  value: number;
  projected: number;
  ci_lo: number;
  ci_hi: number;
}

const FALSE_FLAGS = new Set(['', '0', 'false', 'no', 'n', 'f', 'actual', 'observed']);

/** Where everything stands in a row; built once per table. */
export class RowReader {
  readonly #options: RowOptions;
  readonly #place: number[];
  readonly #year: number;
  readonly #yearPattern: RegExp | null;
  readonly #status: number;
  readonly #flag: number;
  readonly #missing: ReadonlySet<string>;
  readonly #header: readonly string[];
  readonly #pins: { index: number; column: string; cells: ReadonlySet<string> }[];
  readonly series: SeriesCells[];

  /** @throws {CsvError} for a column that is not there. */
  constructor(header: readonly string[], series: readonly WideSeries[], options: RowOptions) {
    const at = (name: string | null | undefined): number => (name ? columnIndex(header, name) : -1);
    this.#options = options;
    this.#header = header;
    this.#place = options.place.map(at);
    this.#year = at(options.year);
    this.#yearPattern = options.yearPattern === undefined ? null : new RegExp(options.yearPattern, 'u');
    this.#status = at(options.status);
    this.#flag = at(options.projectedFlag);
    this.#missing = new Set(options.missing).add('');
    this.#pins = Object.entries(options.pin ?? {}).map(([column, cells]) => ({
      index: at(column),
      column,
      cells: new Set(cells),
    }));
    this.series = series.map((one) => ({
      value: at(one.value),
      projected: at(one.projected),
      ci_lo: at(one.ci_lo),
      ci_hi: at(one.ci_hi),
    }));
  }

  #cell(cells: Cells, index: number): string | null {
    const text = cells[index]?.trim() ?? '';
    if (this.#missing.has(text)) return null;
    return this.#options.number?.(text, this.#header[index] ?? '') ?? text;
  }

  #placeOf(cells: Cells): string {
    for (const index of this.#place) {
      const place = cells[index]?.trim();
      if (place) return place;
    }
    return '';
  }

  #yearOf(cells: Cells): string {
    const text = cells[this.#year]?.trim() ?? '';
    return this.#yearPattern?.exec(text)?.[1] ?? text;
  }

  /** The observation of one series in one row; null when the row has none. */
  read(cells: Cells, series: SeriesCells): RawObservation | null {
    const observed = this.#cell(cells, series.value);
    const forecast = observed === null ? this.#cell(cells, series.projected) : null;
    const value = observed ?? forecast;
    if (value === null && this.#options.empty === 'absent') return null;
    const row: RawObservation = { place: this.#placeOf(cells), year: this.#yearOf(cells), value };
    if (series.ci_lo >= 0) row.ci_lo = this.#cell(cells, series.ci_lo);
    if (series.ci_hi >= 0) row.ci_hi = this.#cell(cells, series.ci_hi);
    if (forecast !== null) row.projected = true;
    else if (observed !== null && series.projected >= 0) row.projected = false;
    if (this.#flag >= 0) row.projected = !FALSE_FLAGS.has((cells[this.#flag] ?? '').trim().toLowerCase());
    const other = this.#pins.find((pin) => !pin.cells.has((cells[pin.index] ?? '').trim()));
    if (other) row.other_dimension = `${other.column}=${cells[other.index]?.trim()}`;
    if (this.#status >= 0) row.status = cells[this.#status]?.trim() || null;
    return row;
  }
}

/**
 * Observations out of a table whose rows are a place and a year and whose columns are series.
 *
 * A table of one series streams straight through. With several series the rows are spooled, because each holds one
 * figure of every series, and come out series by series.
 */

export interface WideTableOptions extends RowOptions {
  series: readonly WideSeries[];
  rowsInMemory?: number | undefined;
  signal: AbortSignal;
}

/**
 * The observations of each series, contiguous, in the order of `options.series`.
 * @throws {CsvError} for a column that is not there and for a damaged file.
 */
export async function* readWideTable(
  table: CsvTable,
  options: WideTableOptions,
): AsyncGenerator<{ series: number; rows: RawObservation[] }, void, undefined> {
  const reader = new RowReader(table.header, options.series, options);
  const [only] = reader.series;
  if (only && reader.series.length === 1) yield* readOnly(table, reader, only, options.signal);
  else yield* readSeveral(table, reader, options);
}

async function* readOnly(
  table: CsvTable,
  reader: RowReader,
  only: SeriesCells,
  signal: AbortSignal,
): AsyncGenerator<{ series: number; rows: RawObservation[] }, void, undefined> {
  for await (const batch of table.batches) {
    signal.throwIfAborted();
    yield { series: 0, rows: batch.map((cells) => reader.read(cells, only)).filter((row) => row !== null) };
  }
}

async function* readSeveral(
  table: CsvTable,
  reader: RowReader,
  options: WideTableOptions,
): AsyncGenerator<{ series: number; rows: RawObservation[] }, void, undefined> {
  const spool = new SeriesSpool<RawObservation>(options.rowsInMemory);
  try {
    for await (const batch of table.batches) {
      options.signal.throwIfAborted();
      for (const cells of batch) {
        for (const [index, series] of reader.series.entries()) {
          const row = reader.read(cells, series);
          if (row) spool.add(String(index), row);
        }
      }
      await spool.spill();
    }
    for (const index of reader.series.keys()) {
      for await (const rows of spool.read(String(index))) yield { series: index, rows };
    }
  } finally {
    await spool.close();
  }
}

/**
 * Observations out of a long table of many series: one figure a row, and a column that says which series it is of.
 * The rows of a series may be scattered over the file; they come out together, in order of their first appearance.
 */

export interface LongTableOptions extends RowOptions {
  /** The columns with the code, the name and the unit of the series. */
  code: string;
  name?: string | undefined;
  unit?: string | undefined;
  /** The columns of figures, the same for every series. */
  columns: WideSeries;
  signal: AbortSignal;
}

export interface LongSeries {
  code: string;
  name: string;
  unit: string | null;
}

/**
 * Each series, then its rows.
 * @throws {CsvError} for a column that is not there and for a damaged file.
 */
export async function* readLongTable(
  table: CsvTable,
  options: LongTableOptions,
): AsyncGenerator<{ series: LongSeries; rows: RawObservation[] }, void, undefined> {
  const reader = new RowReader(table.header, [options.columns], options);
  const at = (name: string | undefined): number =>
    name === undefined ? -1 : columnIndex(table.header, name);
  const [code, name, unit] = [at(options.code), at(options.name), at(options.unit)];
  const found = new Map<string, LongSeries>();
  const spool = new SeriesSpool<RawObservation>();
  const [cellsOf] = reader.series;
  try {
    for await (const batch of table.batches) {
      options.signal.throwIfAborted();
      for (const cells of batch) {
        const key = cells[code]?.trim() ?? '';
        const row = key === '' || !cellsOf ? null : reader.read(cells, cellsOf);
        if (row === null) continue;
        if (!found.has(key)) {
          found.set(key, { code: key, name: cells[name]?.trim() || key, unit: cells[unit]?.trim() || null });
        }
        spool.add(key, row);
      }
      await spool.spill();
    }
    for (const [key, series] of found) {
      for await (const rows of spool.read(key)) yield { series, rows };
    }
  } finally {
    await spool.close();
  }
}
