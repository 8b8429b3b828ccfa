/**
 * Observations: hot indicators from memory, cold ones from Parquet. The memory belongs to files by content, so editions
 * that have a file share it, and a new snapshot keeps what did not change.
 *
 * A filtered request for a cold indicator reads only its rows. The second request loads all columns and keeps them,
 * unless that would evict an indicator that is asked for more often. An unfiltered request always loads all columns.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { type FileRef, observationsFile } from '../../../../data/schema/snapshot.ts';
import { ByteCache } from '../files/byte-cache.ts';
import type { SnapshotFiles } from '../files/snapshot-files.ts';
import { Popularity } from '../search/popularity.ts';
import {
  type ColumnArrays,
  countFileRows,
  countRows,
  type IndicatorColumns,
  type RowFilter,
  type RowRange,
  readAllColumns,
  readFilteredColumns,
} from './indicator-columns.ts';
import { type Detail, type DetailFilter, hasStatus, readDetails } from './observation-details.ts';
import type { QueryRunner } from './query-runner.ts';
import { type Omission, type SelectedRows, selectRows } from './selected-rows.ts';

/** How an encoder writes a row. Text is cached by the format's name and must be ASCII. */
export interface RowFormat {
  name: string;
  /** Before the first row. */
  head: string;
  /** Between two rows. */
  separator: string;
  row(columns: ColumnArrays, country: string, at: number, indicator: string): string;
}

/** The head and all rows of an indicator as text, with the offset of each row. */
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

  /** The head and the rows, separated, in a few views of cached text: one where all rows are wanted. */
  async text(format: RowFormat): Promise<Buffer[]> {
    const made = this.#text(format);
    const { buffer, offsets } = made instanceof Promise ? await made : made;
    const [first] = this.#ranges;
    const head = buffer.subarray(0, format.head.length);
    if (first === undefined || this.count === 0) return [head];
    const last = this.#ranges.length - 1;
    const views = this.#ranges.map(({ start, end }, at) => {
      // Every row is followed by a separator; the last one is cut off.
      const stop = (offsets[end] ?? 0) - (at === last ? format.separator.length : 0);
      return buffer.subarray(at === 0 && start === 0 ? 0 : offsets[start], stop);
    });
    return first.start === 0 ? views : [head, ...views];
  }
}

/** Memory that columns and their JSON take per byte of Parquet: an estimate that only decides what to keep. */
const MEMORY_PER_FILE_BYTE = 12;

/** Of how many files it is remembered whether they have any status. */
const STATUS_KNOWN_MAX = 20_000;

/** One indicator's file in an edition. */
interface IndicatorFile {
  indicator: string;
  name: string;
  bytes: number;
  /** Content and indicator: the text of rows may hold the id. */
  key: string;
}

/** The memory of all open editions. */
export class ObservationCache {
  readonly #queries: QueryRunner;
  readonly #hot: ByteCache<Hot>;
  readonly popularity = new Popularity();
  readonly #haveStatus = new LRUCache<string, boolean>({ max: STATUS_KNOWN_MAX });
  /** Reads served from memory, and reads that went to Parquet. */
  readonly counts = { hits: 0, misses: 0 };

  constructor(queries: QueryRunner, hotBytesMax: number) {
    this.#queries = queries;
    this.#hot = new ByteCache(hotBytesMax, hotBytes);
  }

  get hotBytes(): number {
    return this.#hot.bytes;
  }

