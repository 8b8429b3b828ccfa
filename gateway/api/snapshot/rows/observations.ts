/**
 * Observations: hot indicators from memory, cold ones from Parquet. The memory belongs to files by content, so editions
 * that have a file share it, and a new snapshot keeps what did not change.
 *
 * A filtered request for a cold indicator reads only its rows. The second request loads all columns and keeps them, so
 * that reading the whole catalogue once evicts nothing. An unfiltered request always loads all columns.
 */
import { LRUCache } from 'lru-cache';
import { type FileRef, observationsFile } from '../../../../data/schema/snapshot.ts';
import { ByteCache } from '../files/memory.ts';
import type { SnapshotFiles } from '../files/snapshot-files.ts';
import {
  type IndicatorColumns,
  type KeptText,
  type Omission,
  type RowFilter,
  type RowText,
  SelectedRows,
} from './indicator-columns.ts';
import type { QueryRunner } from './query-runner.ts';
import {
  type Detail,
  type DetailFilter,
  readAllColumns,
  readDetails,
  readFilteredColumns,
  readHistories,
  readStatuses,
  type Statuses,
} from './query-runner.ts';

/** Columns with their rows as text by format, made when first wanted. */
interface Hot {
  columns: IndicatorColumns;
  text: Map<string, RowText>;
  pending: Map<string, Promise<RowText>>;
  /** What the columns have of the file. */
  filter: RowFilter;
  /** By row, read when first wanted. */
  statuses: Promise<Statuses> | null;
  status_bytes: number;
}

/** What a read gives: statuses where they were asked for with it. */
interface Read {
  columns: IndicatorColumns;
  statuses?: Statuses;
}

/** One indicator's file in an edition. */
interface IndicatorFile {
  indicator: string;
  name: string;
  /** Content and indicator: the text of rows may hold the id. */
  key: string;
}

/** Files that are remembered as asked for. */
const ASKED_MAX = 1_024;

