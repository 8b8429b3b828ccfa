/** From rows of the archive back to stream entries: the fields as Redis held them. */
import type { SqlRow } from './engine.ts';

export type Fields = Readonly<Record<string, string>>;

export interface ArchivedEntry {
  id: string;
  fields: Fields;
}

/** A whole number of a row; the archive's are far below what a double counts exactly. */
export const wholeOf = (row: SqlRow, column: string): number => Number(row[column] ?? 0);

/** Every column that holds something, and the fields that have no column. */
export function entryOf({ id_ms, id_seq, more, ...columns }: SqlRow): ArchivedEntry {
  const fields: Record<string, string> = {};
  for (const [name, value] of Object.entries(columns))
    if (value !== null && value !== undefined) fields[name] = String(value);
  if (typeof more === 'string') {
    for (const [name, value] of Object.entries(JSON.parse(more) as Record<string, unknown>))
      fields[name] = String(value);
  }
  return { id: `${id_ms}-${id_seq}`, fields };
}
