/**
 * The figures of a snapshot: one Parquet file per indicator, and the tables over all of them.
 *
 * An indicator whose inputs are those of the snapshot being served is hard-linked from it, so that a rebuild of the
 * catalogue takes seconds. The tables are read off the published files themselves: they cannot disagree with them.
 */
import { link, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { BOOLEAN, INTEGER, listValue, VARCHAR } from '@duckdb/node-api';
import type { IndicatorRecord } from '../../data/schema/records.ts';
import { observationsFile } from '../../data/schema/snapshot.ts';
import type { Duck, SqlParameters } from '../duckdb.ts';
import { hashFile } from './file-writer.ts';
import type { PlannedIndicator } from './plan.ts';
import type { Published } from './publish.ts';

export const TABLE_FILES = {
  latest: 'latest.parquet',
  coverage: 'coverage.parquet',
  catalogue: 'catalogue.parquet',
} as const;

/** Coverage of one indicator, and how many rows it has. */
export interface IndicatorCoverage {
  coverage: NonNullable<IndicatorRecord['coverage']>;
  rows: number;
}

/** The latest figures of all indicators as columns: row by row by indicator, then country. */
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

/** Parameters of the statements that read one indicator from the lake. */
export function indicatorParameters(indicator: PlannedIndicator): SqlParameters {
  return {
    lake: indicator.lake,
    slug: indicator.slug,
    projected_from: indicator.projectedFrom,
    ascending: indicator.record.higher_is_better === false,
    no_rank: indicator.record.no_rank,
  };
}

/** Makes the table of served countries that every statement of a build reads. */
export async function prepareTables(duck: Duck, enabled: readonly string[]): Promise<void> {
  await duck.run('build-tables');
  const appender = await duck.appender('enabled', [VARCHAR]);
  appender.append([enabled], enabled.length);
  appender.close();
}

/**
 * Writes (or links) the observation file of every indicator.
 * @returns the ids that were linked.
 */
export async function writeObservations(
  duck: Duck,
  directory: string,
  indicators: readonly PlannedIndicator[],
  previous: Published | null,
  onFile: (done: number) => void,
): Promise<Set<string>> {
  await mkdir(join(directory, 'observations'), { recursive: true });
  const linked = new Set<string>();
  for (const [index, indicator] of indicators.entries()) {
    const file = observationsFile(indicator.id);
    if (previous && (await isReusable(previous, file, indicator.inputs))) {
      await link(join(previous.directory, file), join(directory, file));
      linked.add(indicator.id);
    } else {
      await duck.run('observations', { ...indicatorParameters(indicator), file: join(directory, file) });
    }
    onFile(index + 1);
  }
  return linked;
}

/** Made from the same inputs, and still what its manifest says: a damaged file is not handed on. */
async function isReusable(previous: Published, file: string, inputs: string): Promise<boolean> {
  const known = previous.manifest.files[file];
  if (known?.inputs !== inputs) return false;
  const actual = await hashFile(join(previous.directory, file)).catch(() => null);
  return actual?.sha256 === known.sha256;
}

/** Reads the published files into the table `held`. */
export async function readHeld(
  duck: Duck,
  directory: string,
  indicators: readonly PlannedIndicator[],
): Promise<void> {
  const files = indicators.map(({ id }) => join(directory, observationsFile(id)));
  await duck.run('held', { files: listValue(files) });
}

/** Coverage by indicator; one without any row has none. */
export async function readCoverage(duck: Duck): Promise<Map<string, IndicatorCoverage>> {
  const rows = await duck.rows('coverage');
  return new Map(
    rows.map((row) => [
      String(row.indicator),
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

/** Coverage by country; one without any row has none. */
export async function readCountryCoverage(duck: Duck): Promise<Map<string, CountryCoverage>> {
  const rows = await duck.rows('country-coverage');
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

/** Countries with a value by topic. Needs the catalogue table. */
export async function readTopicCountries(duck: Duck): Promise<Map<string, number>> {
  const rows = await duck.rows('topic-countries');
  return new Map(rows.map((row) => [String(row.topic), Number(row.n_countries)]));
}

export async function readLatest(duck: Duck): Promise<LatestColumns> {
  const columns = await duck.columns('latest');
  return {
    indicator: columns.indicator as string[],
    iso3: columns.iso3 as string[],
    year: columns.year as number[],
    value: columns.value as (number | null)[],
    rank: columns.rank as (number | null)[],
    rankDelta: columns.rank_delta_1y as (number | null)[],
  };
}

/** Fills the catalogue table from the public records. */
export async function fillCatalogue(duck: Duck, records: readonly IndicatorRecord[]): Promise<void> {
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
  const appender = await duck.appender(
    'catalogue',
    columns.map((column) => column.type),
  );
  appender.append(
    columns.map((column) => column.values),
    records.length,
  );
  appender.close();
}

/** Writes the tables over all indicators. */
export async function writeTables(duck: Duck, directory: string): Promise<void> {
  await duck.run('write-latest', { file: join(directory, TABLE_FILES.latest) });
  await duck.run('write-coverage', { file: join(directory, TABLE_FILES.coverage) });
  await duck.run('write-catalogue', { file: join(directory, TABLE_FILES.catalogue) });
}
