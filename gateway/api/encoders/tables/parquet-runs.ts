/**
 * The hybrid of runs and packed bits in which Parquet holds levels and indices. The library's own writes byte by byte through
 * a growing buffer, which took as long as all else of a short file.
 */

/** A value that is repeated so often is written as a run; others are packed in groups of as many. */
const GROUP = 8;
/** The longest header of a run or of packed groups. */
const HEADER_BYTES = 5;

type Small = Uint8Array | Int32Array;

/** Room that is enough for any values. */
export const runBytesMax = (values: number, bitWidth: number): number =>
  (Math.ceil(values / GROUP) + 1) * (bitWidth + HEADER_BYTES);

/** @param values below 2^`bitWidth`, which is at most 24. @returns the bytes written */
export function writeRuns(values: Small, bitWidth: number, into: Uint8Array): number {
  let written = 0;
  let packedFrom = 0;
  for (let at = 0; at < values.length; ) {
    const value = values[at] as number;
    let end = at + 1;
    while (end < values.length && values[end] === value) end += 1;
    if (end - at < GROUP) {
      at += GROUP;
      continue;
    }
    if (packedFrom < at) written = writePacked(values.subarray(packedFrom, at), bitWidth, into, written);
    written = writeRun({ value, count: end - at }, bitWidth, into, written);
    at = end;
    packedFrom = end;
  }
  return packedFrom < values.length
    ? writePacked(values.subarray(packedFrom), bitWidth, into, written)
    : written;
}

/** One value, so many times. @returns the end of what was written */
export function writeRun(
  { value, count }: { value: number; count: number },
  bitWidth: number,
  into: Uint8Array,
  from: number,
): number {
  let written = writeHeader(count << 1, into, from);
  for (let bits = 0; bits < bitWidth; bits += 8) {
    into[written] = value >> bits;
    written += 1;
  }
  return written;
}

/** Groups of packed bits; the last is filled with zeros. @returns the end of what was written */
function writePacked(values: Small, bitWidth: number, into: Uint8Array, from: number): number {
  const groups = Math.ceil(values.length / GROUP);
  let written = writeHeader((groups << 1) | 1, into, from);
  let bits = 0;
  let pending = 0;
  for (let at = 0; at < groups * GROUP; at += 1) {
    bits |= (at < values.length ? (values[at] as number) : 0) << pending;
    pending += bitWidth;
    for (; pending >= 8; pending -= 8) {
      into[written] = bits;
      bits >>>= 8;
      written += 1;
    }
  }
  return written;
}

/** A number in seven bits a byte. */
function writeHeader(value: number, into: Uint8Array, from: number): number {
  let [rest, written] = [value, from];
  for (; rest > 0x7f; rest >>>= 7) {
    into[written] = rest | 0x80;
    written += 1;
  }
  into[written] = rest;
  return written + 1;
}

type Kind = Float64Array | Int32Array | Uint8Array;

/** Memory that is used again and again, so that no collector has to look for it: valid until it is asked for once more. */
export class Scratch<Some extends Kind> {
  readonly #make: new (
    length: number,
  ) => Some;
  #memory: Some;

  constructor(make: new (length: number) => Some) {
    this.#make = make;
    this.#memory = new make(0);
  }

  /** An array of so many elements, with any content. */
  of(length: number): Some {
    if (this.#memory.length < length) this.#memory = new this.#make(length);
    return this.#memory.subarray(0, length) as Some;
  }
}