  /** @param isFirst of several reads for one answer: keeps the columns at once where it is worth it. */
  find(file: IndicatorFile, files: SnapshotFiles, filter: RowFilter, isFirst = false): Hot | Promise<Hot> {
    const requests = this.popularity.count(file.key);
    const hot = this.#hot.get(file.key);
    if (hot) {
      this.counts.hits += 1;
      return hot;
    }
    this.counts.misses += 1;
    const keep = (isFirst || requests > 1) && this.#isWorthKeeping(file, requests);
    const read = (query: (path: string) => Promise<IndicatorColumns>): Promise<Hot> =>
      files.use([file.name], ([path = '']) => query(path)).then(asHot);
    if (!isUnfiltered(filter) && !keep)
      return read((path) => readFilteredColumns(this.#queries, path, filter));
    const readAll = () => read((path) => readAllColumns(this.#queries, path));
    return this.#hot.getOrMake(file.key, readAll, keep);
  }

  /** Of the whole file. */
  async countRows({ key, name }: IndicatorFile, files: SnapshotFiles): Promise<number> {
    const hot = this.#hot.get(key);
    return hot?.columns.rows ?? files.use([name], ([path = '']) => countFileRows(this.#queries, path));
  }

  readDetails(path: string, filter: DetailFilter): Promise<Detail[]> {
    return readDetails(this.#queries, path, filter);
  }

  /** Most sources flag no figure at all: then no row needs to be read for its status. */
  async hasStatus({ key }: IndicatorFile, path: string): Promise<boolean> {
    const known = this.#haveStatus.get(key) ?? (await hasStatus(this.#queries, path));
    this.#haveStatus.set(key, known);
    return known;
  }

  knownStatus({ key }: IndicatorFile): boolean | undefined {
    return this.#haveStatus.get(key);
  }

  /** Forgets what was read from a file. */
  forget({ sha256 }: FileRef): void {
    this.#hot.deleteAll(sha256);
  }

  /** It fits, or it is asked for more often than what it would evict. */
  #isWorthKeeping({ bytes }: IndicatorFile, requests: number): boolean {
    if (this.#hot.hasRoom(bytes * MEMORY_PER_FILE_BYTE)) return true;
    const evicted = this.#hot.nextEvicted();
    return evicted !== undefined && requests > this.popularity.of(evicted);
  }

  format(file: IndicatorFile, hot: Hot, format: RowFormat): RowText | Promise<RowText> {
    return hot.text.get(format.name) ?? hot.pending.get(format.name) ?? this.#startFormat(file, hot, format);
  }

  #startFormat({ indicator, key }: IndicatorFile, hot: Hot, format: RowFormat): Promise<RowText> {
    const pending = formatRows(hot.columns, indicator, format)
      .then((text) => {
        hot.text.set(format.name, text);
        // It grew: measure it again.
        if (this.#hot.get(key) === hot) this.#hot.set(key, hot);
        return text;
      })
      .finally(() => hot.pending.delete(format.name));
    hot.pending.set(format.name, pending);
    return pending;
  }
}

/** The id that an edition has for an indicator. */
export type HeldAs = (indicator: string) => string | Promise<string>;

/** The observations of one edition. */
export class Observations {
  readonly #files: SnapshotFiles;
  readonly #cache: ObservationCache;
  /** The countries whose rows are shown; null for all. */
  readonly #countries: readonly string[] | null;
  readonly #heldAs: HeldAs;
  /** By indicator. */
  readonly #known = new Map<string, IndicatorFile>();

  /** @param countries sorted; null when the rows of all countries are shown. */
  constructor(
    files: SnapshotFiles,
    cache: ObservationCache,
    countries: readonly string[] | null = null,
    heldAs: HeldAs = (indicator) => indicator,
  ) {
    this.#files = files;
    this.#heldAs = heldAs;
    this.#cache = cache;
    this.#countries = countries;
  }

  /** Memory of hot indicators, of all editions. */
  get hotBytes(): number {
    return this.#cache.hotBytes;
  }

  get counts(): ObservationCache['counts'] {
    return this.#cache.counts;
  }

  /** The rows of one indicator that pass the filter. @throws {QueryTimeout} {QueueFull} {SnapshotUnreadable} */
  async select(indicator: string, asked: RowFilter): Promise<ObservationTable> {
    const filter = this.#countries === null ? asked : withCountries(asked, this.#countries);
    const file = this.#known.get(indicator) ?? (await this.#locate(indicator));
    const found = this.#cache.find(file, this.#files, filter);
    const hot = found instanceof Promise ? await found : found;
    return new ObservationTable(hot.columns.select(filter), (format) =>
      this.#cache.format(file, hot, format),
    );
  }

  /** Reads a series of which one answer needs several parts, so that its file is read once. @throws {QueryTimeout} {QueueFull} {SnapshotUnreadable} */
  async prepare(indicator: string): Promise<void> {
    const file = this.#known.get(indicator) ?? (await this.#locate(indicator));
    await this.#cache.find(file, this.#files, {}, true);
  }

  /** Columns that hold at least the rows of one year. @throws {QueryTimeout} {QueueFull} {SnapshotUnreadable} */
  year(indicator: string, year: number): Promise<IndicatorColumns> {
    return this.columns(indicator, { from: year, to: year });
  }

  /** Columns that hold at least the rows that pass. @throws {QueryTimeout} {QueueFull} {SnapshotUnreadable} */
  async columns(indicator: string, filter: RowFilter): Promise<IndicatorColumns> {
    const file = this.#known.get(indicator) ?? (await this.#locate(indicator));
    const found = this.#cache.find(file, this.#files, filter);
    return (found instanceof Promise ? await found : found).columns;
  }

  /** The rows of one indicator that pass and are not left out. @throws {QueryTimeout} {QueueFull} {SnapshotUnreadable} */
  async selectRows(indicator: string, asked: RowFilter, omission: Omission): Promise<SelectedRows> {
    const filter = this.#countries === null ? asked : withCountries(asked, this.#countries);
    return selectRows(await this.columns(indicator, filter), filter, omission);
  }

  /** How many rows `selectRows` gives. Where nothing is left out, none is read. @throws {QueryTimeout} {QueueFull} {SnapshotUnreadable} */
  async countRows(indicator: string, asked: RowFilter, omission: Omission): Promise<number> {
    const { latest, missing } = omission;
    const isWhole =
      isUnfiltered(asked) && this.#countries === null && latest === undefined && missing !== true;
    if (!isWhole) return (await this.selectRows(indicator, asked, omission)).at.length;
    const file = this.#known.get(indicator) ?? (await this.#locate(indicator));
    return this.#cache.countRows(file, this.#files);
  }

  /** What rows have besides figures and rank. @throws {QueryTimeout} {QueueFull} {SnapshotUnreadable} */
  async details(indicator: string, filter: DetailFilter): Promise<Detail[]> {
    const { name } = this.#known.get(indicator) ?? (await this.#locate(indicator));
    return this.#files.use([name], ([path = '']) => this.#cache.readDetails(path, filter));
  }

  /** The status of rows that have one, by `statusKey`. @throws {QueryTimeout} {QueueFull} {SnapshotUnreadable} */
  async statuses(indicator: string, filter: DetailFilter): Promise<ReadonlyMap<string, string>> {
    const file = this.#known.get(indicator) ?? (await this.#locate(indicator));
    if (this.#cache.knownStatus(file) === false) return NO_STATUS;
    const details = await this.#files.use([file.name], async ([path = '']) =>
      (await this.#cache.hasStatus(file, path)) ? this.#cache.readDetails(path, filter) : [],
    );
    return new Map(
      details.flatMap(({ iso3, year, status }) => (status === null ? [] : [[statusKey(iso3, year), status]])),
    );
  }

  async #locate(indicator: string): Promise<IndicatorFile> {
    const name = observationsFile(await this.#heldAs(indicator));
    const ref = await this.#files.find(name);
    if (ref === undefined) throw new Error(`the snapshot has no ${name}`);
    const file = { indicator, name, bytes: ref.bytes, key: `${ref.sha256} ${indicator}` };
    this.#known.set(indicator, file);
    return file;
  }
}

const isUnfiltered = ({ countries, from, to }: RowFilter): boolean =>
  countries === undefined && from === undefined && to === undefined;

const NO_STATUS: ReadonlyMap<string, string> = new Map();

export const statusKey = (iso3: string, year: number): string => `${iso3} ${year}`;

/** The filter, for some countries only. */
function withCountries(filter: RowFilter, shown: readonly string[]): RowFilter {
  const countries = filter.countries?.filter((country) => shown.includes(country)) ?? shown;
  return { ...filter, countries };
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
  { head, row, separator }: RowFormat,
): Promise<RowText> {
  const offsets = new Uint32Array(rows + 1);
  const pieces: Buffer[] = [Buffer.from(head, 'latin1')];
  let length = head.length;
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
