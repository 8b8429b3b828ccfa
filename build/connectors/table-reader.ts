/**
 * Reads observations from tables: wide ones (a row per place and year, a column per series) and long ones (a row per
 * figure, a column that names the series). Rows come out series by series.
 *
 * Every upstream cell becomes an observation and an empty one a null, unless the settings say that empty means absent.
 * Where a series has an observed and a projected column, the observed value wins.
 */
import type { CatalogueEntry } from '../../data/schema/lake.ts';
import type { RawObservation, SourceItem } from './connector.ts';
import { type CsvTable, columnIndex } from './csv.ts';
import { SeriesSpool } from './series-spool.ts';
import type { WideSeries } from './table-columns.ts';

export interface RowOptions {
  /** Columns with the place, best first; an empty cell falls through to the next. */
  place: readonly string[];
  year: string;
  /** Extracts the year from its cell: an expression with one group. A cell that does not match is kept unchanged. */
  yearPattern?: string | undefined;
  status?: string | undefined;
  /** A column that flags forecasts. */
  projectedFlag?: string | undefined;
  /** Texts that mean "no value"; the empty text always does. */
  missing: readonly string[];
  empty: 'null' | 'absent';
  /** Converts a number as upstream writes it into a plain decimal. */
  number?: ((text: string, column: string) => string) | undefined;
  /** Accepted cells by column; rows with others are for another part of the population. */
  pin?: Readonly<Record<string, readonly string[]>> | undefined;
  signal: AbortSignal;
}

type Cells = readonly string[];
type ColumnIndexes = Record<'value' | 'projected' | 'ci_lo' | 'ci_hi', number>;

/** Flags that mean "not a forecast". */
const FALSE_FLAGS = new Set(['', '0', 'false', 'no', 'n', 'f', 'actual', 'observed']);

/** Reads rows of one table; resolves its columns once. */
class RowReader {
  readonly #options: RowOptions;
  readonly #place: number[];
  readonly #year: number;
  readonly #yearPattern: RegExp | null;
  readonly #status: number;
  readonly #flag: number;
  readonly #missing: ReadonlySet<string>;
  readonly #header: readonly string[];
  readonly #pins: { index: number; column: string; accepted: ReadonlySet<string> }[];

