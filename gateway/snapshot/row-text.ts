/**
 * The rows of a slice as text, JSON or CSV, in one buffer with the place of each row in it.
 *
 * A filtered answer is then a few views into the buffer: nothing is formatted twice, nothing is copied. Every row is
 * plain ASCII, and every double is written in the shortest form that reads back as the same double.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type IndicatorColumns, NO_RANK, type RowRange } from './indicator-columns.ts';

/** Rows formatted before other requests get their turn; some milliseconds of work. */
const ROWS_A_TURN = 4096;

export interface RowText {
  buffer: Buffer;
  /** Byte offset of each row, and the total as one more entry. */
  offsets: Uint32Array;
}

/** `-0` is a double of its own and keeps its sign. */
export const formatDouble = (value: number): string => (Object.is(value, -0) ? '-0.0' : String(value));
const orNull = (value: number | undefined): string =>
  value === undefined || Number.isNaN(value) ? 'null' : formatDouble(value);
const orEmpty = (value: number | undefined): string =>
  value === undefined || Number.isNaN(value) ? '' : formatDouble(value);

type RowFormat = (slice: IndicatorColumns, country: string, row: number) => string;

/** One element of a JSON array, its comma included. */
const jsonRow: RowFormat = ({ columns }, country, row) => {
  const rank = columns.rank[row] ?? NO_RANK;
  return (
    `{"iso3":"${country}","year":${columns.year[row]},"value":${orNull(columns.value[row])},` +
    `"ci_lo":${orNull(columns.ciLo?.[row])},"ci_hi":${orNull(columns.ciHi?.[row])},` +
    `"rank":${rank === NO_RANK ? 'null' : rank},"projected":${columns.projected[row] === 1}},`
  );
};

export const CSV_HEADER = 'indicator,iso3,year,value,ci_lo,ci_hi,rank,projected\r\n';

/** One RFC 4180 record. Ids, codes and numbers never need quotes. */
const csvRow =
  (indicator: string): RowFormat =>
  ({ columns }, country, row) => {
    const rank = columns.rank[row] ?? NO_RANK;
    return (
      `${indicator},${country},${columns.year[row]},${orEmpty(columns.value[row])},` +
      `${orEmpty(columns.ciLo?.[row])},${orEmpty(columns.ciHi?.[row])},` +
      `${rank === NO_RANK ? '' : rank},${columns.projected[row] === 1}\r\n`
    );
  };

/**
 * Strings become bytes country by country: the garbage of formatting dies young, and what lives is the bytes alone.
 */
async function writeRows(slice: IndicatorColumns, format: RowFormat): Promise<RowText> {
  const offsets = new Uint32Array(slice.rows + 1);
  const pieces: Buffer[] = [];
  let length = 0;
  let sinceTurn = 0;
  for (const [position, country] of slice.countries.entries()) {
    const start = slice.starts[position] ?? 0;
    const end = slice.starts[position + 1] ?? slice.rows;
    let text = '';
    for (let row = start; row < end; row += 1) {
      offsets[row] = length + text.length;
      text += format(slice, country, row);
    }
    pieces.push(Buffer.from(text, 'latin1'));
    length += text.length;
    sinceTurn += end - start;
    if (sinceTurn >= ROWS_A_TURN) {
      sinceTurn = 0;
      await nextTurn();
    }
  }
  offsets[slice.rows] = length;
  return { buffer: Buffer.concat(pieces, length), offsets };
}

export const writeJsonRows = (slice: IndicatorColumns): Promise<RowText> => writeRows(slice, jsonRow);
export const writeCsvRows = (slice: IndicatorColumns, indicator: string): Promise<RowText> =>
  writeRows(slice, csvRow(indicator));

/** Views of the rows in the ranges, in order. */
export function pickRows(text: RowText, ranges: readonly RowRange[]): Buffer[] {
  return ranges.map(({ start, end }) => text.buffer.subarray(text.offsets[start], text.offsets[end]));
}

/** The elements of a JSON array: the rows in the ranges without the last comma. */
export function pickJsonRows(text: RowText, ranges: readonly RowRange[]): Buffer[] {
  const picked = pickRows(text, ranges);
  const last = picked.pop();
  return last === undefined ? [] : [...picked, last.subarray(0, -1)];
}

export const textBytes = (text: RowText): number => text.buffer.byteLength + text.offsets.byteLength;
