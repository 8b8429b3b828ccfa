/**
 * Reads observations from tables: wide ones (a row per place and year, a column per series) and long ones (a row per
 * figure, a column that names the series). Rows come out series by series.
 *
 * Every upstream cell becomes an observation and an empty one a null, unless the settings say that empty means absent.
 * A null of a wide layout is marked as blank: its row is there for other cells, so nobody has published this gap.
 * Where a series has an observed and a projected column, the observed value wins.
 */
import { createReadStream } from 'node:fs';
import { appendFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import type { CatalogueEntry } from '../../data/schema/lake.ts';
import type { RawObservation, SourceItem } from './connector.ts';
import { type CsvTable, columnIndex } from './csv.ts';

/** One series of a wide table, as column names. */
export interface WideSeries {
  /** The column that names the series. */
  column: string;
  /** The columns of observed values and of forecasts; at least one is set. */
  value?: string;
  projected?: string;
  ci_lo?: string;
  ci_hi?: string;
}

/**
 * What an empty cell means. `layout`: a gap between the measured years of a country where the table is wide, and a gap
 * wherever it stands where it is long. `null`: always a gap. `absent`: no row.
 */
export const emptyCells = z.enum(['layout', 'null', 'absent']);
type EmptyCells = z.infer<typeof emptyCells>;

interface RowOptions {
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
  empty: EmptyCells;
  /** Whether a row holds the cells of several series or years. */
  isWide: boolean;
  /** Converts a number as upstream writes it into a plain decimal. */
  number?: ((text: string, column: string) => string) | undefined;
  /** Accepted cells by column; rows with others are for another part of the population. */
  pin?: Readonly<Record<string, readonly string[]>> | undefined;
  signal: AbortSignal;
}

type Cells = readonly string[];
type ColumnIndexes = Record<'value' | 'projected' | 'ci_lo' | 'ci_hi', number>;
/** The observation of one series in a row; null when the row has none. */
type RowParser = (cells: Cells, series: ColumnIndexes) => RawObservation | null;

/** Flags that mean "not a forecast". */
const FALSE_FLAGS = new Set(['', '0', 'false', 'no', 'n', 'f', 'actual', 'observed']);

const textAt = (cells: Cells, index: number): string => cells[index]?.trim() ?? '';

/** The index of a column; -1 when none is named. @throws {CsvError} when it does not exist. */
const optionalIndex = (header: readonly string[], name: string | undefined): number =>
  name ? columnIndex(header, name) : -1;

const findIndexes = (header: readonly string[], series: WideSeries): ColumnIndexes => ({
  value: optionalIndex(header, series.value),
  projected: optionalIndex(header, series.projected),
  ci_lo: optionalIndex(header, series.ci_lo),
  ci_hi: optionalIndex(header, series.ci_hi),
});

const isEmpty = ({ value, ci_lo, ci_hi }: RawObservation): boolean =>
  [value, ci_lo, ci_hi].every((figure) => (figure ?? null) === null);

/** Resolves the columns of a table once. @throws {CsvError} for a missing column. */
function createRowParser(header: readonly string[], options: RowOptions): RowParser {
  const placeAt = options.place.map((name) => columnIndex(header, name));
  const yearAt = columnIndex(header, options.year);
  const yearPattern = options.yearPattern === undefined ? null : new RegExp(options.yearPattern, 'u');
  const statusAt = optionalIndex(header, options.status);
  const flagAt = optionalIndex(header, options.projectedFlag);
  const missing = new Set(options.missing).add('');
  const pins = Object.entries(options.pin ?? {}).map(([column, accepted]) => ({
    index: columnIndex(header, column),
    column,
    accepted: new Set(accepted),
  }));
  const figure = (cells: Cells, index: number): string | null => {
    const cell = textAt(cells, index);
    if (missing.has(cell)) return null;
    return options.number?.(cell, header[index] ?? '') ?? cell;
  };
  /** @param isForecast by the column that the value stands in */
  const addFlags = (row: RawObservation, cells: Cells, isForecast: boolean | undefined): void => {
    const isFlagged = flagAt < 0 ? isForecast : !FALSE_FLAGS.has(textAt(cells, flagAt).toLowerCase());
    if (isFlagged !== undefined) row.projected = isFlagged;
    const status = textAt(cells, statusAt) || (isFlagged ? 'forecast' : null);
    if (status !== null || statusAt >= 0) row.status = status;
  };
  const canBeBlank = options.isWide && options.empty === 'layout';
  return (cells, series) => {
    const observed = figure(cells, series.value);
    const forecast = observed === null ? figure(cells, series.projected) : null;
    const value = observed ?? forecast;
    if (value === null && options.empty === 'absent') return null;
    const place = placeAt.map((index) => textAt(cells, index)).find((name) => name !== '') ?? '';
    const year = textAt(cells, yearAt);
    const row: RawObservation = { place, year: yearPattern?.exec(year)?.[1] ?? year, value };
    if (series.ci_lo >= 0) row.ci_lo = figure(cells, series.ci_lo);
    if (series.ci_hi >= 0) row.ci_hi = figure(cells, series.ci_hi);
    if (canBeBlank && isEmpty(row)) row.blank = true;
    const isStated = series.projected >= 0 && value !== null;
    addFlags(row, cells, isStated ? forecast !== null : undefined);
    const excluded = pins.find((pin) => !pin.accepted.has(textAt(cells, pin.index)));
    if (excluded) row.other_dimension = `${excluded.column}=${textAt(cells, excluded.index)}`;
    return row;
  };
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
  const parseRow = createRowParser(table.header, options);
  const indexes = series.map((one) => findIndexes(table.header, one));
  const [only, ...others] = indexes;
  await using spool = new SeriesSpool<number, RawObservation>();
  for await (const batch of table.batches) {
    options.signal.throwIfAborted();
    if (only && others.length === 0) {
      yield { series: 0, rows: batch.map((cells) => parseRow(cells, only)).filter((row) => row !== null) };
      continue;
    }
    for (const cells of batch) {
      for (const [index, columns] of indexes.entries()) {
        const row = parseRow(cells, columns);
        if (row) spool.add(index, row);
      }
    }
    await spool.spill();
  }
  for (const index of indexes.keys()) {
    for await (const rows of spool.read(index)) yield { series: index, rows };
  }
}

/** The columns of a long table that identify the series. */
interface LongColumns {
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
  const parseRow = createRowParser(table.header, options);
  const indexes = findIndexes(table.header, columns);
  const [codeAt, nameAt, unitAt] = [key.code, key.name, key.unit].map((name) =>
    optionalIndex(table.header, name),
  );
  const cell = (cells: Cells, at = -1): string => textAt(cells, at);
  const found = new Map<string, LongSeries>();
  await using spool = new SeriesSpool<string, RawObservation>();
  for await (const batch of table.batches) {
    options.signal.throwIfAborted();
    for (const cells of batch) {
      const code = cell(cells, codeAt);
      const row = code === '' ? null : parseRow(cells, indexes);
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
}

/**
 * Announces each series before its first batch. `buildEntry` is called once per series.
 * @param files references of the files that the figures come from
 */
export async function* toSourceItems<Series>(
  batches: AsyncIterable<{ series: Series; rows: RawObservation[] }>,
  buildEntry: (series: Series) => CatalogueEntry | undefined,
  files: readonly string[],
): AsyncIterable<SourceItem> {
  let current: Series | undefined;
  let entry: CatalogueEntry | undefined;
  for await (const { series, rows } of batches) {
    if (series !== current) {
      current = series;
      entry = buildEntry(series);
      if (entry) yield { kind: 'indicator', entry };
    }
    if (entry) yield { kind: 'observations', slug: entry.slug, rows, files };
  }
}

/** About 60 MB of rows. */
const MAX_ROWS_IN_MEMORY = 250_000;
const ROWS_PER_BATCH = 5_000;

/**
 * Regroups interleaved rows by series.
 *
 * A row of a wide table holds one value of each series, and an SDMX response is ordered by country, while ingestion takes
 * one series after the other. The spool buffers rows in memory up to a limit and beyond it in files of a temporary
 * directory, so that memory stays bounded. Within a series it keeps the order of arrival.
 */
export class SeriesSpool<Key, Row> implements AsyncDisposable {
  readonly #series = new Map<Key, { rows: Row[]; file: string | null }>();
  #rowsInMemory = 0;
  #directory: string | null = null;

  add(key: Key, row: Row): void {
    const series = this.#series.get(key);
    if (series) series.rows.push(row);
    else this.#series.set(key, { rows: [row], file: null });
    this.#rowsInMemory += 1;
  }

  /** Writes the buffered rows to disk when they exceed the limit. Await it after each batch of `add`. */
  async spill(): Promise<void> {
    if (this.#rowsInMemory <= MAX_ROWS_IN_MEMORY) return;
    this.#directory ??= await mkdtemp(join(tmpdir(), 'almanac-spool-'));
    for (const [number, series] of [...this.#series.values()].entries()) {
      series.file ??= join(this.#directory, `${number}.jsonl`);
      if (series.rows.length === 0) continue;
      const lines = splitIntoBatches(series.rows).map((rows) => `${JSON.stringify(rows)}\n`);
      await appendFile(series.file, lines.join(''));
      series.rows = [];
    }
    this.#rowsInMemory = 0;
  }

  /** The rows of one series in batches. Can be read repeatedly. */
  async *read(key: Key): AsyncGenerator<Row[], void, undefined> {
    const series = this.#series.get(key);
    if (!series) return;
    if (series.file) {
      for await (const line of createInterface({ input: createReadStream(series.file) })) {
        yield JSON.parse(line) as Row[];
      }
    }
    yield* splitIntoBatches(series.rows);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#series.clear();
    if (this.#directory) await rm(this.#directory, { recursive: true, force: true });
    this.#directory = null;
  }
}

function splitIntoBatches<Row>(rows: Row[]): Row[][] {
  const batches: Row[][] = [];
  for (let at = 0; at < rows.length; at += ROWS_PER_BATCH) batches.push(rows.slice(at, at + ROWS_PER_BATCH));
  return batches;
}
