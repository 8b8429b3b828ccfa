/**
 * A DuckDB database in one file, which DuckDB writes in a temporary directory and in threads of its own. Equal statements
 * and rows give equal bytes, so every process gives an edition's database the same entity tag.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type DuckDBConnection, DuckDBDataChunk, DuckDBInstance, type DuckDBValue } from '@duckdb/node-api';

/** No type is registered for it. */
export const DUCKDB_TYPE = 'application/octet-stream';

/** A table that the statements create, with a value for each of its columns. */
export interface DatabaseTable {
  name: string;
  rows: readonly (readonly DuckDBValue[])[];
}

const OPTIONS = {
  // One thread writes the blocks in one order.
  threads: '1',
  max_memory: '64MB',
  autoinstall_known_extensions: 'false',
  // Readable by DuckDB 1.1 and later, whatever this one writes by default.
  storage_compatibility_version: 'v1.0.0',
  // Attached over HTTP: a quarter of the usual size costs as many requests and half the bytes.
  default_block_size: '65536',
};

/** Rows appended before the event loop gets a turn; DuckDB takes at most 2,048. */
const CHUNK_ROWS = 512;

/** @param statements create the tables and whatever else the database has. */
export async function databaseFile(statements: string, tables: readonly DatabaseTable[]): Promise<Buffer> {
  const directory = await mkdtemp(join(tmpdir(), 'almanac-database-'));
  try {
    const file = join(directory, 'almanac.duckdb');
    await writeDatabase(file, statements, tables);
    return await readFile(file);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function writeDatabase(
  file: string,
  statements: string,
  tables: readonly DatabaseTable[],
): Promise<void> {
  const instance = await DuckDBInstance.create(file, OPTIONS);
  const connection = await instance.connect();
  try {
    // One takes a random sample, the other stores what is in memory below a null.
    await connection.run("SET disabled_compression_methods = 'fsst,bitpacking'");
    await connection.run(statements);
    for (const table of tables) await append(connection, table);
    // Closing would write the blocks on the event loop.
    await connection.run('CHECKPOINT');
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

async function append(connection: DuckDBConnection, { name, rows }: DatabaseTable): Promise<void> {
  const appender = await connection.createAppender(name);
  const types = Array.from({ length: appender.columnCount }, (_, column) => appender.columnType(column));
  for (let start = 0; start < rows.length; start += CHUNK_ROWS) {
    const chunk = DuckDBDataChunk.create(types);
    chunk.setRows(rows.slice(start, start + CHUNK_ROWS));
    appender.appendDataChunk(chunk);
    await nextTurn();
  }
  appender.closeSync();
}
