/**
 * Streams CSV as batches of rows, for every protocol that is CSV underneath. csv-parse does the parsing.
 *
 * Guarantees: a table may be compressed and in any character set; memory is bounded by one chunk of the file; the header
 * comes before any row; each row has as many cells as the header (a file cut in the middle of a row is an error); cells
 * are the unchanged upstream text.
 */
import { pipeline } from 'node:stream';
import { TextDecoder } from 'node:util';
import { createGunzip } from 'node:zlib';
import { type Options, parse } from 'csv-parse';
import { atMost, openZip, ZIP_LIMITS } from './zip.ts';

/** What is empty or null has its default. */
export interface CsvOptions {
  /** A delimiter, or a function of the header line. Default: the most frequent of `,` `;` tab `|` in it. */
  delimiter?: string | ((headerLine: string) => string) | null;
  /** A label of the Encoding Standard. Default: UTF-8. */
  encoding?: string | null | undefined;
  quote?: string | null | undefined;
  escape?: string | null | undefined;
  comment?: string | null | undefined;
  trimLeft?: boolean;
  /** Lines to skip above the header. */
  preamble?: number;
  /** False when the file has no header row: columns are then called `column1`, `column2`, ... */
  header?: boolean;
}

export interface CsvTable {
  header: string[];
  /** The rows below the header in file order, hundreds or thousands in a batch. Can be read once. */
  batches: AsyncIterable<string[][]>;
}

/** The file is not the expected table; the message tells operators why. */
export class CsvError extends Error {
  override name = 'CsvError';
}

type Bytes = AsyncGenerator<Uint8Array, void, undefined>;

const HEADER_LIMIT_BYTES = 1_000_000;
const LINE_FEED = 0x0a;
const DELIMITERS = [',', ';', '\t', '|'];

/**
 * Opens a CSV file: its header first, its rows as a stream.
 * @throws {CsvError} when the file is empty or not CSV; the stream throws it for a row of the wrong width.
 */
export async function openCsv(bytes: AsyncIterable<Uint8Array>, options: CsvOptions = {}): Promise<CsvTable> {
  const { preamble = 0, header = true } = options;
  const text = await decompressAndDecode(bytes, options.encoding || 'utf-8');
  const { found, head, rest } = await readStart(text, (start, isEnd) => findHeader(start, isEnd, preamble));
  const delimiter = options.delimiter || detectDelimiter;
  const batches = parseBatches(prepend<Uint8Array>([head.subarray(found.start)], rest), {
    delimiter: typeof delimiter === 'string' ? delimiter : delimiter(found.line.replace(/^\uFEFF/, '')),
    bom: true,
    quote: options.quote || '"',
    escape: options.escape || options.quote || '"',
    comment: options.comment || null,
    ltrim: options.trimLeft ?? false,
    skip_empty_lines: true,
  });
  const first = await batches.next();
  const [row] = first.done ? [] : first.value;
  if (first.done || !row) throw new CsvError('the file is empty');
  const rows = header ? first.value.slice(1) : first.value;
  return {
    header: header ? row : row.map((_, index) => `column${index + 1}`),
    batches: prepend(rows.length > 0 ? [rows] : [], batches),
  };
}

/**
 * Reads a small table as one record per row, by column name.
 * @param required columns that must exist
 * @throws {CsvError} as `openCsv` does, and for a missing column.
 */
export async function* readCsvRecords(
  bytes: AsyncIterable<Uint8Array>,
  required: readonly string[] = [],
): AsyncGenerator<Record<string, string>, void, undefined> {
  const { header, batches } = await openCsv(bytes);
  for (const name of required) columnIndex(header, name);
  for await (const batch of batches) {
    for (const cells of batch) {
      yield Object.fromEntries(header.map((name, index) => [name, cells[index] ?? '']));
    }
  }
}

/**
 * The index of the column with exactly this name: code and label columns may differ by case or spaces only.
 * @throws {CsvError} that lists the columns.
 */
export function columnIndex(header: readonly string[], name: string): number {
  const index = header.indexOf(name);
  if (index < 0) throw new CsvError(`no column "${name}"; there are: ${header.join(', ')}`);
  return index;
}

/** The most frequent delimiter of a header line, outside quotes; a comma when there is none. */
export function detectDelimiter(headerLine: string): string {
  const unquoted = headerLine.replaceAll(/"[^"]*"/g, '');
  const counts = DELIMITERS.map((delimiter) => ({ delimiter, count: unquoted.split(delimiter).length }));
  return counts.reduce((best, one) => (one.count > best.count ? one : best)).delimiter;
}

/**
 * Reads the beginning of a file until something is found in it. Closes the file when `find` throws.
 * @param find gets what was read so far and whether that is all; returns null to read on, which it must not at the end
 */
export async function readStart<Found>(
  source: AsyncIterable<Uint8Array>,
  find: (head: Buffer, isEnd: boolean) => Found | null,
): Promise<{ found: Found; head: Buffer; rest: AsyncIterator<Uint8Array> }> {
  const rest = source[Symbol.asyncIterator]();
  let head = Buffer.alloc(0);
  try {
    for (;;) {
      const next = await rest.next();
      if (!next.done) head = Buffer.concat([head, next.value]);
      const found = find(head, next.done === true);
      if (found !== null) return { found, head, rest };
    }
  } catch (error) {
    await rest.return?.();
    throw error;
  }
}