/** The memory of all open editions. */
export class ObservationCache {
  readonly #queries: QueryRunner;
  readonly #hot: ByteCache<Hot>;
  /** What was asked for lately. */
  readonly #asked = new LRUCache<string, true>({ max: ASKED_MAX });
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
  find(
    file: IndicatorFile,
    files: SnapshotFiles,
    filter: RowFilter,
    isFirst = false,
    readFew = (path: string): Promise<Read> => this.#readFew(path, filter),
  ): Hot | Promise<Hot> {
    const hot = this.#hot.get(file.key);
    if (hot) {
      this.counts.hits += 1;
      return hot;
    }
    this.counts.misses += 1;
    const keep = isFirst || this.#asked.has(file.key);
    this.#asked.set(file.key, true);
    const read = async (of: RowFilter, query: (path: string) => Promise<Read>): Promise<Hot> =>
      asHot(await files.use([file.name], ([path = '']) => query(path)), of);
    if (!isUnfiltered(filter) && !keep) return read(filter, readFew);
    const readAll = () => read({}, async (path) => ({ columns: await readAllColumns(this.#queries, path) }));
    return this.#hot.getOrMake(file.key, readAll, keep);
  }

  async #readFew(path: string, filter: RowFilter): Promise<Read> {
    return { columns: await readFilteredColumns(this.#queries, path, filter) };
  }

  /** The whole series, where it is kept. */
  kept({ key }: IndicatorFile): Hot | undefined {
    return this.#hot.get(key);
  }

  /** The rows of some countries, read with their statuses where the series is not kept. */
  async findHistories(file: IndicatorFile, files: SnapshotFiles, filter: RowFilter): Promise<Hot> {
    const { countries } = filter;
    if (countries === undefined) return this.find(file, files, filter);
    return this.find(file, files, filter, false, (path) => readHistories(this.#queries, path, countries));
  }

  /** Of the rows that are held: they belong to the columns, as their text does. */
  statuses({ key, name }: IndicatorFile, files: SnapshotFiles, hot: Hot): Promise<Statuses> {
    const read = async (): Promise<Statuses> => {
      const found = await files.use([name], ([path = '']) => readStatuses(this.#queries, path, hot.filter));
      hot.status_bytes = (found?.length ?? 0) * 8;
      if (this.#hot.get(key) === hot) this.#hot.set(key, hot);
      return found;
    };
    hot.statuses ??= read().catch((error: unknown) => {
      hot.statuses = null;
      throw error;
    });
    return hot.statuses;
  }

  readDetails(path: string, filter: DetailFilter): Promise<Detail[]> {
    return readDetails(this.#queries, path, filter);
  }

  /** Forgets what was read from a file. */
  forget({ sha256 }: FileRef): void {
    this.#hot.deleteAll(sha256);
  }

  /** The rows that are held as text: it belongs to the columns, and is evicted with them. */
  keptText({ key }: IndicatorFile, hot: Hot): KeptText {
    const start: KeptText = (format, make) => {
      const pending = make(new SelectedRows(hot.columns, {}))
        .then((text) => {
          hot.text.set(format, text);
          // It grew: measure it again.
          if (this.#hot.get(key) === hot) this.#hot.set(key, hot);
          return text;
        })
        .finally(() => hot.pending.delete(format));
      hot.pending.set(format, pending);
      return pending;
    };
    return (format, make) => hot.text.get(format) ?? hot.pending.get(format) ?? start(format, make);
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

  /** The rows of one indicator that pass and are not left out. @throws {QueryTimeout} {QueueFull} {SnapshotUnreadable} */
  async select(indicator: string, asked: RowFilter, omission?: Omission): Promise<SelectedRows> {
    const filter = this.#countries === null ? asked : withCountries(asked, this.#countries);
    const file = this.#known.get(indicator) ?? (await this.#locate(indicator));
    const found = this.#cache.find(file, this.#files, filter);
    const hot = found instanceof Promise ? await found : found;
    return new SelectedRows(hot.columns, filter, omission, this.#cache.keptText(file, hot));
  }

  /** Reads a series of which one answer needs several parts, so that its file is read once. @throws {QueryTimeout} {QueueFull} {SnapshotUnreadable} */
  async prepare(indicator: string): Promise<void> {
    const file = this.#known.get(indicator) ?? (await this.#locate(indicator));
    await this.#cache.find(file, this.#files, {}, true);
  }

  /** Columns that hold at least the rows that pass. @throws {QueryTimeout} {QueueFull} {SnapshotUnreadable} */
  async columns(indicator: string, filter: RowFilter): Promise<IndicatorColumns> {
    const file = this.#known.get(indicator) ?? (await this.#locate(indicator));
    const found = this.#cache.find(file, this.#files, filter);
    return (found instanceof Promise ? await found : found).columns;
  }

  /**
   * Columns that hold at least the rows of some countries, and their statuses.
   * @throws {QueryTimeout} {QueueFull} {SnapshotUnreadable}
   */
  async histories(
    indicator: string,
    filter: Pick<RowFilter, 'countries'>,
  ): Promise<{ columns: IndicatorColumns; statuses: Statuses }> {
    const file = this.#known.get(indicator) ?? (await this.#locate(indicator));
    const hot = await this.#cache.findHistories(file, this.#files, filter);
    return { columns: hot.columns, statuses: await this.#cache.statuses(file, this.#files, hot) };
  }

  /** What rows have besides figures and rank. @throws {QueryTimeout} {QueueFull} {SnapshotUnreadable} */
  async details(indicator: string, filter: DetailFilter): Promise<Detail[]> {
    const { name } = this.#known.get(indicator) ?? (await this.#locate(indicator));
    return this.#files.use([name], ([path = '']) => this.#cache.readDetails(path, filter));
  }

  /**
   * The status of rows that have one, by `statusKey`: from memory where the series is kept.
   * @throws {QueryTimeout} {QueueFull} {SnapshotUnreadable}
   */
  async statuses(indicator: string, filter: DetailFilter): Promise<ReadonlyMap<string, string>> {
    const file = this.#known.get(indicator) ?? (await this.#locate(indicator));
    const kept = this.#cache.kept(file);
    if (kept !== undefined)
      return statusesIn(kept.columns, await this.#cache.statuses(file, this.#files, kept), filter);
    const details = await this.details(indicator, filter);
    return new Map(
      details.flatMap(({ iso3, year, status }) => (status === null ? [] : [[statusKey(iso3, year), status]])),
    );
  }

  async #locate(indicator: string): Promise<IndicatorFile> {
    const name = observationsFile(await this.#heldAs(indicator));
    const ref = await this.#files.find(name);
    if (ref === undefined) throw new Error(`the snapshot has no ${name}`);
    const file = { indicator, name, key: `${ref.sha256} ${indicator}` };
    this.#known.set(indicator, file);
    return file;
  }
}

const isUnfiltered = ({ countries, from, to }: RowFilter): boolean =>
  countries === undefined && from === undefined && to === undefined;

function statusesIn(held: IndicatorColumns, statuses: Statuses, filter: DetailFilter): Map<string, string> {
  const found = new Map<string, string>();
  if (statuses === null) return found;
  for (const country of filter.countries)
    for (const { start, end } of held.select({ ...filter, countries: [country] }))
      for (let row = start; row < end; row += 1) {
        const status = statuses[row];
        if (status) found.set(statusKey(country, held.columns.year[row] ?? 0), status);
      }
  return found;
}

export const statusKey = (iso3: string, year: number): string => `${iso3} ${year}`;

/** The filter, for some countries only. */
function withCountries(filter: RowFilter, shown: readonly string[]): RowFilter {
  const countries = filter.countries?.filter((country) => shown.includes(country)) ?? shown;
  return { ...filter, countries };
}

const asHot = ({ columns, statuses }: Read, filter: RowFilter): Hot => ({
  columns,
  filter,
  text: new Map(),
  pending: new Map(),
  statuses: statuses === undefined ? null : Promise.resolve(statuses),
  status_bytes: 0,
});

function hotBytes({ columns, text, status_bytes }: Hot): number {
  let bytes = columns.bytes + status_bytes;
  for (const { buffer, ends } of text.values()) bytes += buffer.byteLength + ends.byteLength;
  return bytes;
}
