/** JSON, NDJSON and CSV, and rows as text, which they share with the sheets of workbooks. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  type Batch,
  type Column,
  cellAt,
  type Encoder,
  NO_WORD,
  type RowText,
  type Table,
  type Vector,
} from './table.ts';

/** The shortest text that reads back as the same double; `-0` keeps its sign. */
const formatDouble = (value: number): string => (Object.is(value, -0) ? '-0.0' : String(value));

const START_BYTES = 512 * 1024;
/** Longer words are copied by `set`, whose call costs more than copying a shorter one byte by byte. */
const COPIED_BYTES = 24;

const MINUS = 45;
const POINT = 46;
const ZERO = 48;
/** Doubles hold every decimal of so many digits, and each as another double. */
const EXACT_BELOW = 1e15;
const SCALES = [1, 10, 100, 1e3, 1e4, 1e5, 1e6] as const;
const INTEGERS_BELOW = 2 ** 31;

/** Text that is written as bytes: joining strings of a million cells costs more than copying their bytes. */
class TextBytes {
  #bytes = Buffer.allocUnsafe(START_BYTES);
  #length = 0;

  /** What was added since the last time. */
  get length(): number {
    return this.#length;
  }

  add(word: Uint8Array): void {
    const { length } = word;
    const start = this.#reserve(length);
    const bytes = this.#bytes;
    if (length > COPIED_BYTES) bytes.set(word, start);
    else for (let at = 0; at < length; at += 1) bytes[start + at] = word[at] as number;
  }

  /** A finite double as `formatDouble` has it, without a string where it has few digits. */
  addDouble(value: number): void {
    if (value !== 0)
      for (const [decimals, scale] of SCALES.entries()) {
        const scaled = Math.round(value * scale);
        if (!(Math.abs(scaled) < EXACT_BELOW)) break;
        // A double is the quotient of one decimal only: with the fewest digits, it is the shortest text.
        if (scaled / scale === value) {
          this.#addDecimal(scaled, decimals);
          return;
        }
      }
    this.#addAscii(formatDouble(value));
  }

  addInteger(value: number): void {
    this.#addDecimal(value, 0);
  }

  /** A copy of what was added since the last time. */
  taken(): Buffer {
    const taken = Buffer.from(this.#bytes.subarray(0, this.#length));
    this.#length = 0;
    return taken;
  }

  #addAscii(text: string): void {
    const start = this.#reserve(text.length);
    const bytes = this.#bytes;
    for (let at = 0; at < text.length; at += 1) bytes[start + at] = text.charCodeAt(at);
  }

  /** An integer, its last digits after a decimal point. */
  #addDecimal(scaled: number, decimals: number): void {
    const sign = scaled < 0 ? 1 : 0;
    let rest = Math.abs(scaled);
    let digits = decimals + 1;
    for (let bound = 10 ** digits; rest >= bound; bound *= 10) digits += 1;
    const length = sign + digits + (decimals > 0 ? 1 : 0);
    const start = this.#reserve(length);
    const bytes = this.#bytes;
    let at = start + length;
    for (let digit = 0; digit < digits; digit += 1) {
      if (digit === decimals && decimals > 0) bytes[--at] = POINT;
      // Whole numbers of 31 bits are divided several times faster.
      const tenth = rest < INTEGERS_BELOW ? ((rest | 0) / 10) | 0 : Math.floor(rest / 10);
      bytes[--at] = ZERO + rest - 10 * tenth;
      rest = tenth;
    }
    if (sign === 1) bytes[start] = MINUS;
  }

  /** @returns where the bytes go */
  #reserve(bytes: number): number {
    const start = this.#length;
    this.#length += bytes;
    if (this.#length > this.#bytes.length) {
      const grown = Buffer.allocUnsafe(2 * this.#length);
      this.#bytes.copy(grown, 0, 0, start);
      this.#bytes = grown;
    }
    return start;
  }
}

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
const PLAIN = { flag: String, number: ['', ''] } as const satisfies Partial<RowSyntax>;

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

function* batchText(
  { rows, vectors }: Batch,
  syntax: RowSyntax,
  bytes: TextBytes,
  onRow: (() => void) | null,
): Generator<Buffer> {
  for (let start = 0; start < rows; start += ROWS_PER_PIECE) {
    const stop = Math.min(rows, start + ROWS_PER_PIECE);
    const writers = rowWriters(vectors, syntax, start, stop);
    for (let row = start; row < stop; row += 1) {
      for (const write of writers) write(row, bytes);
      onRow?.();
      if (bytes.length >= BYTES_PER_PIECE) yield bytes.taken();
    }
    if (bytes.length > 0) yield bytes.taken();
  }
}

/**
 * All rows in pieces; between two of them the event loop gets a turn.
 * @param onEnd is told where each row ends, counted from the start of the first.
 */
export async function* rowText(
  { batches }: Pick<Table, 'batches'>,
  syntax: RowSyntax,
  onEnd: ((offset: number) => void) | null = null,
): AsyncGenerator<Buffer> {
  const bytes = new TextBytes();
  // Each row follows a separator, the first one nothing.
  let skipped = syntax.separator.length;
  let taken = -skipped;
  const onRow = onEnd && (() => onEnd(taken + bytes.length));
  for await (const batch of batches()) {
    for (const piece of batchText(batch, syntax, bytes, onRow)) {
      taken += piece.length;
      yield skipped === 0 ? piece : piece.subarray(skipped);
      skipped = 0;
      await nextTurn();
    }
  }
}

