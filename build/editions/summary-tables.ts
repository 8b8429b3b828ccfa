/**
 * Writes the tables over all indicators (latest values, coverage, catalogue) and returns summaries for the rest of the
 * build. Everything is read from the published observation files, so it cannot disagree with them.
 */
import { join } from 'node:path';
import { BOOLEAN, INTEGER, VARCHAR } from '@duckdb/node-api';
import { type IndicatorRecord, indicatorRecord } from '../../data/schema/records.ts';
import { type DuckSession, readSql } from '../runtime/duckdb.ts';
import { batchIndicators, filesOf } from './materialise.ts';
import type { PlannedIndicator } from './plan-snapshot.ts';

const COUNTRY_COVERAGE = readSql(import.meta.url, 'sql/country-coverage.sql');
const COUNTRY_SERIES = readSql(import.meta.url, 'sql/country-series.sql');
const COVERAGE = readSql(import.meta.url, 'sql/coverage.sql');
const DROP_COUNTRY_SERIES = readSql(import.meta.url, 'sql/drop-country-series.sql');
const LATEST = readSql(import.meta.url, 'sql/latest.sql');
const TOPIC_COUNTRIES = readSql(import.meta.url, 'sql/topic-countries.sql');
const WRITE_CATALOGUE = readSql(import.meta.url, 'sql/write-catalogue.sql');
const WRITE_COVERAGE = readSql(import.meta.url, 'sql/write-coverage.sql');
const WRITE_LATEST = readSql(import.meta.url, 'sql/write-latest.sql');

export const TABLE_FILES = {
  latest: 'latest.parquet',
  coverage: 'coverage.parquet',
  catalogue: 'catalogue.parquet',
} as const;

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

export interface CountryCoverage {
  n_observations: number;
  n_indicators: number;
  yr_min: number | null;
  yr_max: number | null;
}

const integerOrNull = (value: unknown): number | null => (value === null ? null : Number(value));

/** Ids by indicator number. */
const idsByNumber = (indicators: readonly PlannedIndicator[]): string[] => {
  const ids: string[] = [];
  for (const { number, id } of indicators) ids[number] = id;
  return ids;
};

export interface SummaryTables {
  coverage: Map<string, IndicatorCoverage>;
  /** In plan order. */
  records: IndicatorRecord[];
  latest: LatestColumns;
  /** Countries with a value by topic. */
  topicCountries: Map<string, number>;
  countryCoverage: Map<string, CountryCoverage>;
}

/** Writes the tables and returns their summaries. */
export async function writeSummaryTables(
  duck: DuckSession,
  directory: string,
  indicators: readonly PlannedIndicator[],
): Promise<SummaryTables> {
  await loadCountrySeries(duck, directory, indicators);
  const coverage = await readCoverage(duck, indicators);
  const records = indicators.map(({ id, record }) =>
    indicatorRecord.parse({ ...record, coverage: coverage.get(id)?.coverage ?? null }),
  );
  await fillCatalogue(duck, records);
  await writeTables(duck, directory);
  const summaries = {
    coverage,
    records,
    latest: await readLatest(duck, indicators),
    topicCountries: await readTopicCountries(duck),
    countryCoverage: await readCountryCoverage(duck),
  };
  await duck.run(DROP_COUNTRY_SERIES);
  return summaries;
}

/** Loads the published files into the table `country_series`, batch by batch. */
export async function loadCountrySeries(
  duck: DuckSession,
  directory: string,
  indicators: readonly PlannedIndicator[],
): Promise<void> {
  for (const batch of batchIndicators(indicators))
    await duck.run(COUNTRY_SERIES, { files: filesOf(directory, batch) });
}

