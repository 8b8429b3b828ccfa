/**
 * Writes the tables over all indicators (latest values, coverage) and returns summaries for the rest of the
 * build. Everything is read from the published observation files, so it cannot disagree with them.
 *
 * Country profiles of earlier editions are made of the latest values. They are in parts, so that a revision rewrites few
 * of them. A part begins at an id whose hash says so: an indicator that is added or vanishes changes no part but its own.
 */

import { hash } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { sqlOf } from '../../../data/runtime/sql-files.ts';
import { type IndicatorRecord, indicatorRecord } from '../../../data/schema/records.ts';
import { latestFile, type SeriesOpening, seriesOpening } from '../../../data/schema/snapshot.ts';
import type { DuckSession } from '../../runtime/duckdb.ts';
import type { PlannedIndicator } from '../plan/plan-snapshot.ts';
import { batchIndicators, filesOf } from './materialise.ts';

const sql = sqlOf(import.meta.url);

/** The table over all indicators and countries. */
export const COVERAGE_FILE = 'coverage.parquet';

export interface IndicatorCoverage {
  coverage: NonNullable<IndicatorRecord['coverage']>;
  rows: number;
}

/** The latest values of all indicators as columns, by indicator, then country. */
export interface LatestColumns {
  indicator: string[];
  iso3: string[];
  year: number[];
  value: (number | null)[];
  rank: (number | null)[];
  rankDelta: (number | null)[];
}

const year = z.int().nullable();
const coverageRow = z.object({
  id: z.string(),
  n_countries: z.int(),
  yr_min: year,
  yr_max: year,
  latest_year: year,
  n_rows: z.int(),
});
const countryCoverageRow = z.object({
  iso3: z.string(),
  n_observations: z.int(),
  n_indicators: z.int(),
  yr_min: year,
  yr_max: year,
});
const openingRow = seriesOpening.extend({ id: z.string() });
const topicRow = z.object({ topic: z.string(), n_countries: z.int() });

export type CountryCoverage = Omit<z.output<typeof countryCoverageRow>, 'iso3'>;

export interface SummaryTables {
  coverage: Map<string, IndicatorCoverage>;
  /** In plan order. */
  records: IndicatorRecord[];
  latest: LatestColumns;
  /** By indicator id; those without figures are absent. */
  openings: Map<string, SeriesOpening>;
  /** Countries with a value by topic. */
  topicCountries: Map<string, number>;
  /** By ISO3; countries without rows are absent. */
  countryCoverage: Map<string, CountryCoverage>;
}

/** Writes the tables and returns their summaries. Leaves the table `country_series`. */
export async function writeSummaryTables(
  duck: DuckSession,
  directory: string,
  indicators: readonly PlannedIndicator[],
): Promise<SummaryTables> {
  await loadCountrySeries(duck, directory, indicators);
  const coverage = await readCoverage(duck);
  const records = indicators.map(({ id, record }) =>
    indicatorRecord.parse({ ...record, coverage: coverage.get(id)?.coverage ?? null }),
  );
  await writeLatest(duck, directory, indicators);
  await duck.run(sql('write-coverage'), { file: join(directory, COVERAGE_FILE) });
  return {
    coverage,
    records,
    latest: await readLatest(duck, indicators),
    openings: await readOpenings(duck, directory, indicators),
    topicCountries: new Map(
      (await duck.select(topicRow, sql('topic-countries'))).map(({ topic, n_countries }) => [
        topic,
        n_countries,
      ]),
    ),
    countryCoverage: new Map(
      (await duck.select(countryCoverageRow, sql('country-coverage'))).map(({ iso3, ...own }) => [iso3, own]),
    ),
  };
}

/** Loads the published files into the table `country_series`, batch by batch. */
export async function loadCountrySeries(
  duck: DuckSession,
  directory: string,
  indicators: readonly PlannedIndicator[],
): Promise<void> {
  for (const batch of batchIndicators(indicators))
    await duck.run(sql('country-series'), { files: filesOf(directory, batch) });
}

/** Fills the table `opening_years`, and reads it. */
async function readOpenings(
  duck: DuckSession,
  directory: string,
  indicators: readonly PlannedIndicator[],
): Promise<Map<string, SeriesOpening>> {
  for (const batch of batchIndicators(indicators))
    await duck.run(sql('opening-years'), { files: filesOf(directory, batch) });
  const rows = await duck.select(openingRow, 'FROM opening_years JOIN planned USING (number)');
  return new Map(rows.map(({ id, ...opening }) => [id, opening]));
}

/** Coverage by indicator id; indicators without rows are absent. */
export async function readCoverage(duck: DuckSession): Promise<Map<string, IndicatorCoverage>> {
  const rows = await duck.select(coverageRow, sql('coverage'));
  return new Map(rows.map(({ id, n_rows, ...coverage }) => [id, { rows: n_rows, coverage }]));
}

/** Shares one string per id and country code among millions of rows. */
async function readLatest(
  duck: DuckSession,
  indicators: readonly PlannedIndicator[],
): Promise<LatestColumns> {
  const ids = new Map(indicators.map(({ number, id }) => [number, id]));
  const codes = new Map<string, string>();
  const latest: LatestColumns = { indicator: [], iso3: [], year: [], value: [], rank: [], rankDelta: [] };
  await duck.eachChunk(sql('latest'), (columns, rows) => {
    const [number = [], iso3 = [], year = [], value = [], rank = [], rankDelta = []] = columns;
    for (let row = 0; row < rows; row += 1) {
      const code = String(iso3[row]);
      if (!codes.has(code)) codes.set(code, code);
      latest.indicator.push(ids.get(Number(number[row])) ?? '');
      latest.iso3.push(codes.get(code) ?? code);
      latest.year.push(Number(year[row]));
      latest.value.push(value[row] as number | null);
      latest.rank.push(rank[row] as number | null);
      latest.rankDelta.push(rankDelta[row] as number | null);
    }
  });
  return latest;
}

/** The mean. */
const INDICATORS_PER_PART = 8;

type Indicator = Pick<PlannedIndicator, 'id' | 'number' | 'providerId'>;

/** The indicators of each file, neighbours by id. */
export function latestParts<One extends Indicator>(indicators: readonly One[]): Map<string, One[]> {
  const files = new Map<string, One[]>();
  const byId = indicators.toSorted((a, b) => a.number - b.number);
  for (const [provider, own] of Map.groupBy(byId, ({ providerId }) => providerId)) {
    let part = 0;
    for (const [at, indicator] of own.entries()) {
      if (at > 0 && beginsPart(indicator.id)) part += 1;
      const name = latestFile(provider, part);
      files.set(name, [...(files.get(name) ?? []), indicator]);
    }
  }
  return files;
}

const beginsPart = (id: string): boolean =>
  Number.parseInt(hash('sha256', id).slice(0, 8), 16) % INDICATORS_PER_PART === 0;

/** Needs the table `country_series`. */
async function writeLatest(
  duck: DuckSession,
  directory: string,
  indicators: readonly Indicator[],
): Promise<void> {
  await mkdir(join(directory, 'latest'), { recursive: true });
  for (const [name, part] of latestParts(indicators)) {
    const [first, last] = [part[0]?.number ?? 0, part.at(-1)?.number ?? 0];
    await duck.run(sql('write-latest'), { first, last, file: join(directory, name) });
  }
}
