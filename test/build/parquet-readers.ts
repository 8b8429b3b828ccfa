/** Reads published Parquet with two independent readers and with DuckDB. */
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { type DuckDBConnection, DuckDBInstance, type Json } from '@duckdb/node-api';
import { parquetReadObjects } from 'hyparquet';
import { OBSERVATION_COLUMNS } from '../../data/schema/snapshot.ts';

export type Row = Record<string, unknown>;

interface ParquetReader {
  getCursor(): { next(): Promise<Row | null> };
  close(): Promise<void>;
}
// parquetjs-lite is CommonJS without types.
const { ParquetReader: opener } = createRequire(import.meta.url)('parquetjs-lite') as {
  ParquetReader: { openFile(file: string): Promise<ParquetReader> };
};

/** Normalises a row: absent members become null, numeric texts become numbers. */
function plain(row: Row): Row {
  return Object.fromEntries(
    Object.keys(OBSERVATION_COLUMNS).map((name) => {
      const value = row[name];
      if (value === undefined || value === null) return [name, null];
      if (Buffer.isBuffer(value)) return [name, value.toString('utf8')];
      const isNumeric = !['indicator', 'iso3', 'projected', 'status'].includes(name);
      return [name, isNumeric ? Number(value) : value];
    }),
  );
}

/** Rows as parquetjs-lite reads them. */
export async function readWithParquetjs(file: string): Promise<Row[]> {
  const reader = await opener.openFile(file);
  const cursor = reader.getCursor();
  const rows: Row[] = [];
  for (let row = await cursor.next(); row !== null; row = await cursor.next()) rows.push(plain(row));
  await reader.close();
  return rows;
}

/** Rows as hyparquet reads them. */
export async function readWithHyparquet(file: string): Promise<Row[]> {
  const bytes = await readFile(file);
  const rows = await parquetReadObjects({ file: new Uint8Array(bytes).buffer });
  return rows.map(plain);
}

let shared: Promise<DuckDBConnection> | null = null;
async function connect(): Promise<DuckDBConnection> {
  const instance = await DuckDBInstance.create(':memory:');
  return instance.connect();
}

/** Rows of a query, on one connection per test file. */
export async function query(sql: string): Promise<Record<string, Json>[]> {
  shared ??= connect();
  const connection = await shared;
  return (await connection.runAndReadAll(sql)).getRowObjectsJson();
}

/** Rows of a published observation file, in file order. */
export async function readObservations(file: string): Promise<Row[]> {
  return (await query(`SELECT * FROM read_parquet('${file}')`)).map(plain);
}
