/**
 * Observations out of a long table of many series: one figure a row, and a column that says which series it is of.
 * The rows of a series may be scattered over the file; they come out together, in order of their first appearance.
 */
import type { WideSeries } from './column-roles.ts';
import type { RawObservation } from './connector.ts';
import { type CsvTable, columnIndex } from './csv-rows.ts';
import { type RowOptions, RowReader } from './row-reader.ts';
import { SeriesSpool } from './series-spool.ts';

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
      await spool.relieve();
    }
    for (const [key, series] of found) {
      for await (const rows of spool.read(key)) yield { series, rows };
    }
  } finally {
    await spool.close();
  }
}
