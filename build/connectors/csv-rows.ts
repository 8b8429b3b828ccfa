/**
 * CSV as a stream of row batches, the same for every protocol that is CSV underneath.
 *
 * Guarantees: a table may come packed or in another character set (`table-bytes.ts`); memory is bounded by one chunk of the file; the header is handed out before any row; every row has as
 * many cells as the header (a file cut in the middle of a row is an error, not a short row); cells are the upstream
 * text, untouched. Parsing itself is csv-parse's.
 */
import { type Options, parse } from 'csv-parse';
import { CsvError } from './csv-error.ts';
import { tableBytes } from './table-bytes.ts';

export { CsvError } from './csv-error.ts';

export interface CsvOptions {
  /** A delimiter, or a rule that finds it in the header line. Default: the commonest of `,` `;` tab `|` there. */
  delimiter?: string | ((headerLine: string) => string);
  /** A label of the Encoding Standard. Default: UTF-8. */
  encoding?: string;
  quote?: string;
  escape?: string;
  comment?: string | null;
  trimLeft?: boolean;
  /** Lines above the header that are not part of the table. */
  preamble?: number;
  /** False when the file has no header row; the first row is then data. */
  header?: boolean;
}

export interface CsvTable {
  header: string[];
  /** The rows below the header, in file order, some hundreds or thousands at a time. Can be read once. */
  batches: AsyncIterable<string[][]>;
}

const HEADER_LIMIT_BYTES = 1_000_000;
const LINE_FEED = 0x0a;
const CANDIDATES = [',', ';', '\t', '|'];

/** The commonest candidate delimiter of a header line, outside quotes; a comma when there is none. */
export function sniffDelimiter(headerLine: string): string {
  const bare = headerLine.replaceAll(/"[^"]*"/g, '');
  const counted = CANDIDATES.map((candidate) => ({ candidate, count: bare.split(candidate).length - 1 }));
  const best = counted.reduce((a, b) => (b.count > a.count ? b : a));
  return best.candidate;
}

/** Where the lines above the table end, as an index into the text; -1 when they do not. They follow no CSV rules. */
function afterPreamble(text: string, lines: number): number {
  let at = 0;
  for (let line = 0; line < lines; line += 1) {
    at = text.indexOf('\n', at) + 1;
    if (at === 0) return -1;
  }
  return at;
}

/** Where the header line ends, or -1: line breaks inside quotes do not count. */
function endOfHeader(text: string, start: number): number {
  let quoted = false;
  for (let at = start; at < text.length; at += 1) {
    if (text[at] === '"') quoted = !quoted;
    else if (text[at] === '\n' && !quoted) return at;
  }
  return -1;
}

/** Reads until the header line is complete. Returns its text and everything read so far, the preamble left out. */
async function readHead(
  chunks: AsyncIterator<Uint8Array>,
  preamble: number,
): Promise<{ line: string; head: Buffer }> {
  const read: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const next = await chunks.next();
    if (!next.done) {
      read.push(next.value);
      size += next.value.length;
    }
    if (!next.done && !next.value.includes(LINE_FEED) && size <= HEADER_LIMIT_BYTES) continue;
    const head = Buffer.concat(read);
    const text = head.toString('utf8');
    const start = afterPreamble(text, preamble);
    const end = start < 0 ? -1 : endOfHeader(text, start);
    const skipped = start <= 0 ? 0 : Buffer.byteLength(text.slice(0, start));
    if (end >= 0) return { line: text.slice(start, end), head: head.subarray(skipped) };
    if (next.done) return { line: text.slice(Math.max(start, 0)), head: head.subarray(skipped) };
    if (size > HEADER_LIMIT_BYTES) throw new CsvError('no line break in the first megabyte');
  }
}

async function* withHead(
  head: Buffer,
  rest: AsyncIterator<Uint8Array>,
): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    if (head.length > 0) yield head;
    for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value;
  } finally {
    await rest.return?.();
  }
}

async function* parseBatches(
  chunks: AsyncIterable<Uint8Array>,
  options: Options,
): AsyncGenerator<string[][], void, undefined> {
  const parser = parse(options);
  let failure: Error | null = null;
  parser.on('error', (error) => {
    failure = error;
  });
  const check = (): void => {
    if (failure) throw new CsvError(failure.message);
  };
  const drain = (): string[][] => {
    const batch: string[][] = [];
    for (let row = parser.read(); row !== null; row = parser.read()) batch.push(row as string[]);
    return batch;
  };
  try {
    for await (const chunk of chunks) {
      parser.write(chunk);
      const batch = drain();
      check();
      if (batch.length > 0) yield batch;
    }
    parser.end();
    const last: string[][] = [];
    for await (const row of parser) last.push(row as string[]);
    check();
    if (last.length > 0) yield last;
  } catch (error) {
    check();
    throw error;
  } finally {
    parser.destroy();
  }
}

/**
 * Opens a CSV file: its header first, its rows as a stream.
 * @throws {CsvError} when the file is empty or not CSV; the stream throws it for a row of the wrong width.
 */
export async function openCsv(bytes: AsyncIterable<Uint8Array>, options: CsvOptions = {}): Promise<CsvTable> {
  const { encoding = 'utf-8', preamble = 0, header = true } = options;
  const chunks = (await tableBytes(bytes, encoding))[Symbol.asyncIterator]();
  const { line, head } = await readHead(chunks, preamble).catch(async (error: unknown) => {
    await chunks.return?.();
    throw error;
  });
  if (/^\uFEFF?\s*<[!?a-z]/i.test(line)) {
    await chunks.return?.();
    throw new CsvError('a page of HTML or XML in place of a table');
  }
  const { delimiter: wanted = sniffDelimiter } = options;
  const delimiter = typeof wanted === 'string' ? wanted : wanted(line.replace(/^\uFEFF/, ''));
  const batches = parseBatches(withHead(head, chunks), {
    delimiter,
    bom: true,
    quote: options.quote ?? '"',
    escape: options.escape ?? options.quote ?? '"',
    comment: options.comment ?? null,
    ltrim: options.trimLeft ?? false,
    skip_empty_lines: true,
  });
  const first = await batches.next();
  const [row] = first.done ? [] : first.value;
  if (first.done || !row) throw new CsvError('the file is empty');
  const rest = header ? first.value.slice(1) : first.value;
  return {
    header: header ? row : row.map((_, index) => `column${index + 1}`),
    batches: restOf(rest, batches),
  };
}

async function* restOf(
  first: string[][],
  rest: AsyncGenerator<string[][], void, undefined>,
): AsyncGenerator<string[][], void, undefined> {
  try {
    if (first.length > 0) yield first;
    yield* rest;
  } finally {
    await rest.return();
  }
}

/**
 * The place of a column by its exact name; case and spaces count, for code and label columns may differ by them only.
 * @throws {CsvError} naming the columns that there are.
 */
export function columnIndex(header: readonly string[], name: string): number {
  const index = header.indexOf(name);
  if (index < 0) throw new CsvError(`no column "${name}"; there are: ${header.join(', ')}`);
  return index;
}
