/** Redis stream entries as rows of the archive. A field without a column goes to the JSON column `more`. */
import { z } from 'zod';
import { fieldsToRecord } from '../../data/runtime/redis.ts';
import { readSql } from '../../data/runtime/sql-files.ts';
import { AUDIT_COLUMNS, LEDGER_COLUMNS } from '../../data/schema/archive.ts';
import type { DuckSession, RowTable } from '../runtime/duckdb.ts';

export type StreamEntry = [id: string, fields: string[]];

export type Cell = string | number | bigint | null;

/** A stream id in its two parts. Sequence numbers count entries of one millisecond. */
export interface EntryId {
  ms: bigint;
  seq: number;
}

export function parseEntryId(text: string): EntryId {
  const [ms = '0', seq = '0'] = text.split('-');
  return { ms: BigInt(ms), seq: Number(seq) };
}

/** Whether `a` comes after `b`. */
export const isAfter = (a: EntryId, b: EntryId): boolean => a.ms > b.ms || (a.ms === b.ms && a.seq > b.seq);

const WHOLE = /^-?\d{1,16}$/;
const whole = z.string().regex(WHOLE).transform(Number).pipe(z.int());
const ledgerMove = z.object({ at_ms: whole, delta: whole, balance: whole });

/** What a ledger entry moves, and when; null when a number is missing or unreadable. */
export const readMove = ([, fields]: StreamEntry) =>
  ledgerMove.safeParse(fieldsToRecord(fields)).data ?? null;

/** The time of an entry of the audit log; NaN when it has none. */
export const readTime = ([, fields]: StreamEntry): number =>
  whole.safeParse(fieldsToRecord(fields).at_ms).data ?? Number.NaN;

/** The fields in the order of the columns. A number that cannot be read goes to `more` as text. */
function toRow(
  columns: Readonly<Record<string, string>>,
  known: Readonly<Record<string, Cell>>,
  fields: readonly string[],
): Cell[] {
  const rest = new Map(Object.entries(fieldsToRecord(fields)));
  const row = Object.entries(columns).map(([name, type]): Cell => {
    if (name in known) return known[name] ?? null;
    const text = rest.get(name);
    if (text === undefined || (type === 'BIGINT' && !WHOLE.test(text))) return null;
    rest.delete(name);
    return type === 'BIGINT' ? BigInt(text) : text;
  });
  if (rest.size > 0) row[Object.keys(columns).indexOf('more')] = JSON.stringify(Object.fromEntries(rest));
  return row;
}

/** In the order of LEDGER_COLUMNS. */
export function ledgerRow(account_id: string, [id, fields]: StreamEntry): Cell[] {
  const { ms, seq } = parseEntryId(id);
  return toRow(LEDGER_COLUMNS, { account_id, id_ms: ms, id_seq: seq, more: null }, fields);
}

/** In the order of AUDIT_COLUMNS. */
export function auditRow([id, fields]: StreamEntry): Cell[] {
  const { ms, seq } = parseEntryId(id);
  return toRow(AUDIT_COLUMNS, { id_ms: ms, id_seq: seq, more: null }, fields);
}

const WRITE_TABLE = readSql(import.meta.url, 'sql/write-table.sql');

/** Writes a closed table to a Parquet file, sorted. */
export const writeTable = (duck: DuckSession, { name }: RowTable, file: string): Promise<void> =>
  duck.run(WRITE_TABLE.replace('{table}', name), { file });