/** Coverage by indicator id; indicators without rows are absent. */
export async function readCoverage(
  duck: DuckSession,
  indicators: readonly PlannedIndicator[],
): Promise<Map<string, IndicatorCoverage>> {
  const ids = idsByNumber(indicators);
  const rows = await duck.rows(COVERAGE);
  return new Map(
    rows.map((row) => [
      ids[Number(row.number)] ?? '',
      {
        rows: Number(row.n_rows),
        coverage: {
          n_countries: Number(row.n_countries),
          yr_min: integerOrNull(row.yr_min),
          yr_max: integerOrNull(row.yr_max),
          latest_year: integerOrNull(row.latest_year),
        },
      },
    ]),
  );
}

/** Coverage by ISO3; countries without rows are absent. */
async function readCountryCoverage(duck: DuckSession): Promise<Map<string, CountryCoverage>> {
  const rows = await duck.rows(COUNTRY_COVERAGE);
  return new Map(
    rows.map((row) => [
      String(row.iso3),
      {
        n_observations: Number(row.n_observations),
        n_indicators: Number(row.n_indicators),
        yr_min: integerOrNull(row.yr_min),
        yr_max: integerOrNull(row.yr_max),
      },
    ]),
  );
}

/** Needs the catalogue table. */
async function readTopicCountries(duck: DuckSession): Promise<Map<string, number>> {
  const rows = await duck.rows(TOPIC_COUNTRIES);
  return new Map(rows.map((row) => [String(row.topic), Number(row.n_countries)]));
}

/** Shares one string per id and country code among millions of rows. */
async function readLatest(
  duck: DuckSession,
  indicators: readonly PlannedIndicator[],
): Promise<LatestColumns> {
  const ids = idsByNumber(indicators);
  const codes = new Map<string, string>();
  const latest: LatestColumns = { indicator: [], iso3: [], year: [], value: [], rank: [], rankDelta: [] };
  await duck.eachChunk(LATEST, (columns, rows) => {
    const [number = [], iso3 = [], year = [], value = [], rank = [], rankDelta = []] = columns;
    for (let row = 0; row < rows; row += 1) {
      const code = String(iso3[row]);
      if (!codes.has(code)) codes.set(code, code);
      latest.indicator.push(ids[Number(number[row])] ?? '');
      latest.iso3.push(codes.get(code) ?? code);
      latest.year.push(Number(year[row]));
      latest.value.push(value[row] as number | null);
      latest.rank.push(rank[row] as number | null);
      latest.rankDelta.push(rankDelta[row] as number | null);
    }
  });
  return latest;
}

async function fillCatalogue(duck: DuckSession, records: readonly IndicatorRecord[]): Promise<void> {
  const text = (pick: (record: IndicatorRecord) => string | null) => ({
    type: VARCHAR,
    values: records.map(pick),
  });
  const flag = (pick: (record: IndicatorRecord) => boolean | null) => ({
    type: BOOLEAN,
    values: records.map(pick),
  });
  const whole = (pick: (record: IndicatorRecord) => number | null) => ({
    type: INTEGER,
    values: records.map(pick),
  });
  const columns = [
    text((one) => one.id),
    text((one) => one.name),
    text((one) => one.description),
    text((one) => one.unit),
    text((one) => one.topic),
    flag((one) => one.higher_is_better),
    flag((one) => one.preferred),
    flag((one) => one.featured),
    text((one) => one.access_tier),
    flag((one) => one.no_rank),
    text((one) => one.licence),
    text((one) => one.licence_url),
    text((one) => one.attribution),
    text((one) => one.provider.id),
    text((one) => one.provider.name),
    whole((one) => one.coverage?.n_countries ?? null),
    whole((one) => one.coverage?.yr_min ?? null),
    whole((one) => one.coverage?.yr_max ?? null),
    whole((one) => one.coverage?.latest_year ?? null),
  ];
  await duck.fill('catalogue', columns);
}

async function writeTables(duck: DuckSession, directory: string): Promise<void> {
  await duck.run(WRITE_LATEST, { file: join(directory, TABLE_FILES.latest) });
  await duck.run(WRITE_COVERAGE, { file: join(directory, TABLE_FILES.coverage) });
  await duck.run(WRITE_CATALOGUE, { file: join(directory, TABLE_FILES.catalogue) });
}
