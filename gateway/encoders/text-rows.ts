/** Rows of a table as text: what JSON, NDJSON and CSV share. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { formatDouble } from '../snapshot/indicator-columns.ts';
import { type Batch, NO_FLAG, NO_WORD, type Table, type Vector } from './table.ts';

/** How a text format writes the cells of a row. */
export interface RowSyntax {
  /** What stands before the cell of each column; the first begins the row. */
  before: readonly string[];
  /** Ends a row. */
  end: string;
  /** Between two rows. */
  separator: string;
  text(word: string): string;
  missing: string;
}

type CellText = (row: number) => string;

/** Words are escaped once a batch, not once a row. */
function cellText(vector: Vector, { text, missing }: RowSyntax): CellText {
  if (vector.type === 'text') {
    const { codes } = vector;
    const words = vector.words.map(text);
    return (row) => words[codes[row] ?? NO_WORD] ?? missing;
  }
  if (vector.type === 'double') {
    const { values } = vector;
    return (row) => {
      const value = values[row] ?? Number.NaN;
      return Number.isNaN(value) ? missing : formatDouble(value);
    };
  }
  if (vector.type === 'integer') {
    const { values, nullAs } = vector;
    return (row) => (values[row] === nullAs ? missing : String(values[row]));
  }
  const { values } = vector;
  return (row) => (values[row] === NO_FLAG ? missing : String(values[row] === 1));
}

/** Rows that are formatted before the event loop gets a turn. */
const ROWS_PER_PIECE = 4_096;

function* batchText({ rows, vectors }: Batch, syntax: RowSyntax, isFirst: boolean): Generator<Buffer> {
  const cells = vectors.map((vector, at) => ({
    before: syntax.before[at] ?? '',
    cell: cellText(vector, syntax),
  }));
  for (let start = 0; start < rows; start += ROWS_PER_PIECE) {
    const stop = Math.min(rows, start + ROWS_PER_PIECE);
    let text = '';
    for (let row = start; row < stop; row += 1) {
      if (row > 0 || !isFirst) text += syntax.separator;
      for (const { before, cell } of cells) text += before + cell(row);
      text += syntax.end;
    }
    yield Buffer.from(text);
  }
}

/** All rows in pieces; between two of them the event loop gets a turn. */
export async function* rowText(
  { batches }: Pick<Table, 'batches'>,
  syntax: RowSyntax,
): AsyncGenerator<Buffer> {
  let isFirst = true;
  for await (const batch of batches()) {
    for (const piece of batchText(batch, syntax, isFirst)) {
      yield piece;
      await nextTurn();
    }
    isFirst = false;
  }
}
