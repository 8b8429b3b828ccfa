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

/** Types of the columns that are written. */
type Columns = Readonly<Record<string, 'VARCHAR' | 'INTEGER' | 'DOUBLE' | 'BOOLEAN'>>;
const LATEST_COLUMNS: Columns = {
  indicator: 'VARCHAR',
  iso3: 'VARCHAR',
  year: 'INTEGER',
  value: 'DOUBLE',
  rank: 'INTEGER',
  rank_delta_1y: 'INTEGER',
};

/** Writes the observations of each indicator and the latest values of each provider. */
export async function writeParquet({ directory, all, countries }: Tables): Promise<void> {
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  for (const [table, columns] of Object.entries({ rows: OBSERVATION_COLUMNS, latest: LATEST_COLUMNS })) {
    const types = Object.entries(columns).map(([name, type]) => `${name} ${type}`);
    await connection.run(`CREATE TABLE ${table} (${types.join(', ')})`);
  }
  await mkdir(join(directory, 'observations'), { recursive: true });
  await mkdir(join(directory, 'latest'), { recursive: true });
  for (const { record, rows } of all) {
    const observations = rows.map((row) => ({ projected: false, ...row, indicator: record.id }));
    await append(connection, 'rows', OBSERVATION_COLUMNS, observations);
    const path = join(directory, observationsFile(record.id));
    await connection.run(`COPY (FROM rows ORDER BY iso3, year) TO '${path}' (FORMAT parquet, CODEC snappy)`);
    await connection.run('DELETE FROM rows');
  }
  await mkdir(join(directory, 'bundles'));
  for (const [provider, own] of byProvider(all)) {
    await writeBundle(connection, directory, provider, own);
    const latest = own.flatMap(({ record, rows }) =>
      countries.flatMap(({ iso3 }) => {
        const item = latestItem(record, rows, iso3);
        return item === null ? [] : [{ ...item, iso3 }];
      }),
    );
    await append(connection, 'latest', LATEST_COLUMNS, latest);
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

export const byProvider = (all: Series[]) => Map.groupBy(all, ({ record }) => record.provider.id);

/** What a row lacks is null. */
async function append(
  connection: DuckDBConnection,
  table: string,
  columns: Columns,
  rows: readonly object[],
): Promise<void> {
  const appender = await connection.createAppender(table);
  for (const row of rows as readonly Record<string, unknown>[]) {
    for (const [name, type] of Object.entries(columns)) {
      const value = row[name] ?? null;
      if (value === null) appender.appendNull();
      else if (type === 'VARCHAR') appender.appendVarchar(String(value));
      else if (type === 'INTEGER') appender.appendInteger(Number(value));
      else if (type === 'DOUBLE') appender.appendDouble(Number(value));
      else appender.appendBoolean(value === true);
    }
    appender.endRow();
  }
  appender.closeSync();
}
