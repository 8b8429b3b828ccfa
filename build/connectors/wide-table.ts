/**
 * Observations out of a table whose rows are a place and a year and whose columns are series.
 *
 * A table of one series streams straight through. With several series the rows are spooled, because each holds one
 * figure of every series, and come out series by series.
 */
import type { WideSeries } from './column-roles.ts';
import type { RawObservation } from './connector.ts';
import type { CsvTable } from './csv-rows.ts';
import { type RowOptions, RowReader, type SeriesCells } from './row-reader.ts';
import { SeriesSpool } from './series-spool.ts';

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
      await spool.relieve();
    }
    for (const index of reader.series.keys()) {
      for await (const rows of spool.read(String(index))) yield { series: index, rows };
    }
  } finally {
    await spool.close();
  }
}
