/** Whether a client has what it asks for, and which part of a file it asks for (RFC 9110, sections 13 and 14). */

/** Whether `If-None-Match` names the tag. Weak tags match, because an intermediate cache may have weakened ours. */
export function isNotModified(tag: string | null, ifNoneMatch: string | undefined): boolean {
  if (tag === null || ifNoneMatch === undefined) return false;
  if (ifNoneMatch === tag) return true;
  return ifNoneMatch.split(',').some((candidate) => {
    const trimmed = candidate.trim();
    return trimmed === '*' || (trimmed.startsWith('W/') ? trimmed.slice(2) : trimmed) === tag;
  });
}

/** Bytes from `from` up to, not including, `to`. */
export interface Part {
  from: number;
  to: number;
}

export interface RangeHeaders {
  range: string | undefined;
  ifRange: string | undefined;
}

/** A single range. Anything else, several ranges included, may be answered with the whole file. */
const RANGE = /^bytes=[ \t]*(\d*)-(\d*)[ \t]*$/i;

/**
 * Null for the whole file.
 * @param tag the strong entity tag of the file. @param size of the file in bytes, not 0.
 */
export function partOf(
  { range, ifRange }: RangeHeaders,
  tag: string,
  size: number,
): Part | 'unsatisfiable' | null {
  const [, first = '', last = ''] = RANGE.exec(range ?? '') ?? [];
  if (first === '' && last === '') return null;
  if (ifRange !== undefined && ifRange !== tag) return null;
  if (first === '') {
    const length = Math.min(Number(last), size);
    return length === 0 ? 'unsatisfiable' : { from: size - length, to: size };
  }
  const from = Number(first);
  if (last !== '' && Number(last) < from) return null;
  if (from >= size) return 'unsatisfiable';
  return { from, to: last === '' ? size : Math.min(Number(last) + 1, size) };
}
