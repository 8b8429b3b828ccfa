/**
 * What ledger and audit log share: both are Redis streams whose older entries are moved to the archive. Ids of entries, archived
 * rows, live entries, and pages with gaps where a part cannot be read.
 */
import { fieldsToRecord, type RedisClient } from '../../../data/runtime/redis.ts';
import type { SqlRow } from './engine.ts';

/** Id of an entry as one number, which sorts as the entries do; `id + 1n` is the least id after another. */
export type StreamId = bigint;

const SEQ_BITS = 64;
const makeStreamId = (ms: string | number, seq: string | number): StreamId =>
  (BigInt(ms) << BigInt(SEQ_BITS)) | BigInt(seq);

/** Later than every id of a stream. */
export const LAST_STREAM_ID = makeStreamId(Number.MAX_SAFE_INTEGER, 0);

/** @param text as Redis writes it; the second number may be missing */
export function parseStreamId(text: string): StreamId {
  const [ms = '', seq = '0'] = text.split('-');
  return makeStreamId(ms, seq);
}

/** Milliseconds and number of an id, as parameters of a query. */
export const partsOf = (id: StreamId) => ({ ms: id >> BigInt(SEQ_BITS), seq: BigInt.asUintN(SEQ_BITS, id) });

export function formatStreamId(id: StreamId): string {
  const { ms, seq } = partsOf(id);
  return `${ms}-${seq}`;
}

/** @param column such as `first` for `first_ms` and `first_seq` */
export const streamIdOf = (row: SqlRow, column: string): StreamId =>
  makeStreamId(integerOf(row, `${column}_ms`), integerOf(row, `${column}_seq`));

export const earlierStreamId = (a: StreamId, b: StreamId): StreamId => (a < b ? a : b);

export type Fields = Readonly<Record<string, string>>;

export interface ArchivedEntry {
  id: string;
  fields: Fields;
}

/** A whole number of a row. Those of the archive are far below 2^53. */
export const integerOf = (row: SqlRow, column: string): number => Number(row[column] ?? 0);

/** The fields as Redis held them: every column with a value, and those in `more`, which have no column. */
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

/** A place in the history whose entries cannot be read because they are lost or damaged. Pages show it. */
export interface Gap {
  /** For people: what is missing and why. */
  message: string;
  /** Id before which older entries can be read again; null when there are none. */
  before: string | null;
}

export const NO_ARCHIVE: Gap = {
  message: 'Older entries are in the archive, which cannot be read here.',
  before: null,
};

export interface PageOf<Entry> {
  /** Newest first; ends at the gap, if there is one. */
  entries: Entry[];
  /** Unreadable entries that follow; null if nothing is missing. */
  gap: Gap | null;
}
export type ArchivedPage = PageOf<ArchivedEntry>;

export interface PageQuery {
  /** Default 50, at most 1,000. */
  limit?: number;
  /** Id of the last entry already seen. */
  before?: string | undefined;
}

export const damagedPart = (name: string): string =>
  `Part ${name} of the archive cannot be read; entries that lie in it are not shown.`;

export const isGap = (item: object): item is Gap => 'message' in item;

/**
 * Reads live entries, newest first, and the hash that says how far the archive goes (null if nothing is archived). One
 * transaction reads both, so that no entry is missed or read twice while the nightly run archives some. Rejects with
 * errors of Redis.
 */
export async function readLive(
  redis: RedisClient,
  keys: { stream: string; archivedThrough: string },
  { limit, before }: { limit: number; before: string | undefined },
): Promise<{ archivedThrough: Fields | null; live: ArchivedEntry[] }> {
  const start = before === undefined ? '+' : `(${before}`;
  const replies = await redis
    .multi()
    .hgetall(keys.archivedThrough)
    .xrevrange(keys.stream, start, '-', 'COUNT', limit)
    .exec();
  const [hash, entries] = (replies ?? []).map(([error, reply]) => {
    if (error) throw error;
    return reply;
  }) as [Fields, [string, string[]][]];
  return {
    archivedThrough: Object.keys(hash).length > 0 ? hash : null,
    live: entries.map(([id, flat]) => ({ id, fields: fieldsToRecord(flat) })),
  };
}

/** All entries, newest first; gaps stand where entries cannot be read. */
export async function* readAllPages<Entry extends { id: string }>(
  readPage: (query: PageQuery) => Promise<PageOf<Entry>>,
  limit: number,
): AsyncGenerator<Entry | Gap> {
  for (let before: string | null | undefined; before !== null; ) {
    const { entries, gap } = await readPage({ limit, before });
    yield* entries;
    if (gap) yield gap;
    const last = entries.length < limit ? null : (entries.at(-1)?.id ?? null);
    before = gap ? gap.before : last;
  }
}
