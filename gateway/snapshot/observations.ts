/**
 * The observations of a snapshot: hot indicators from memory, cold ones from Parquet.
 *
 * A filtered request for a cold indicator reads only its rows. The second request loads all columns and keeps them,
 * unless that would evict an indicator that is asked for more often. An unfiltered request always loads all columns.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { observationsFile } from '../../data/schema/snapshot.ts';
import { ByteCache } from './byte-cache.ts';
import {
  type ColumnArrays,
  countRows,
  type IndicatorColumns,
  type RowFilter,
  type RowRange,
  readAllColumns,
  readFilteredColumns,
} from './indicator-columns.ts';
import { Popularity } from './popularity.ts';
import type { QueryRunner } from './query-runner.ts';
import type { SnapshotFiles } from './snapshot-files.ts';

/** How an encoder writes a row. Text is cached by the format's name and must be ASCII. */
export interface RowFormat {
  name: string;
  /** Between two rows. */
  separator: string;
  row(columns: ColumnArrays, country: string, at: number, indicator: string): string;
}

/** All rows of an indicator as text, with the offset of each row. */
interface RowText {
  buffer: Buffer;
  /** Byte offset of each row, and the total as one more entry. */
  offsets: Uint32Array;
}

/** Columns with their rows as text, formatted when first wanted. */
interface Hot {
  columns: IndicatorColumns;
  text: Map<string, RowText>;
  pending: Map<string, Promise<RowText>>;
}

/** The rows of one indicator that pass a filter. */
export class ObservationTable {
  readonly count: number;
  readonly #ranges: readonly RowRange[];
  readonly #text: (format: RowFormat) => RowText | Promise<RowText>;

  constructor(ranges: readonly RowRange[], text: (format: RowFormat) => RowText | Promise<RowText>) {
    this.count = countRows(ranges);
    this.#ranges = ranges;
    this.#text = text;
  }

  /** The rows as text, separated, in a few views of cached text. */
  async text(format: RowFormat): Promise<Buffer[]> {
    const made = this.#text(format);
    const { buffer, offsets } = made instanceof Promise ? await made : made;
    const last = this.#ranges.length - 1;
    return this.#ranges.map(({ start, end }, at) => {
      // Every row is followed by a separator; the last one is cut off.
      const stop = (offsets[end] ?? 0) - (at === last ? format.separator.length : 0);
      return buffer.subarray(offsets[start], stop);
    });
  }
}

export interface ObservationSource {
  files: SnapshotFiles;
  queries: QueryRunner;
  hotBytesMax: number;
  /** Number of indicators. */
  indicators: number;
}

/** Memory that columns and their JSON take per byte of Parquet: an estimate that only decides what to keep. */
const MEMORY_PER_FILE_BYTE = 12;

export class Observations {
  readonly #source: ObservationSource;
  readonly #hot: ByteCache<Hot>;
  readonly #popularity: Popularity;
  /** Reads served from memory, and reads that went to Parquet. */
  readonly counts = { hits: 0, misses: 0 };

  constructor(source: ObservationSource) {
    this.#source = source;
    this.#popularity = new Popularity(source.indicators);
    this.#hot = new ByteCache(source.hotBytesMax, hotBytes);
  }

  get hotBytes(): number {
    return this.#hot.bytes;
  }

  /** The rows of one indicator that pass the filter. @throws {QueryTimeout} {QueueFull} {SnapshotUnreadable} */
  async select(indicator: string, filter: RowFilter): Promise<ObservationTable> {
    const found = this.#find(indicator, filter);
    const hot = found instanceof Promise ? await found : found;
    return new ObservationTable(hot.columns.select(filter), (format) => this.#format(indicator, hot, format));
  }

  /** Columns that hold at least the rows of one year. @throws {QueryTimeout} {QueueFull} {SnapshotUnreadable} */
  async year(indicator: string, year: number): Promise<IndicatorColumns> {
    const found = this.#find(indicator, { from: year, to: year });
    return (found instanceof Promise ? await found : found).columns;
  }

  clear(): void {
    this.#hot.clear();
  }

  #find(indicator: string, filter: RowFilter): Hot | Promise<Hot> {
    const requests = this.#popularity.count(indicator);
    const hot = this.#hot.get(indicator);
    if (hot) {
      this.counts.hits += 1;
      return hot;
    }
    this.counts.misses += 1;
    const { files, queries } = this.#source;
    const name = observationsFile(indicator);
    const path = files.path(name);
    const isFiltered = filter.countries !== undefined || filter.from !== undefined || filter.to !== undefined;
    const keep = requests > 1 && this.#isWorthKeeping(indicator, requests);
    if (isFiltered && !keep) {
      return files.guard(name, readFilteredColumns(queries, path, filter)).then(asHot);
    }
    const readAll = () => files.guard(name, readAllColumns(queries, path)).then(asHot);
    return this.#hot.getOrMake(indicator, readAll, keep);
  }

  /** It fits, or it is asked for more often than what it would evict. */
  #isWorthKeeping(indicator: string, requests: number): boolean {
    const bytes = this.#source.files.sizeOf(observationsFile(indicator));
    if (this.#hot.hasRoom(bytes * MEMORY_PER_FILE_BYTE)) return true;
    const evicted = this.#hot.nextEvicted();
    return evicted !== undefined && requests > this.#popularity.of(evicted);
  }

  #format(indicator: string, hot: Hot, format: RowFormat): RowText | Promise<RowText> {
    return (
      hot.text.get(format.name) ?? hot.pending.get(format.name) ?? this.#startFormat(indicator, hot, format)
    );
  }

  #startFormat(indicator: string, hot: Hot, format: RowFormat): Promise<RowText> {
    const pending = formatRows(hot.columns, indicator, format)
      .then((text) => {
        hot.text.set(format.name, text);
        // It grew: measure it again.
        if (this.#hot.get(indicator) === hot) this.#hot.set(indicator, hot);
        return text;
      })
      .finally(() => hot.pending.delete(format.name));
    hot.pending.set(format.name, pending);
    return pending;
  }
}

const asHot = (columns: IndicatorColumns): Hot => ({ columns, text: new Map(), pending: new Map() });

function hotBytes({ columns, text }: Hot): number {
  let bytes = columns.bytes;
  for (const { buffer, offsets } of text.values()) bytes += buffer.byteLength + offsets.byteLength;
  return bytes;
}

/** Rows formatted before the event loop gets a turn: a few milliseconds of work. */
const ROWS_PER_TURN = 4096;

/** Formats all rows, country by country, so that the strings die young and only bytes live on. */
export async function formatRows(
  { rows, columns, countries, starts }: IndicatorColumns,
  indicator: string,
  { row, separator }: RowFormat,
): Promise<RowText> {
  const offsets = new Uint32Array(rows + 1);
  const pieces: Buffer[] = [];
  let length = 0;
  let sinceTurn = 0;
  for (const [position, country] of countries.entries()) {
    const start = starts[position] ?? 0;
    const end = starts[position + 1] ?? rows;
    let text = '';
    for (let at = start; at < end; at += 1) {
      offsets[at] = length + text.length;
      text += row(columns, country, at, indicator) + separator;
    }
    pieces.push(Buffer.from(text, 'latin1'));
    length += text.length;
    sinceTurn += end - start;
    if (sinceTurn >= ROWS_PER_TURN) {
      sinceTurn = 0;
      await nextTurn();
    }
  }
  offsets[rows] = length;
  return { buffer: Buffer.concat(pieces, length), offsets };
}
