/**
 * Writes the excerpt of each indicator (see data/schema/snapshot.ts) from its published file. The excerpt of the base
 * edition is linked where that file did not change.
 */
import { createHash } from 'node:crypto';
import { link, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { listValue } from '@duckdb/node-api';
import { packJson } from '../../../data/runtime/durable-files.ts';
import { inParallel } from '../../../data/runtime/in-parallel.ts';
import { readSql } from '../../../data/runtime/sql-files.ts';
import {
  DRAWN_COUNTRIES,
  excerptFile,
  type FileList,
  observationsFile,
  type StoredExcerpt,
  WELL_KNOWN,
} from '../../../data/schema/snapshot.ts';
import type { DuckSession } from '../../runtime/duckdb.ts';
import { type BaseEdition, isReusable } from '../base-edition.ts';
import { type Batch, type BatchIndicator, batchIndicators, filesOf } from './materialise.ts';

const EXCERPTS = readSql(import.meta.url, 'sql/excerpts.sql');
/** Increment when the same observations give another excerpt. */
const EXCERPT_VERSION = 2;
/** Compression takes most of the time, on the thread pool. */
const PARALLEL = 4;

export interface ExcerptFiles {
  /** ISO3 codes by name. */
  countries: readonly string[];
  /** Holds the observation files under their names; receives the excerpts. */
  directory: string;
  kept: FileList;
  base: BaseEdition | null;
}

/** @returns the inputs of each excerpt, by its name. */
export async function writeExcerpts(
  duck: DuckSession,
  indicators: readonly BatchIndicator[],
  { countries, directory, kept, base }: ExcerptFiles,
): Promise<Map<string, string>> {
  const inputs = new Map<string, string>();
  const changed: BatchIndicator[] = [];
  await mkdir(dirname(join(directory, excerptFile(''))), { recursive: true });
  for (const indicator of indicators) {
    const name = excerptFile(indicator.id);
    const hash = hashOf(kept[observationsFile(indicator.id)]?.sha256);
    inputs.set(name, hash);
    if (base && (await isReusable(base, name, base.tables[name], hash)))
      await link(join(base.directory, name), join(directory, name));
    else changed.push(indicator);
  }
  for (const batch of batchIndicators(changed)) {
    const excerpts = await readExcerpts(duck, directory, batch, countries);
    await inParallel(batch, PARALLEL, async ({ id, number }) => {
      const packed = await packJson(JSON.stringify(excerpts.get(number) ?? EMPTY));
      await writeFile(join(directory, excerptFile(id)), packed);
    });
  }
  return inputs;
}

const hashOf = (observations: string | undefined): string =>
  createHash('sha256')
    .update(JSON.stringify([EXCERPT_VERSION, WELL_KNOWN, DRAWN_COUNTRIES, observations]))
    .digest('hex');

const EMPTY: StoredExcerpt = {
  ...{ year: null, countries: [], runs: [] },
  columns: { year: [], value: [], ci_lo: null, ci_hi: null, rank: [], rank_delta_1y: [], projected: [] },
  statuses: {},
};

/** As excerpts.sql selects it. */
interface ExcerptRow extends Pick<StoredExcerpt, 'year' | 'countries' | 'columns'> {
  number: number;
  /** The country of each row. */
  rows: string[];
  statuses: [iso3: string, status: string][];
}

/** By the number of the indicator; those without figures are absent. */
async function readExcerpts(
  duck: DuckSession,
  directory: string,
  batch: Batch,
  countries: readonly string[],
): Promise<Map<number, StoredExcerpt>> {
  const found = await duck.rows(EXCERPTS, {
    files: filesOf(directory, batch),
    drawn: DRAWN_COUNTRIES,
    well_known: listValue([...WELL_KNOWN]),
    countries: listValue([...countries]),
  });
  return new Map((found as unknown as ExcerptRow[]).map((row) => [row.number, excerptOf(row)]));
}

function excerptOf({ year, countries, rows, columns, statuses }: ExcerptRow): StoredExcerpt {
  const runs = [...Map.groupBy(rows, (iso3) => iso3)].map(([iso3, own]): [string, number] => [
    iso3,
    own.length,
  ]);
  const bounds = [columns.ci_lo, columns.ci_hi];
  const isBounded = bounds.flat().some((bound) => bound !== null);
  return {
    ...{ year, countries, runs },
    columns: isBounded ? columns : { ...columns, ci_lo: null, ci_hi: null },
    statuses: Object.fromEntries(statuses),
  };
}
