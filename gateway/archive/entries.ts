/** Archived stream entries: their ids, their rows, and pages of them with gaps where a part cannot be read. */
import type { SqlRow } from './engine.ts';

export interface StreamId {
  ms: number;
  seq: number;
}

/** After everything that a stream may hold. */
export const LAST_STREAM_ID: StreamId = { ms: Number.MAX_SAFE_INTEGER, seq: 0 };

/** @param text as Redis writes it, or without the second number */
export function parseStreamId(text: string): StreamId {
  const [ms = '', seq = '0'] = text.split('-');
  return { ms: Number(ms), seq: Number(seq) };
}

export const formatStreamId = ({ ms, seq }: StreamId): string => `${ms}-${seq}`;

/** Negative when `a` is the older one. */
export const compareStreamIds = (a: StreamId, b: StreamId): number => a.ms - b.ms || a.seq - b.seq;

/** The least id after another: entries before it are those up to and with the other. */
export const nextStreamId = ({ ms, seq }: StreamId): StreamId => ({ ms, seq: seq + 1 });

export const earlierStreamId = (a: StreamId, b: StreamId): StreamId => (compareStreamIds(a, b) < 0 ? a : b);

export type Fields = Readonly<Record<string, string>>;

export interface ArchivedEntry {
  id: string;
  fields: Fields;
}

/** A whole number of a row; the archive's are far below what a double counts exactly. */
export const integerOf = (row: SqlRow, column: string): number => Number(row[column] ?? 0);

/** Every column that holds something, and the fields that have no column. */
export function archivedEntryOf({ id_ms, id_seq, more, ...columns }: SqlRow): ArchivedEntry {
  const fields: Record<string, string> = {};
  for (const [name, value] of Object.entries(columns))
    if (value !== null && value !== undefined) fields[name] = String(value);
  if (typeof more === 'string') {
    for (const [name, value] of Object.entries(JSON.parse(more) as Record<string, unknown>))
      fields[name] = String(value);
  }
  return { id: `${id_ms}-${id_seq}`, fields };
}

/** A place where entries lie that cannot be shown: they are lost or damaged, which is no reason to pass over it. */
export interface Gap {
  /** For people: what is missing, and why. */
  message: string;
  /** Id before which older entries can be read again; null when there are none. */
  before: string | null;
}

export interface ArchivedPage {
  /** Newest first. They end at the gap, if there is one. */
  entries: ArchivedEntry[];
  gap: Gap | null;
}

export const damagedPart = (name: string): string =>
  `Part ${name} of the archive cannot be read; entries that lie in it are not shown.`;

export const isGap = (item: object): item is Gap => 'message' in item;
