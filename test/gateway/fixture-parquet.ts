/** The Parquet files of a fixture, written by DuckDB. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import type { CountryRecord, IndicatorRecord } from '../../data/schema/records.ts';
import { bundleFile, latestFile, OBSERVATION_COLUMNS, observationsFile } from '../../data/schema/snapshot.ts';
import type { FixtureIndicator } from './fixture-data.ts';
import { latestItem, type RankedRow } from './fixture-ranks.ts';

export interface Series {
  indicator: FixtureIndicator;
  record: IndicatorRecord;
  rows: RankedRow[];
}

interface Tables {
  directory: string;
  all: Series[];
  countries: CountryRecord[];
}

const LATEST_COLUMNS =
  'indicator VARCHAR, iso3 VARCHAR, year INTEGER, value DOUBLE, rank INTEGER, rank_delta_1y INTEGER';

/** Writes the observations of each indicator and the latest values of each provider. */
export async function writeParquet({ directory, all, countries }: Tables): Promise<void> {
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  const columns = Object.entries(OBSERVATION_COLUMNS).map(([name, type]) => `${name} ${type}`);
  await connection.run(`CREATE TABLE rows (${columns.join(', ')})`);
  await connection.run(`CREATE TABLE latest (${LATEST_COLUMNS})`);
  await mkdir(join(directory, 'observations'), { recursive: true });
  await mkdir(join(directory, 'latest'), { recursive: true });
  for (const { record, rows } of all) {
    await appendRows(connection, record.id, rows);
    const path = join(directory, observationsFile(record.id));
    await connection.run(`COPY (FROM rows ORDER BY iso3, year) TO '${path}' (FORMAT parquet, CODEC snappy)`);
    await connection.run('DELETE FROM rows');
  }
  await mkdir(join(directory, 'bundles'));
  for (const [provider, own] of byProvider(all)) {
    await writeBundle(connection, directory, provider, own);
    await appendLatest(connection, own, countries);
    const path = join(directory, latestFile(provider, 0));
    await connection.run(`COPY (FROM latest) TO '${path}' (FORMAT parquet, CODEC snappy)`);
    await connection.run('DELETE FROM latest');
  }
  connection.closeSync();
  instance.closeSync();
}

async function writeBundle(
  connection: DuckDBConnection,
  directory: string,
  provider: string,
  own: Series[],
): Promise<void> {
  const open = own.filter(({ record }) => record.access_tier === 'open').map(({ record }) => record.id);
  if (open.length === 0) return;
  const files = open.toSorted().map((id) => `'${join(directory, observationsFile(id))}'`);
  const path = join(directory, bundleFile(provider));
  await connection.run(`COPY (FROM read_parquet([${files}])) TO '${path}' (FORMAT parquet, CODEC snappy)`);
}

async function appendLatest(
  connection: DuckDBConnection,
  own: Series[],
  countries: CountryRecord[],
): Promise<void> {
  const appender = await connection.createAppender('latest');
  for (const { record, rows } of own) {
    for (const { iso3 } of countries) {
      const item = latestItem(record, rows, iso3);
      if (item === null) continue;
      appender.appendVarchar(record.id);
      appender.appendVarchar(iso3);
      appender.appendInteger(item.year);
      appendNumber(
        item.value,
        (value) => appender.appendDouble(value),
        () => appender.appendNull(),
      );
      appendNumber(
        item.rank,
        (value) => appender.appendInteger(value),
        () => appender.appendNull(),
      );
      appendNumber(
        item.rank_delta_1y,
        (value) => appender.appendInteger(value),
        () => appender.appendNull(),
      );
      appender.endRow();
    }
  }
  appender.closeSync();
}

export const byProvider = (all: Series[]) => Map.groupBy(all, ({ record }) => record.provider.id);

const FILLED_COLUMNS = [
  'indicator',
  'iso3',
  'year',
  'value',
  'ci_lo',
  'ci_hi',
  'rank',
  'rank_delta_1y',
  'projected',
  'status',
];
/** Null in all rows. */
const EMPTY_COLUMNS = Object.keys(OBSERVATION_COLUMNS).filter((name) => !FILLED_COLUMNS.includes(name));

function appendNumber(
  value: number | null | undefined,
  append: (value: number) => void,
  appendNull: () => void,
): void {
  if (value === null || value === undefined) appendNull();
  else append(value);
}

async function appendRows(connection: DuckDBConnection, indicator: string, rows: RankedRow[]): Promise<void> {
  const appender = await connection.createAppender('rows');
  const number = (value: number | null | undefined, append: (value: number) => void): void =>
    appendNumber(value, append, () => appender.appendNull());
  for (const row of rows) {
    appender.appendVarchar(indicator);
    appender.appendVarchar(row.iso3);
    appender.appendInteger(row.year);
    number(row.value, (value) => appender.appendDouble(value));
    number(row.ci_lo, (value) => appender.appendDouble(value));
    number(row.ci_hi, (value) => appender.appendDouble(value));
    number(row.rank, (value) => appender.appendInteger(value));
    number(row.rank_delta_1y, (value) => appender.appendInteger(value));
    appender.appendBoolean(row.projected ?? false);
    if (row.status === undefined) appender.appendNull();
    else appender.appendVarchar(row.status);
    for (const _ of EMPTY_COLUMNS) appender.appendNull();
    appender.endRow();
  }
  appender.closeSync();
}
