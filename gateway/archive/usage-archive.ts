/** What an account used on days that have been archived. */
import { basename } from 'node:path';
import type { UsageCounts } from '../metering/metering.ts';
import { type ArchiveEngine, readSql } from './engine.ts';
import { listUsage } from './parts.ts';
import { wholeOf } from './rows.ts';

const DAYS = readSql(import.meta.url, 'sql/usage-days.sql');

export interface RouteUsage extends UsageCounts {
  /** `2026-11-21` */
  date: string;
  route: string;
}

export class UsageArchive {
  readonly #directory: string;
  readonly #engine: ArchiveEngine;

  constructor(directory: string, engine: ArchiveEngine) {
    this.#directory = directory;
    this.#engine = engine;
  }

  /**
   * Archived days of one account before a date, oldest first, by route.
   * @throws what DuckDB says when a day cannot be read: nobody is told of less than there is.
   */
  async before(account: string, date: string): Promise<RouteUsage[]> {
    const files = (await listUsage(this.#directory)).filter((day) => day.date < date).map(({ file }) => file);
    if (files.length === 0) return [];
    const rows = await this.#engine.rows(DAYS, { files, account });
    return rows.map((row) => ({
      date: basename(String(row.file), '.parquet'),
      route: String(row.route),
      requests: wholeOf(row, 'requests'),
      errors: wholeOf(row, 'errors'),
      rows: wholeOf(row, 'rows'),
      credits: wholeOf(row, 'credits'),
    }));
  }
}
