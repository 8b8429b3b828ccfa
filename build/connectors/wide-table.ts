/**
 * Observations out of a table whose rows are a place and a year and whose columns are series.
 *
 * The table may also be long: then it has one series, and its rows pass straight through. With several series they are
 * spooled, because the rows interleave them. Every cell that upstream publishes becomes an observation, an empty one a
 * null, unless the settings say that an empty cell is an absent row. Where a series has an observed and a projected
 * column, each row yields one observation: the observed value where there is one, otherwise the projected.
 */
import type { WideSeries } from './column-roles.ts';
import type { RawObservation } from './connector.ts';
import { type CsvTable, columnIndex } from './csv-rows.ts';
import { SeriesSpool } from './series-spool.ts';

export interface WideTableOptions {
  /** Columns holding the place, best first; an empty cell falls through to the next. */
  place: readonly string[];
  year: string;
  series: readonly WideSeries[];
  status?: string | undefined;
  /** A column that is not empty and not one of `notProjected` marks a forecast. */
  projectedFlag?: string | undefined;
  /** Texts that mean "no value"; the empty text is always one. */
  missing: readonly string[];
  empty: 'null' | 'absent';
  /** Turns a number as upstream writes it into a plain decimal. */
  number?: ((text: string, column: string) => string) | undefined;
  rowsInMemory?: number | undefined;
  signal: AbortSignal;
}

type Cells = readonly string[];
interface SeriesCells {
  value: number;
  projected: number;
  ci_lo: number;
  ci_hi: number;
}

const FALSE_FLAGS = new Set(['', '0', 'false', 'no', 'n', 'f', 'actual', 'observed']);

/** Where everything stands in a row; built once per table. */
class RowReader {
  readonly #options: WideTableOptions;
  readonly #place: number[];
  readonly #year: number;
  readonly #status: number;
  readonly #flag: number;
  readonly #missing: ReadonlySet<string>;
  readonly #header: readonly string[];
  readonly series: SeriesCells[];

  constructor(header: readonly string[], options: WideTableOptions) {
    const at = (name: string | null | undefined): number => (name ? columnIndex(header, name) : -1);
    this.#options = options;
    this.#header = header;
    this.#place = options.place.map(at);
    this.#year = at(options.year);
    this.#status = at(options.status);
    this.#flag = at(options.projectedFlag);
    this.#missing = new Set(options.missing).add('');
    this.series = options.series.map((one) => ({
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

  /** The observation of one series in one row; null when the row has none. */
  read(cells: Cells, series: SeriesCells): RawObservation | null {
    const observed = this.#cell(cells, series.value);
    const forecast = observed === null ? this.#cell(cells, series.projected) : null;
    const value = observed ?? forecast;
    if (value === null && this.#options.empty === 'absent') return null;
    const row: RawObservation = { place: this.#placeOf(cells), year: cells[this.#year]?.trim() ?? '', value };
    if (series.ci_lo >= 0) row.ci_lo = this.#cell(cells, series.ci_lo);
    if (series.ci_hi >= 0) row.ci_hi = this.#cell(cells, series.ci_hi);
    if (forecast !== null) row.projected = true;
    else if (observed !== null && series.projected >= 0) row.projected = false;
    if (this.#flag >= 0) row.projected = !FALSE_FLAGS.has((cells[this.#flag] ?? '').trim().toLowerCase());
    if (this.#status >= 0) row.status = cells[this.#status]?.trim() || null;
    return row;
  }
}

/**
 * The observations of each series, contiguous, in the order of `options.series`.
 * @throws {CsvError} for a column that is not there and for a damaged file.
 */
export async function* readWideTable(
  table: CsvTable,
  options: WideTableOptions,
): AsyncGenerator<{ series: number; rows: RawObservation[] }, void, undefined> {
  const reader = new RowReader(table.header, options);
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
      await spool.relieve();
    }
    for (const index of reader.series.keys()) {
      for await (const rows of spool.read(String(index))) yield { series: index, rows };
    }
  } finally {
    await spool.close();
  }
}
