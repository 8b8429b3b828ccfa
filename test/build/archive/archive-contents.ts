/** Reads entries from archive files and Redis, independently of the product's readers. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance, type Json } from '@duckdb/node-api';
import type { RedisClient } from '../../../data/runtime/redis.ts';

export type Row = Record<string, Json>;
export type Fields = Record<string, string>;

export async function query(sql: string): Promise<Row[]> {
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  try {
    return (await connection.runAndReadAll(sql)).getRowObjectsJson();
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

const ENTRY_FIELDS = [
  'at_ms',
  'kind',
  'delta',
  'balance',
  'request',
  'route',
  'key',
  'rows',
  'order',
  'by',
  'reason',
];

/** A row as the entry it was: fields that are null are absent. */
function entryOf(row: Row, names: readonly string[]): [id: string, fields: Fields] {
  const present = names.filter((name) => row[name] !== null).map((name) => [name, String(row[name])]);
  const rest = row.more === null ? {} : (JSON.parse(String(row.more)) as Fields);
  return [`${row.id_ms}-${row.id_seq}`, { ...Object.fromEntries(present), ...rest }];
}

/** Rows of published parts. A glob in DuckDB would also match unpublished ones. */
async function rowsOf(dir: string, kind: string, file: string): Promise<Row[]> {
  const folder = join(dir, kind);
  const parts = existsSync(folder) ? readdirSync(folder).filter((name) => !name.startsWith('.')) : [];
  if (parts.length === 0) return [];
  const files = parts.map((name) => `'${join(folder, name, file)}'`).join();
  return query(
    `SELECT * FROM read_parquet([${files}], filename = true, file_row_number = true)
     ORDER BY filename, file_row_number`,
  );
}

/** All archived entries by account, repeated ones included, in the order of parts and rows. */
export async function archivedLedgers(dir: string): Promise<Map<string, [string, Fields][]>> {
  const rows = await rowsOf(dir, 'ledger', 'entries.parquet');
  const ledgers = new Map<string, [string, Fields][]>();
  for (const row of rows) {
    const account = String(row.account_id);
    const entries = ledgers.get(account) ?? [];
    entries.push(entryOf(row, ENTRY_FIELDS));
    ledgers.set(account, entries);
  }
  return ledgers;
}

const AUDIT_FIELDS = ['at_ms', 'by', 'action', 'subject', 'before', 'after', 'reason', 'request'];

export const archivedAudit = async (dir: string): Promise<[string, Fields][]> =>
  (await rowsOf(dir, 'audit', 'entries.parquet')).map((row) => entryOf(row, AUDIT_FIELDS));

export const usageRows = (dir: string, date: string): Promise<Row[]> =>
  query(`SELECT * FROM read_parquet('${dir}/usage/${date}.parquet')`);

export async function stream(redis: RedisClient, key: string): Promise<[string, Fields][]> {
  const entries = await redis.xrange(key, '-', '+');
  return entries.map(([id, list]) => [
    id,
    Object.fromEntries(list.flatMap((name, i) => (i % 2 === 0 ? [[name, list[i + 1] ?? '']] : []))),
  ]);
}

const number = (id: string): [bigint, number] => {
  const [ms = '0', seq = '0'] = id.split('-');
  return [BigInt(ms), Number(seq)];
};
export const isAtOrBefore = (a: string, b: string): boolean => {
  const [[ms, seq], [otherMs, otherSeq]] = [number(a), number(b)];
  return ms < otherMs || (ms === otherMs && seq <= otherSeq);
};
