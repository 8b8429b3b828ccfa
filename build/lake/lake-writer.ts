/**
 * Writes the observations of one run to Parquet. Series are appended to a table that spills to disk; one statement at the
 * end sorts and writes them.
 */

import { z } from 'zod';
import { sqlOf } from '../../data/runtime/sql-files.ts';
import { LAKE_COLUMNS } from '../../data/schema/lake.ts';
import { iso3 } from '../../data/schema/records.ts';
import { DuckSession, type RowTable } from '../runtime/duckdb.ts';
import type { LakeRow } from './series-facts.ts';

const sql = sqlOf(import.meta.url);

const { indicator: _, ...figures } = LAKE_COLUMNS;

export class LakeWriter {
  readonly #duck: DuckSession;
  readonly #rows: RowTable;
  readonly #slugs: string[] = [];

  private constructor(duck: DuckSession, rows: RowTable) {
    this.#duck = duck;
    this.#rows = rows;
  }

  /** @param scratch spill directory, removed by `close`. */
  static async open(scratch: string, memoryMb: number): Promise<LakeWriter> {
    const duck = await DuckSession.open({ scratch, memoryMb });
    // Series are numbered: their slugs would take more memory than their figures.
    return new LakeWriter(duck, await duck.createTable('lake_rows', { series: 'INTEGER', ...figures }));
  }

  /** Appends a series. */
  add(slug: string, rows: readonly LakeRow[]): void {
    const series = this.#slugs.push(slug) - 1;
    for (const { iso3, year, value, ci_lo, ci_hi, projected, status } of rows)
      this.#rows.add([series, iso3, year, value, ci_lo, ci_hi, projected, status]);
  }

  /**
   * Writes the file, sorted by indicator, country and year. Returns the ISO3 codes with a row.
   * @param carried the last good run's file, and the slugs of failed series whose rows to take from it.
   */
  async finish(
    file: string,
    carried: { file: string; slugs: readonly string[] } | null,
  ): Promise<ReadonlySet<string>> {
    this.#rows.close();
    const first_carried = this.#slugs.length;
    this.#slugs.push(...(carried?.slugs ?? []));
    const numbered = await this.#duck.createTable('lake_series', { series: 'INTEGER', slug: 'VARCHAR' });
    for (const [number, word] of this.#slugs.entries()) numbered.add([number, word]);
    numbered.close();
    if (carried) await this.#duck.run(sql('carry-rows'), { previous: carried.file, first_carried });
    await this.#duck.run(sql('write-observations'), { file });
    const written = await this.#duck.select(z.object({ iso3 }), sql('written-countries'), { file });
    return new Set(written.map((row) => row.iso3));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#duck.close();
  }
}
