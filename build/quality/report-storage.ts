/**
 * The reports of all nights: `<LAKE_DIR>/quality/<night>.parquet`, a row a finding. A night is a day (UTC); of several
 * builds on one day the last one counts. They are small and kept for ever.
 */
import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { draftReplacement, type Replacement } from '../../data/runtime/durable-files.ts';
import { readSql } from '../../data/runtime/sql-files.ts';
import { QUALITY_REPORTS } from '../../data/schema/lake.ts';
import { type QualityFinding, qualityFindings } from '../../data/schema/quality.ts';
import type { DuckSession } from '../runtime/duckdb.ts';

const READ_FINDINGS = readSql(import.meta.url, 'sql/read-findings.sql');
const READ_INPUTS = readSql(import.meta.url, 'sql/read-inputs.sql');
const WRITE_FINDINGS = readSql(import.meta.url, 'sql/write-findings.sql');

const REPORT = /^(\d{4}-\d{2}-\d{2})\.parquet$/;

/** `2026-11-20` */
export const nightOf = (instant: number): string => new Date(instant).toISOString().slice(0, 10);

export class QualityReports {
  readonly directory: string;

  constructor(lakeDir: string) {
    this.directory = join(lakeDir, QUALITY_REPORTS);
  }

  /** Nights with a report, oldest first. */
  async nights(): Promise<string[]> {
    const names = await readdir(this.directory).catch(() => []);
    return names.flatMap((name) => REPORT.exec(name)?.[1] ?? []).sort();
  }

  /** The findings of a night. @throws when its report cannot be read. */
  async read(duck: DuckSession, night: string): Promise<QualityFinding[]> {
    return qualityFindings.parse(await duck.rows(READ_FINDINGS, { file: this.#file(night) }));
  }

  /** What the findings of a night depended on; null when it is not known. */
  async inputs(duck: DuckSession, night: string): Promise<string | null> {
    const [row] = await duck.rows(READ_INPUTS, { file: this.#file(night) });
    return typeof row?.inputs === 'string' && row.inputs !== '' ? row.inputs : null;
  }

  /** Writes the report of a night beside the others; it becomes visible by `commit`. */
  async draft(
    duck: DuckSession,
    {
      night,
      findings,
      inputs,
    }: { night: string; findings: readonly QualityFinding[]; inputs: string | null },
  ): Promise<Replacement> {
    await mkdir(this.directory, { recursive: true });
    await this.#removeDrafts();
    const scratch = join(this.directory, `.scratch-${night}.tmp`);
    try {
      await duck.run(WRITE_FINDINGS, {
        findings: JSON.stringify(findings),
        inputs: inputs ?? '',
        file: scratch,
      });
      return await draftReplacement(this.#file(night), await readFile(scratch));
    } finally {
      await rm(scratch, { force: true });
    }
  }

  /** What a crash left; one build runs at a time. */
  async #removeDrafts(): Promise<void> {
    const drafts = (await readdir(this.directory)).filter((name) => name.endsWith('.tmp'));
    for (const name of drafts) await rm(join(this.directory, name), { force: true });
  }

  #file(night: string): string {
    return join(this.directory, `${night}.parquet`);
  }
}
