/**
 * Writes the observations of one run to Parquet as they come: series go into a table of plain numbers that spills to
 * disk when it grows, and one statement at the end sorts it, puts the words back and writes the file.
 */
import { DOUBLE, INTEGER, SMALLINT, VARCHAR } from '@duckdb/node-api';
import type { ColumnAppender } from '../runtime/column-appender.ts';
import { DuckSession, readSql } from '../runtime/duckdb.ts';
import type { SeriesColumns } from './series-facts.ts';

const RUN_TABLES = readSql(import.meta.url, 'sql/run-tables.sql');
const WRITE_OBSERVATIONS = readSql(import.meta.url, 'sql/write-observations.sql');
const WRITE_OBSERVATIONS_CARRYING = readSql(import.meta.url, 'sql/write-observations-carrying.sql');

const TYPES = [INTEGER, SMALLINT, INTEGER, DOUBLE, DOUBLE, DOUBLE, SMALLINT, INTEGER] as const;

export class LakeWriter {
  readonly #duck: DuckSession;
  readonly #appender: ColumnAppender;
  readonly #slugs: string[] = [];
  #numbers = new Int32Array(0);

  private constructor(duck: DuckSession, appender: ColumnAppender) {
    this.#duck = duck;
    this.#appender = appender;
  }

  /** @param scratch a directory of its own, removed at the end. */
  static async open(scratch: string, memoryMb: number): Promise<LakeWriter> {
    const duck = await DuckSession.open({ scratch, memoryMb });
    await duck.run(RUN_TABLES);
    return new LakeWriter(duck, await duck.appender('lake_rows', TYPES));
  }

  /** Appends one finished series. */
  add(slug: string, columns: SeriesColumns): void {
    const number = this.#slugs.push(slug) - 1;
    if (this.#numbers.length < columns.rows) this.#numbers = new Int32Array(columns.country.length);
    this.#numbers.fill(number, 0, columns.rows);
    const { country, year, value, ciLo, ciHi, projected, status } = columns;
    this.#appender.append([this.#numbers, country, year, value, ciLo, ciHi, projected, status], columns.rows);
  }

  /**
   * Writes the file, sorted by indicator, country and year.
   * @param carried rows of the last good run to keep for series that failed in this one.
   */
  async finish(
    file: string,
    countries: readonly string[],
    statuses: readonly (string | null)[],
    carried: { file: string; slugs: readonly string[] } | null,
  ): Promise<void> {
    this.#appender.close();
    await this.#words('slug', this.#slugs);
    await this.#words('country', countries);
    await this.#words('status', statuses);
    if (!carried) return this.#duck.run(WRITE_OBSERVATIONS, { file });
    await this.#words('carried', carried.slugs);
    await this.#duck.run(WRITE_OBSERVATIONS_CARRYING, { file, previous: carried.file });
  }

  /** Fills the dictionary: what the numbers of a column stand for. */
  async #words(kind: string, words: readonly (string | null)[]): Promise<void> {
    const appender = await this.#duck.appender('lake_words', [VARCHAR, INTEGER, VARCHAR]);
    appender.append([words.map(() => kind), words.map((_, index) => index), words], words.length);
    appender.close();
  }

  async close(): Promise<void> {
    await this.#duck.close();
  }
}
