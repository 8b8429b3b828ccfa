/**
 * Writes what pages show first: the excerpt of each indicator (see data/schema/snapshot.ts) from its published file, and
 * pictures of the last decades of featured series, by country, so that a page with dozens of them reads one small file.
 * The excerpt of the base edition is linked where the published file did not change.
 */
import { hash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { listValue } from '@duckdb/node-api';
import { z } from 'zod';
import { packJson } from '../../../data/runtime/durable-files.ts';
import { inParallel } from '../../../data/runtime/in-parallel.ts';
import { sqlOf } from '../../../data/runtime/sql-files.ts';
import {
  DRAWN_COUNTRIES,
  excerptFile,
  type FileList,
  observationsFile,
  type Sparkline,
  type Sparklines,
  type StoredExcerpt,
  WELL_KNOWN,
} from '../../../data/schema/snapshot.ts';
import type { DuckSession } from '../../runtime/duckdb.ts';
import type { PlannedIndicator } from '../plan/plan-snapshot.ts';
import { type BaseEdition, linkUnchanged } from './file-writer.ts';
import { type Batch, type BatchIndicator, batchIndicators, filesOf } from './materialise.ts';

const sql = sqlOf(import.meta.url);

/** Increment when the same observations give another excerpt. */
const EXCERPT_VERSION = 3;
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
  const inputsOf = (id: string): string =>
    hash(
      'sha256',
      JSON.stringify([EXCERPT_VERSION, WELL_KNOWN, DRAWN_COUNTRIES, kept[observationsFile(id)]?.sha256]),
    );
  const inputs = new Map(indicators.map(({ id }) => [excerptFile(id), inputsOf(id)]));
  const changed = await linkUnchanged(base, directory, inputs);
  for (const batch of batchIndicators(indicators.filter(({ id }) => changed.has(excerptFile(id))))) {
    const excerpts = await readExcerpts(duck, directory, batch, countries);
    await inParallel(batch, PARALLEL, async ({ id, number }) => {
      const packed = await packJson(JSON.stringify(excerpts.get(number) ?? EMPTY));
      await writeFile(join(directory, excerptFile(id)), packed);
    });
  }
  return inputs;
}

const EMPTY: StoredExcerpt = {
  year: null,
  countries: [],
  runs: [],
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
  const found = await duck.rows(sql('excerpts'), {
    files: filesOf(directory, batch),
    drawn: DRAWN_COUNTRIES,
    well_known: listValue([...WELL_KNOWN]),
    countries: listValue([...countries]),
  });
  return new Map((found as unknown as ExcerptRow[]).map((row) => [row.number, parseExcerpt(row)]));
}

function parseExcerpt({ year, countries, rows, columns, statuses }: ExcerptRow): StoredExcerpt {
  const byCountry = Map.groupBy(rows, (iso3) => iso3);
  const runs = [...byCountry].map(([iso3, own]): [string, number] => [iso3, own.length]);
  const bounds = [columns.ci_lo, columns.ci_hi];
  const isBounded = bounds.flat().some((bound) => bound !== null);
  return {
    year,
    countries,
    runs,
    columns: isBounded ? columns : { ...columns, ci_lo: null, ci_hi: null },
    statuses: Object.fromEntries(statuses),
  };
}

const YEARS = 40;
/** The height of a history without a change. */
const MIDDLE = 50;

const row = z.object({
  iso3: z.string(),
  indicator: z.string(),
  years: z.array(z.int()),
  heights: z.array(z.int().nullable()),
});

/** @param startedAt Unix milliseconds of the build */
export async function readSparklines(
  duck: DuckSession,
  directory: string,
  indicators: readonly PlannedIndicator[],
  startedAt: number,
): Promise<Sparklines> {
  const featured = indicators.filter(({ record }) => record.featured);
  if (featured.length === 0) return {};
  const files = listValue(featured.map(({ id }) => join(directory, observationsFile(id))));
  const since = new Date(startedAt).getUTCFullYear() - YEARS;
  const rows = await duck.select(row, sql('sparklines'), { files, since });
  const byCountry: Record<string, Record<string, Sparkline>> = {};
  for (const { iso3, indicator, years, heights } of rows) {
    byCountry[iso3] ??= {};
    byCountry[iso3][indicator] = sparkline(years, heights);
  }
  return byCountry;
}

/** A height a year; gaps are null. */
function sparkline(years: readonly number[], heights: readonly (number | null)[]): Sparkline {
  const [from = 0] = years;
  const filled: (number | null)[] = new Array((years.at(-1) ?? from) - from + 1).fill(null);
  for (const [at, year] of years.entries()) filled[year - from] = heights[at] ?? MIDDLE;
  return { from, heights: filled };
}
