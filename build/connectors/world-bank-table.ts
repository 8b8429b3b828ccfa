/**
 * The World Bank's wide CSV: a row per country and indicator, a column per year.
 *
 * Guarantees: the lines above the header are found, not counted (downloads have four, the bulk file none); the byte
 * order mark, the carriage returns and the nameless last column that a trailing comma makes are taken off; a header
 * that is not this layout is an error. Cells are handed on as upstream writes them.
 */
import type { RawObservation } from './connector.ts';
import { CsvError, type CsvTable, columnIndex, openCsv } from './csv-rows.ts';

export interface WideDownload {
  /** `Data Source` of the preamble; null in files without one. */
  source: string | null;
  /** `Last Updated Date` of the preamble, `YYYY-MM-DD`; null in files without one. */
  last_updated: string | null;
  table: CsvTable;
  columns: WideColumns;
}

interface WideColumns {
  code: number;
  indicator: number;
  name: number;
  years: { year: string; at: number }[];
}

/** What is said of one indicator in `Metadata_Indicator_*.csv` or `WDISeries.csv`. */
export interface SeriesNote {
  name: string | null;
  description: string | null;
  unit: string | null;
  source: string | null;
  topic: string | null;
  licence: string | null;
}

const PREAMBLE_LIMIT_BYTES = 64 * 1024;
const HEADER_START = 'Country Name';
/** Plain in downloads; DataBank writes `1960 [YR1960]`, the notes files `YR1960`. */
const YEAR_COLUMN = /^(?:YR)?(\d{4})(?: \[YR\d{4}\])?$/;

const preambleValue = (preamble: string, key: string): string | null =>
  new RegExp(`"?${key}"?,"?([^"\\r\\n]*)`).exec(preamble)?.[1]?.replace(/,$/, '').trim() || null;

async function* following(
  head: Uint8Array,
  rest: AsyncIterator<Uint8Array>,
): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    yield head;
    for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value;
  } finally {
    await rest.return?.();
  }
}

/** Splits a file before its header line. */
async function splitPreamble(
  bytes: AsyncIterable<Uint8Array>,
): Promise<{ preamble: string; body: AsyncIterable<Uint8Array> }> {
  const chunks = bytes[Symbol.asyncIterator]();
  let head = Buffer.alloc(0);
  for (;;) {
    const at = head.indexOf(HEADER_START);
    if (at >= 0) {
      const start = head[at - 1] === 0x22 ? at - 1 : at;
      return {
        preamble: head.subarray(0, start).toString('utf8'),
        body: following(head.subarray(start), chunks),
      };
    }
    const next = head.length > PREAMBLE_LIMIT_BYTES ? { done: true as const } : await chunks.next();
    if (next.done) {
      await chunks.return?.();
      throw new CsvError(`not a World Bank download: no header that starts with "${HEADER_START}"`);
    }
    head = Buffer.concat([head, next.value]);
  }
}

function wideColumns(header: readonly string[]): WideColumns {
  const columns: WideColumns = {
    code: columnIndex(header, 'Country Code'),
    indicator: columnIndex(header, 'Indicator Code'),
    name: columnIndex(header, 'Indicator Name'),
    years: [],
  };
  const known = new Set([columns.code, columns.indicator, columns.name, columnIndex(header, HEADER_START)]);
  for (const [at, name] of header.entries()) {
    const year = YEAR_COLUMN.exec(name.trim())?.[1];
    if (year !== undefined) columns.years.push({ year, at });
    else if (name.trim() !== '' && !known.has(at)) throw new CsvError(`unexpected column "${name}"`);
  }
  if (columns.years.length === 0) throw new CsvError('no column is a year');
  return columns;
}

/**
 * Opens a wide CSV up to its header.
 * @throws {CsvError} when it is not the layout; reading the table throws it for a file that breaks off in a row.
 */
export async function openWideDownload(bytes: AsyncIterable<Uint8Array>): Promise<WideDownload> {
  const { preamble, body } = await splitPreamble(bytes);
  const table = await openCsv(body, { delimiter: ',' });
  return {
    source: preambleValue(preamble, 'Data Source'),
    last_updated: preambleValue(preamble, 'Last Updated Date'),
    table,
    columns: wideColumns(table.header),
  };
}

/** One row's series and figures. An empty cell is a published gap, or no row at all where `empty` says `absent`. */
export function readWideRow(
  cells: readonly string[],
  columns: WideColumns,
  empty: 'null' | 'absent',
): { code: string; name: string; rows: RawObservation[] } {
  const place = cells[columns.code]?.trim() ?? '';
  const rows: RawObservation[] = [];
  for (const { year, at } of columns.years) {
    const value = cells[at]?.trim() || null;
    if (value !== null || empty === 'null') rows.push({ place, year, value });
  }
  return { code: cells[columns.indicator]?.trim() ?? '', name: cells[columns.name]?.trim() ?? '', rows };
}

/** Column names in the notes of single downloads, and in the bulk file's. */
const NOTE_COLUMNS = {
  code: ['INDICATOR_CODE', 'Series Code'],
  name: ['INDICATOR_NAME', 'Indicator Name'],
  description: ['SOURCE_NOTE', 'Long definition'],
  unit: ['Unit of measure'],
  source: ['SOURCE_ORGANIZATION', 'Source'],
  topic: ['Topic'],
  licence: ['License Type'],
} as const;

/**
 * Reads the notes on indicators, by upper-cased code.
 * @throws {CsvError} when the file has no column of codes.
 */
export async function readSeriesNotes(bytes: AsyncIterable<Uint8Array>): Promise<Map<string, SeriesNote>> {
  const { header, batches } = await openCsv(bytes, { delimiter: ',' });
  const at = (names: readonly string[]): number => header.findIndex((name) => names.includes(name.trim()));
  const code = at(NOTE_COLUMNS.code);
  if (code < 0) throw new CsvError(`no column of indicator codes; there are: ${header.join(', ')}`);
  const columns = {
    name: at(NOTE_COLUMNS.name),
    description: at(NOTE_COLUMNS.description),
    unit: at(NOTE_COLUMNS.unit),
    source: at(NOTE_COLUMNS.source),
    topic: at(NOTE_COLUMNS.topic),
    licence: at(NOTE_COLUMNS.licence),
  };
  const notes = new Map<string, SeriesNote>();
  for await (const batch of batches) {
    for (const cells of batch) {
      const cell = (index: number): string | null => cells[index]?.replaceAll(/\s+/g, ' ').trim() || null;
      notes.set((cells[code] ?? '').trim().toUpperCase(), {
        name: cell(columns.name),
        description: cell(columns.description),
        unit: cell(columns.unit),
        source: cell(columns.source),
        topic: cell(columns.topic),
        licence: cell(columns.licence),
      });
    }
  }
  return notes;
}