  /** @throws {CsvError} for a missing column. */
  constructor(header: readonly string[], options: RowOptions) {
    this.#options = options;
    this.#header = header;
    this.#place = options.place.map((name) => columnIndex(header, name));
    this.#year = columnIndex(header, options.year);
    this.#yearPattern = options.yearPattern === undefined ? null : new RegExp(options.yearPattern, 'u');
    this.#status = this.optionalIndex(options.status);
    this.#flag = this.optionalIndex(options.projectedFlag);
    this.#missing = new Set(options.missing).add('');
    this.#pins = Object.entries(options.pin ?? {}).map(([column, cells]) => ({
      index: columnIndex(header, column),
      column,
      accepted: new Set(cells),
    }));
  }

  /** The index of a column; -1 when none is named. */
  optionalIndex(name: string | null | undefined): number {
    return name ? columnIndex(this.#header, name) : -1;
  }

  indexesOf({ value, projected, ci_lo, ci_hi }: WideSeries): ColumnIndexes {
    return {
      value: this.optionalIndex(value),
      projected: this.optionalIndex(projected),
      ci_lo: this.optionalIndex(ci_lo),
      ci_hi: this.optionalIndex(ci_hi),
    };
  }

  #cell(cells: Cells, index: number): string | null {
    const text = cells[index]?.trim() ?? '';
    if (this.#missing.has(text)) return null;
    return this.#options.number?.(text, this.#header[index] ?? '') ?? text;
  }

  #readPlace(cells: Cells): string {
    for (const index of this.#place) {
      const place = cells[index]?.trim();
      if (place) return place;
    }
    return '';
  }

  #readYear(cells: Cells): string {
    const text = cells[this.#year]?.trim() ?? '';
    return this.#yearPattern?.exec(text)?.[1] ?? text;
  }

  /** The observation of one series in a row; null when the row has none. */
  read(cells: Cells, series: ColumnIndexes): RawObservation | null {
    const observed = this.#cell(cells, series.value);
    const forecast = observed === null ? this.#cell(cells, series.projected) : null;
    const value = observed ?? forecast;
    if (value === null && this.#options.empty === 'absent') return null;
    const row: RawObservation = { place: this.#readPlace(cells), year: this.#readYear(cells), value };
    if (series.ci_lo >= 0) row.ci_lo = this.#cell(cells, series.ci_lo);
    if (series.ci_hi >= 0) row.ci_hi = this.#cell(cells, series.ci_hi);
    if (forecast !== null) row.projected = true;
    else if (observed !== null && series.projected >= 0) row.projected = false;
    if (this.#flag >= 0) row.projected = !FALSE_FLAGS.has((cells[this.#flag] ?? '').trim().toLowerCase());
    const excluded = this.#pins.find((pin) => !pin.accepted.has((cells[pin.index] ?? '').trim()));
    if (excluded) row.other_dimension = `${excluded.column}=${cells[excluded.index]?.trim()}`;
    if (this.#status >= 0) row.status = cells[this.#status]?.trim() || null;
    return row;
  }
}

/**
 * Reads a wide table: the observations of each series, contiguous, in the order given. A table with one series is
 * streamed; with several the rows are spooled.
 * @throws {CsvError} for a missing column and for a damaged file.
 */
export async function* readWideTable(
  table: CsvTable,
  series: readonly WideSeries[],
  options: RowOptions,
): AsyncGenerator<{ series: number; rows: RawObservation[] }, void, undefined> {
  const reader = new RowReader(table.header, options);
  const indexes = series.map((one) => reader.indexesOf(one));
  const [only, ...others] = indexes;
  const spool = new SeriesSpool<RawObservation>();
  try {
    for await (const batch of table.batches) {
      options.signal.throwIfAborted();
      if (only && others.length === 0) {
        const rows = batch.map((cells) => reader.read(cells, only)).filter((row) => row !== null);
        yield { series: 0, rows };
        continue;
      }
      for (const cells of batch) {
        for (const [index, columns] of indexes.entries()) {
          const row = reader.read(cells, columns);
          if (row) spool.add(String(index), row);
        }
      }
      await spool.spill();
    }
    for (const index of indexes.keys()) {
      for await (const rows of spool.read(String(index))) yield { series: index, rows };
    }
  } finally {
    await spool.close();
  }
}

/** The columns of a long table that identify the series. */
export interface LongColumns {
  code: string;
  name?: string | undefined;
  unit?: string | undefined;
}

export interface LongSeries {
  code: string;
  name: string;
  unit: string | null;
}

/**
 * Reads a long table: each series with its observations, in order of first appearance. The rows of a series may be
 * scattered over the file.
 * @param columns the value columns, the same for every series
 * @throws {CsvError} for a missing column and for a damaged file.
 */
export async function* readLongTable(
  table: CsvTable,
  columns: WideSeries,
  key: LongColumns,
  options: RowOptions,
): AsyncGenerator<{ series: LongSeries; rows: RawObservation[] }, void, undefined> {
  const reader = new RowReader(table.header, options);
  const indexes = reader.indexesOf(columns);
  const [codeAt, nameAt, unitAt] = [key.code, key.name, key.unit].map((name) => reader.optionalIndex(name));
  const cell = (cells: Cells, at = -1): string => cells[at]?.trim() ?? '';
  const found = new Map<string, LongSeries>();
  const spool = new SeriesSpool<RawObservation>();
  try {
    for await (const batch of table.batches) {
      options.signal.throwIfAborted();
      for (const cells of batch) {
        const code = cell(cells, codeAt);
        const row = code === '' ? null : reader.read(cells, indexes);
        if (row === null) continue;
        if (!found.has(code)) {
          found.set(code, { code, name: cell(cells, nameAt) || code, unit: cell(cells, unitAt) || null });
        }
        spool.add(code, row);
      }
      await spool.spill();
    }
    for (const [code, series] of found) {
      for await (const rows of spool.read(code)) yield { series, rows };
    }
  } finally {
    await spool.close();
  }
}

/** Announces each series before its first batch. `buildEntry` is called once per series. */
export async function* toSourceItems<Series>(
  batches: AsyncIterable<{ series: Series; rows: RawObservation[] }>,
  buildEntry: (series: Series) => CatalogueEntry | undefined,
): AsyncGenerator<SourceItem, void, undefined> {
  let current: Series | undefined;
  let entry: CatalogueEntry | undefined;
  for await (const { series, rows } of batches) {
    if (series !== current) {
      current = series;
      entry = buildEntry(series);
      if (entry) yield { kind: 'indicator', entry };
    }
    if (entry) yield { kind: 'observations', slug: entry.slug, rows };
  }
}
