/** Rows of a table as text: what JSON, NDJSON, CSV and the sheets of workbooks share. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { formatDouble } from '../../snapshot/rows/indicator-columns.ts';
import { type Batch, cellAt, NO_WORD, type Table, type Vector } from './table.ts';
import { TextBytes } from './text-bytes.ts';

/** How a text format writes the cells of a row. */
export interface RowSyntax {
  /** What stands before the cell of each column; the first begins the row. */
  before: readonly string[];
  /** Ends a row. */
  end: string;
  /** Between two rows. */
  separator: string;
  text(word: string): string;
  flag(isSet: boolean): string;
  /** What stands before and after the digits of a number. */
  number: readonly [string, string];
  missing: string;
}

/** Numbers and flags as JSON has them. */
export const PLAIN = { flag: String, number: ['', ''] } as const satisfies Partial<RowSyntax>;

const NUMBER_START = 0;
const NUMBER_END = 1;

function cellText(vector: Vector, row: number, syntax: RowSyntax): string {
  const cell = cellAt(vector, row);
  if (cell === null) return syntax.missing;
  if (typeof cell === 'string') return syntax.text(cell);
  if (typeof cell === 'boolean') return syntax.flag(cell);
  return syntax.number[NUMBER_START] + formatDouble(cell) + syntax.number[NUMBER_END];
}

type WriteCell = (row: number, into: TextBytes) => void;

/** Words are escaped and encoded once a piece, not once a row. @param before stands before each cell. */
function cellWriter(vector: Vector, before: string, syntax: RowSyntax): WriteCell {
  if (vector.type === 'text' || vector.type === 'boolean') {
    const codes = vector.type === 'text' ? vector.codes : vector.values;
    const words = new Map<number, Buffer>();
    return (row, into) => {
      const code = codes[row] ?? NO_WORD;
      let word = words.get(code);
      if (word === undefined) {
        word = Buffer.from(before + cellText(vector, row, syntax));
        words.set(code, word);
      }
      into.add(word);
    };
  }
  const missing = Buffer.from(before + syntax.missing);
  const start = Buffer.from(before + syntax.number[NUMBER_START]);
  const end = Buffer.from(syntax.number[NUMBER_END]);
  if (vector.type === 'double') {
    const { values } = vector;
    return (row, into) => {
      const value = values[row] ?? Number.NaN;
      if (Number.isNaN(value)) return into.add(missing);
      into.add(start);
      into.addDouble(value);
      into.add(end);
    };
  }
  const { values, nullAs } = vector;
  return (row, into) => {
    const value = values[row] ?? 0;
    if (value === nullAs) return into.add(missing);
    into.add(start);
    into.addInteger(value);
    into.add(end);
  };
}

/** Whether rows have the same cell, as in the bounds of most indicators. */
function isConstant(vector: Vector, start: number, stop: number): boolean {
  const values = vector.type === 'text' ? vector.codes : vector.values;
  for (let row = start + 1; row < stop; row += 1) if (!Object.is(values[row], values[start])) return false;
  return true;
}

/** Writers of all that makes a row. What is the same in all rows is written together. */
function rowWriters(vectors: readonly Vector[], syntax: RowSyntax, start: number, stop: number): WriteCell[] {
  const writers: WriteCell[] = [];
  let before = syntax.separator;
  for (const [at, vector] of vectors.entries()) {
    before += syntax.before[at] ?? '';
    if (isConstant(vector, start, stop)) before += cellText(vector, start, syntax);
    else {
      writers.push(cellWriter(vector, before, syntax));
      before = '';
    }
  }
  const rest = Buffer.from(before + syntax.end);
  return [...writers, (_row, into) => into.add(rest)];
}

/** Rows, or bytes, that are formatted before the event loop gets a turn. */
const ROWS_PER_PIECE = 4_096;
/** Below what `TextBytes` has at its start: memory outside the heap that grows and goes makes garbage collection frequent. */
const BYTES_PER_PIECE = 448 * 1024;

function* batchText({ rows, vectors }: Batch, syntax: RowSyntax, bytes: TextBytes): Generator<Buffer> {
  for (let start = 0; start < rows; start += ROWS_PER_PIECE) {
    const stop = Math.min(rows, start + ROWS_PER_PIECE);
    const writers = rowWriters(vectors, syntax, start, stop);
    for (let row = start; row < stop; row += 1) {
      for (const write of writers) write(row, bytes);
      if (bytes.length >= BYTES_PER_PIECE) yield bytes.taken();
    }
    if (bytes.length > 0) yield bytes.taken();
  }
}

/** All rows in pieces; between two of them the event loop gets a turn. */
export async function* rowText(
  { batches }: Pick<Table, 'batches'>,
  syntax: RowSyntax,
): AsyncGenerator<Buffer> {
  const bytes = new TextBytes();
  let isFirst = true;
  for await (const batch of batches()) {
    for (const piece of batchText(batch, syntax, bytes)) {
      // Each row follows a separator, the first one nothing.
      yield isFirst ? piece.subarray(syntax.separator.length) : piece;
      isFirst = false;
      await nextTurn();
    }
  }
}