interface TextFormat {
  name: string;
  /** Before the first row. */
  head(columns: readonly Column[]): string;
  syntax(columns: readonly Column[]): RowSyntax;
}

async function* headAndRows(table: Table, { head, syntax }: TextFormat): AsyncGenerator<Buffer> {
  const { columns } = table;
  yield Buffer.from(head(columns));
  yield* rowText(table, syntax(columns));
}

/** The same from text that is kept. */
const keptHeadAndRows = (
  { columns }: Table,
  kept: NonNullable<Table['keptText']>,
  { name, head, syntax }: TextFormat,
): Promise<Buffer[]> => kept(name, (all) => toRowText(all, head(columns), syntax(columns)));

async function toRowText(
  all: Pick<Table, 'rows' | 'batches'>,
  head: string,
  syntax: RowSyntax,
): Promise<RowText> {
  const pieces: Buffer[] = [Buffer.from(head)];
  const head_bytes = Buffer.byteLength(head);
  const ends = new Uint32Array(all.rows);
  let row = 0;
  const onEnd = (offset: number): void => {
    ends[row] = head_bytes + offset;
    row += 1;
  };
  for await (const piece of rowText(all, syntax, onEnd)) pieces.push(piece);
  return { buffer: Buffer.concat(pieces), head_bytes, separator_bytes: syntax.separator.length, ends };
}

const objectSyntax = (columns: readonly Column[]): RowSyntax => ({
  ...PLAIN,
  before: columns.map(({ name }, at) => `${at === 0 ? '{' : ','}${JSON.stringify(name)}:`),
  end: '}',
  separator: ',',
  text: JSON.stringify,
  missing: 'null',
});

const JSON_FORMAT: TextFormat = { name: 'json', head: () => '{"data":[', syntax: objectSyntax };

/** `{ "data": [rows], "meta": {…} }` */
export const json: Encoder = {
  name: JSON_FORMAT.name,
  mediaType: 'application/json; charset=utf-8',
  extension: null,
  isText: true,
  isCompressible: true,
  documentation: null,
  namesIndicator: false,
  fromKept: async (table, kept) => [...(await keptHeadAndRows(table, kept, JSON_FORMAT)), jsonEnd(table)],
  async *stream(table) {
    yield* headAndRows(table, JSON_FORMAT);
    yield jsonEnd(table);
  },
};

const jsonEnd = ({ meta }: Table): Buffer => Buffer.from(`],"meta":${JSON.stringify(meta)}}`);

/** Each row as a JSON object on a line of its own; whole records, where fields are nested. */
export const ndjson: Encoder = {
  name: 'ndjson',
  mediaType: 'application/x-ndjson',
  extension: 'ndjson',
  isText: true,
  isCompressible: true,
  documentation:
    'A JSON object a line, in UTF-8; every line ends with LF. `Link` and `X-Attribution` carry the licence.',
  namesIndicator: false,
  async *stream(table) {
    if (table.records)
      yield Buffer.from(table.records.map((record) => `${JSON.stringify(record)}\n`).join(''));
    else yield* rowText(table, { ...objectSyntax(table.columns), separator: '', end: '}\n' });
  },
};

const NEEDS_QUOTES = /[",\r\n]/;

const csvField = (text: string): string =>
  NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text;

/** An empty field that is alone in its record is quoted, because readers skip empty lines. */
function recordSyntax(columns: readonly Column[]): RowSyntax {
  const empty = columns.length === 1 ? '""' : '';
  return {
    ...PLAIN,
    before: columns.map((_, at) => (at === 0 ? '' : ',')),
    end: '\r\n',
    separator: '',
    text: (word) => (word === '' ? empty : csvField(word)),
    missing: empty,
  };
}

/** What a spreadsheet takes for a formula is text after an apostrophe. */
const FORMULA_START = /^[=+\-@\t\r]/;
const inertText = (text: string): string => (FORMULA_START.test(text) ? `'${text}` : text);

const CSV_FORMAT: TextFormat = {
  name: 'csv',
  head: (columns) => `${columns.map(({ name }) => csvField(name)).join(',')}\r\n`,
  syntax: recordSyntax,
};

/** RFC 4180: UTF-8, CRLF, a header record, an empty field for null. */
export const csv: Encoder = {
  name: CSV_FORMAT.name,
  mediaType: 'text/csv; charset=utf-8',
  extension: 'csv',
  isText: true,
  isCompressible: true,
  documentation:
    'RFC 4180, UTF-8, CRLF; null is an empty field. `Link` and `X-Attribution` carry the licence.',
  namesIndicator: true,
  fromKept: (table, kept) => keptHeadAndRows(table, kept, CSV_FORMAT),
  stream: (table) => headAndRows(table, CSV_FORMAT),
};

const { fromKept: _usualText, ...unkeptCsv } = csv;

/**
 * CSV that a spreadsheet opens by itself: no text of it becomes a formula. Numbers stay as they are. Workbooks need no such
 * mark, because their cells say that they are text.
 */
export const feedCsv: Encoder = {
  ...unkeptCsv,
  stream: (table) =>
    headAndRows(table, {
      ...CSV_FORMAT,
      head: (columns) =>
        CSV_FORMAT.head(columns.map((column) => ({ ...column, name: inertText(column.name) }))),
      syntax(columns) {
        const usual = recordSyntax(columns);
        return { ...usual, text: (word) => usual.text(inertText(word)) };
      },
    }),
};
