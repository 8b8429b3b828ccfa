/** Ids of stream entries, `<milliseconds>-<number>`, which sort by both. */

export interface StreamId {
  ms: number;
  seq: number;
}

/** After everything that a stream may hold. */
export const LAST_ID: StreamId = { ms: Number.MAX_SAFE_INTEGER, seq: 0 };

/** @param text as Redis writes it, or without the second number */
export function parseStreamId(text: string): StreamId {
  const [ms = '', seq = '0'] = text.split('-');
  return { ms: Number(ms), seq: Number(seq) };
}

export const textOfId = ({ ms, seq }: StreamId): string => `${ms}-${seq}`;

/** Negative when `a` is the older one. */
export const compareIds = (a: StreamId, b: StreamId): number => a.ms - b.ms || a.seq - b.seq;

/** The least id after another: entries before it are those up to and with the other. */
export const idAfter = ({ ms, seq }: StreamId): StreamId => ({ ms, seq: seq + 1 });

export const earlierId = (a: StreamId, b: StreamId): StreamId => (compareIds(a, b) < 0 ? a : b);
