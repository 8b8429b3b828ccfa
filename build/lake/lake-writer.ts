/**
 * Writes the observations of one run to Parquet. Series are appended to a table of numbers that spills to disk; one
 * statement at the end decodes, sorts and writes them.
 */

import { DOUBLE, INTEGER, SMALLINT, VARCHAR } from '@duckdb/node-api';
import { z } from 'zod';
import { sqlOf } from '../../data/runtime/sql-files.ts';
import { iso3 } from '../../data/schema/records.ts';
import { type ColumnAppender, DuckSession } from '../runtime/duckdb.ts';
import type { SeriesColumns } from './series-facts.ts';

const sql = sqlOf(import.meta.url);

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

  /** @param scratch spill directory, removed by `close`. */
  static async open(scratch: string, memoryMb: number): Promise<LakeWriter> {
    const duck = await DuckSession.open({ scratch, memoryMb });
    await duck.run(sql('run-tables'));
    return new LakeWriter(duck, await duck.appender('lake_rows', TYPES));
  }

  /** Appends a series. */
  add(slug: string, columns: SeriesColumns): void {
    const number = this.#slugs.push(slug) - 1;
    if (this.#numbers.length < columns.rows) this.#numbers = new Int32Array(columns.country.length);
    this.#numbers.fill(number, 0, columns.rows);
    const { country, year, value, ciLo, ciHi, projected, status } = columns;
    this.#appender.append([this.#numbers, country, year, value, ciLo, ciHi, projected, status], columns.rows);
  }

  /**
   * Writes the file, sorted by indicator, country and year. Returns the ISO3 codes with a row.
   * @param carried the last good run's file, and the slugs of failed series whose rows to take from it.
   */
  async finish(
    file: string,
    countries: readonly string[],
    statuses: readonly (string | null)[],
    carried: { file: string; slugs: readonly string[] } | null,
  ): Promise<ReadonlySet<string>> {
    this.#appender.close();
    await this.#writeDictionary('slug', this.#slugs);
    await this.#writeDictionary('country', countries);
    await this.#writeDictionary('status', statuses);
    if (carried) {
      await this.#writeDictionary('carried', carried.slugs);
      await this.#duck.run(sql('write-observations-carrying'), { file, previous: carried.file });
    } else await this.#duck.run(sql('write-observations'), { file });
    const written = await this.#duck.select(z.object({ iso3 }), sql('written-countries'), { file });
    return new Set(written.map((row) => row.iso3));
  }

  /** Fills the dictionary of a column. */
  async #writeDictionary(kind: string, words: readonly (string | null)[]): Promise<void> {
    const rows = words.map((word, index) => [kind, index, word]);
    await this.#duck.fill('lake_words', [VARCHAR, INTEGER, VARCHAR], rows);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#duck.close();
  }
}
