/**
 * The rows of indicators: hot ones from memory, cold ones from Parquet.
 *
 * A filtered request for an indicator that nobody asked for lately reads just its rows. Asked for again, its whole
 * slice is loaded and kept, as long as it does not push out one that is asked for more often. An unfiltered request
 * loads the slice whatever happens to it after.
 */
import { join } from 'node:path';
import { observationsFile } from '../../data/schema/snapshot.ts';
import { ByteCache } from './byte-cache.ts';
import { readAllColumns, readFilteredColumns } from './column-reader.ts';
import { countRows, type IndicatorColumns, type RowFilter } from './indicator-columns.ts';
import { Popularity } from './popularity.ts';
import type { QueryRunner } from './query-runner.ts';
import { pickJsonRows, pickRows, type RowText, textBytes, writeCsvRows, writeJsonRows } from './row-text.ts';

type Format = 'json' | 'csv';

/** A slice and its rows as text, written when first wanted. */
interface HotSlice {
  slice: IndicatorColumns;
  text: { [format in Format]?: RowText };
  writing: { [format in Format]?: Promise<RowText> };
}

/** Rows ready to send: JSON array elements or CSV records. */
export interface ObservationRows {
  rows: number;
  chunks: Buffer[];
}

export interface CacheCounts {
  hits: number;
  misses: number;
}

const hotBytes = ({ slice, text }: HotSlice): number =>
  slice.bytes + (text.json ? textBytes(text.json) : 0) + (text.csv ? textBytes(text.csv) : 0);

/** A slice with its rows as JSON takes about so many bytes for one of Parquet; an estimate, for deciding only. */
const MEMORY_PER_FILE_BYTE = 12;

export interface ObservationSource {
  /** Directory of the snapshot. */
  directory: string;
  queries: QueryRunner;
  hotBytesMax: number;
  /** Bytes of an indicator's Parquet file. */
  fileBytes: (indicator: string) => number;
  /** How many indicators there are. */
  indicators: number;
}

export class Observations {
  readonly #directory: string;
  readonly #queries: QueryRunner;
  readonly #hot: ByteCache<HotSlice>;
  readonly #popularity: Popularity;
  readonly #fileBytes: (indicator: string) => number;
  readonly counts: CacheCounts = { hits: 0, misses: 0 };

  constructor({ directory, queries, hotBytesMax, fileBytes, indicators }: ObservationSource) {
    this.#directory = directory;
    this.#queries = queries;
    this.#fileBytes = fileBytes;
    this.#popularity = new Popularity(indicators);
    this.#hot = new ByteCache(hotBytesMax, hotBytes);
  }

  get hotBytes(): number {
    return this.#hot.bytes;
  }

  /** The filtered rows of one indicator as text. @throws {QueryTimeout} */
  async rows(indicator: string, filter: RowFilter, format: Format): Promise<ObservationRows> {
    const found = this.#find(indicator, filter);
    const hot = found instanceof Promise ? await found : found;
    const ranges = hot.slice.select(filter);
    const known = hot.text[format];
    const text = known ?? (await this.#write(indicator, hot, format));
    const chunks = format === 'json' ? pickJsonRows(text, ranges) : pickRows(text, ranges);
    return { rows: countRows(ranges), chunks };
  }

  /** Typed columns that hold at least the rows of one year. @throws {QueryTimeout} */
  async year(indicator: string, year: number): Promise<IndicatorColumns> {
    const found = this.#find(indicator, { from: year, to: year });
    return (found instanceof Promise ? await found : found).slice;
  }

  clear(): void {
    this.#hot.clear();
  }

  #find(indicator: string, filter: RowFilter): HotSlice | Promise<HotSlice> {
    const asks = this.#popularity.count(indicator);
    const hot = this.#hot.peek(indicator);
    if (hot) {
      this.counts.hits += 1;
      return hot;
    }
    this.counts.misses += 1;
    const file = join(this.#directory, observationsFile(indicator));
    const filtered = filter.countries !== undefined || filter.from !== undefined || filter.to !== undefined;
    const keep = asks > 1 && this.#isWorthKeeping(indicator, asks);
    if (filtered && !keep) return readFilteredColumns(this.#queries, file, filter).then(asHot);
    return this.#hot.get(indicator, () => readAllColumns(this.#queries, file).then(asHot), keep);
  }

  /** There is room for it, or it is asked for more often than what would have to go. */
  #isWorthKeeping(indicator: string, asks: number): boolean {
    if (this.#hot.hasRoom(this.#fileBytes(indicator) * MEMORY_PER_FILE_BYTE)) return true;
    const oldest = this.#hot.oldest();
    return oldest !== undefined && asks > this.#popularity.of(oldest);
  }

  #write(indicator: string, hot: HotSlice, format: Format): Promise<RowText> {
    const running = hot.writing[format];
    if (running) return running;
    const writing = (format === 'json' ? writeJsonRows(hot.slice) : writeCsvRows(hot.slice, indicator)).then(
      (text) => {
        hot.text[format] = text;
        this.#hot.remeasure(indicator, hot);
        return text;
      },
    );
    hot.writing[format] = writing;
    return writing;
  }
}

const asHot = (slice: IndicatorColumns): HotSlice => ({ slice, text: {}, writing: {} });
