/** Pictures of the last decades of featured series, by country, so that a page with dozens of them reads one small file. */
import { join } from 'node:path';
import { listValue } from '@duckdb/node-api';
import { z } from 'zod';
import { readSql } from '../../../data/runtime/sql-files.ts';
import { observationsFile, type Sparkline, type Sparklines } from '../../../data/schema/snapshot.ts';
import type { DuckSession } from '../../runtime/duckdb.ts';
import type { PlannedIndicator } from '../plan/plan-snapshot.ts';

const SPARKLINES = readSql(import.meta.url, 'sql/sparklines.sql');
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
  const rows = z.array(row).parse(await duck.rows(SPARKLINES, { files, since }));
  const byCountry: Record<string, Record<string, Sparkline>> = {};
  for (const { iso3, indicator, years, heights } of rows) {
    const country = byCountry[iso3] ?? {};
    country[indicator] = sparkline(years, heights);
    byCountry[iso3] = country;
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