/** Yields the items already read, then the rest of an iterator, which it closes. */
export async function* prepend<Item>(
  head: readonly Item[],
  rest: AsyncIterator<Item>,
): AsyncGenerator<Item, void, undefined> {
  try {
    yield* head;
    for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value;
  } finally {
    await rest.return?.();
  }
}

/** The index after the preamble, or -1 when the text is shorter. Its lines need not be valid CSV. */
function skipLines(text: string, lines: number): number {
  let at = 0;
  for (let line = 0; line < lines; line += 1) {
    at = text.indexOf('\n', at) + 1;
    if (at === 0) return -1;
  }
  return at;
}

/** The index of the header's line break outside quotes, or -1. */
function findHeaderEnd(text: string, start: number): number {
  let isQuoted = false;
  for (let at = start; at < text.length; at += 1) {
    if (text[at] === '"') isQuoted = !isQuoted;
    else if (text[at] === '\n' && !isQuoted) return at;
  }
  return -1;
}

/** The header line behind the preamble, and the byte at which it starts; null until it is complete. */
function findHeader(head: Buffer, isEnd: boolean, preamble: number): { line: string; start: number } | null {
  const isTooLong = head.length > HEADER_LIMIT_BYTES;
  if (!isEnd && !isTooLong && !head.includes(LINE_FEED)) return null;
  const text = head.toString('utf8');
  const start = skipLines(text, preamble);
  const end = start < 0 ? -1 : findHeaderEnd(text, start);
  if (end < 0 && !isEnd) {
    if (isTooLong) throw new CsvError('no line break in the first megabyte');
    return null;
  }
  const line = text.slice(Math.max(start, 0), end < 0 ? undefined : end);
  if (/^\uFEFF?\s*<[!?a-z]/i.test(line)) throw new CsvError('a page of HTML or XML instead of a table');
  return { line, start: start <= 0 ? 0 : Buffer.byteLength(text.slice(0, start)) };
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
  const throwFailure = (): void => {
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
      throwFailure();
      if (batch.length > 0) yield batch;
    }
    parser.end();
    const last: string[][] = [];
    for await (const row of parser) last.push(row as string[]);
    throwFailure();
    if (last.length > 0) yield last;
  } catch (error) {
    throwFailure();
    throw error;
  } finally {
    parser.destroy();
  }
}

const GZIP_MAGIC = Buffer.from([0x1f, 0x8b]);
const ZIP_MAGIC = Buffer.from('PK\x03\x04', 'latin1');
const TABLE_NAME = /\.(csv|tsv|txt)$/i;
/** Files beside the table in zips of statistical offices. */
const NOTES_NAME = /(^|\/)(metadata|readme|licen[cs]e)[^/]*$/i;

/** Makes a file into UTF-8 text. Compression is recognised by the first bytes, not by the file name. */
async function decompressAndDecode(source: AsyncIterable<Uint8Array>, encoding: string): Promise<Bytes> {
  const { head, rest } = await readStart(
    source,
    ({ length }, isEnd) => isEnd || length >= ZIP_MAGIC.length || null,
  );
  const bytes = prepend<Uint8Array>([head], rest);
  const startsWith = (magic: Buffer): boolean => head.subarray(0, magic.length).equals(magic);
  const plain = startsWith(GZIP_MAGIC) ? gunzip(bytes) : startsWith(ZIP_MAGIC) ? unzip(bytes) : bytes;
  return /^utf-?8(-sig)?$/i.test(encoding) ? plain : decode(plain, encoding);
}

async function* gunzip(bytes: Bytes): Bytes {
  const limit = ZIP_LIMITS.inflated_bytes;
  try {
    // Closes both ends. What fails in one of them reaches the reader.
    const inflated = pipeline(bytes, createGunzip(), () => {});
    yield* atMost(inflated, limit, () => new CsvError(`inflates to more than ${limit} bytes`));
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw code?.startsWith('Z_') ? new CsvError(`damaged gzip: ${message}`) : error;
  }
}

async function* unzip(bytes: Bytes): Bytes {
  const zip = await openZip(bytes);
  try {
    const [name, ...others] = zip.names.filter((one) => TABLE_NAME.test(one) && !NOTES_NAME.test(one));
    if (name === undefined || others.length > 0) {
      throw new CsvError(`expected one table in the archive, found: ${zip.names.join(', ')}`);
    }
    yield* zip.stream(name);
  } finally {
    await zip.close();
  }
}

/** @param encoding a label of the Encoding Standard: `windows-1252`, `utf-16le`, `iso-8859-2`, ... */
async function* decode(bytes: Bytes, encoding: string): Bytes {
  let decoder: TextDecoder;
  try {
    decoder = new TextDecoder(encoding);
  } catch {
    throw new CsvError(`unknown encoding "${encoding}"`);
  }
  for await (const chunk of bytes) {
    const text = decoder.decode(chunk, { stream: true });
    if (text !== '') yield Buffer.from(text);
  }
  const last = decoder.decode();
  if (last !== '') yield Buffer.from(last);
}
