/** A table with every type of column, every kind of missing cell and text that needs escaping, for tests of formats. */
import {
  type Batch,
  type Cell,
  NO_FLAG,
  NO_WORD,
  type Table,
} from '../../../../gateway/api/encoders/tables/table.ts';

const WORDS = ['plain', 'a "quoted", word', 'two\r\nlines', '東京', '=1+1'];
const DOUBLES = [0.1, -0, Number.NaN, 5e-324, 1.7976931348623157e308, 2 ** 53, 1e21];

/** Every cell of a row follows from its number. */
export const expectedRow = (row: number): Record<string, Cell> => ({
  word: row % 6 === 5 ? null : (WORDS[row % 6] ?? null),
  'a "name", quoted': row % 3 === 2 ? null : row - 4,
  double: row % 7 === 2 ? null : (DOUBLES[row % 7] ?? null),
  flag: row % 3 === 0 ? null : row % 3 === 1,
  year: row,
});

/** Vectors may be longer than their batch. */
const SPARE_CELLS = 3;

function batch(start: number, rows: number): Batch {
  const numbers = Array.from({ length: rows + SPARE_CELLS }, (_, at) => start + at);
  return {
    rows,
    vectors: [
      {
        type: 'text',
        words: WORDS,
        codes: Int32Array.from(numbers, (row) => (row % 6 === 5 ? NO_WORD : row % 6)),
      },
      {
        type: 'integer',
        nullAs: -9,
        values: Int32Array.from(numbers, (row) => (row % 3 === 2 ? -9 : row - 4)),
      },
      { type: 'double', values: Float64Array.from(numbers, (row) => DOUBLES[row % 7] ?? Number.NaN) },
      {
        type: 'boolean',
        values: Uint8Array.from(numbers, (row) => (row % 3 === 0 ? NO_FLAG : Number(row % 3 === 1))),
      },
      { type: 'integer', nullAs: null, values: Int32Array.from(numbers) },
    ],
  };
}

/** @param sizes rows of each batch. */
export function tableOf(sizes: readonly number[]): Table {
  return {
    columns: [
      { name: 'word', type: 'text' },
      { name: 'a "name", quoted', type: 'integer' },
      { name: 'double', type: 'double' },
      { name: 'flag', type: 'boolean' },
      { name: 'year', type: 'integer' },
    ],
    rows: sizes.reduce((sum, rows) => sum + rows, 0),
    async *batches() {
      let start = 0;
      for (const rows of sizes) {
        yield batch(start, rows);
        start += rows;
      }
    },
    indicators: [],
    meta: { generated_at: '2026-11-20T02:00:00+00:00', note: '東京' },
    edition: '20261120T020000Z-00000000',
    name: 'table',
  };
}
