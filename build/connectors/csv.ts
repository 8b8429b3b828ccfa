/**
 * CSV as a stream of row batches, the same for every protocol that is CSV underneath.
 *
 * Guarantees: a table may come packed or in another character set (`table-bytes.ts`); memory is bounded by one chunk of the file; the header is handed out before any row; every row has as
 * many cells as the header (a file cut in the middle of a row is an error, not a short row); cells are the upstream
 * text, untouched. Parsing itself is csv-parse's.
 */

import { Readable } from 'node:stream';
import { TextDecoder } from 'node:util';
import { createGunzip } from 'node:zlib';
import { type Options, parse } from 'csv-parse';
import { openZip, ZIP_LIMITS } from './zip.ts';

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

/** The file is not the table that was expected; the message says why, for the operator. */
export class CsvError extends Error {
  override name = 'CsvError';
}

/**
 * A table's bytes as they come, made into UTF-8 text of the table itself: unpacked when they are gzip or a zip with one
 * table in it, whatever their name says, and decoded from the character set that the definition or the package names.
 * Both are bounded and stream.
 */

const GZIP = Buffer.from([0x1f, 0x8b]);
const ZIP = Buffer.from('PK\x03\x04', 'latin1');
const TABLE_NAME = /\.(csv|tsv|txt)$/i;
/** What lies beside a table in zips of statistical offices. */
const NOTES_NAME = /(^|\/)(metadata|readme|licen[cs]e)[^/]*$/i;

type Bytes = AsyncGenerator<Uint8Array, void, undefined>;

async function* whole(head: Uint8Array, rest: AsyncIterator<Uint8Array>): Bytes {
  try {
    if (head.length > 0) yield head;
    for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value;
  } finally {
    await rest.return?.();
  }
}

async function* gunzipped(bytes: Bytes): Bytes {
  const source = Readable.from(bytes);
  const gunzip = createGunzip();
  source.on('error', (error) => gunzip.destroy(error));
  let inflated = 0;
  try {
    for await (const chunk of source.pipe(gunzip) as AsyncIterable<Uint8Array>) {
      inflated += chunk.length;
      if (inflated > ZIP_LIMITS.inflated_bytes)
        throw new CsvError(`inflates to more than ${ZIP_LIMITS.inflated_bytes} bytes`);
      yield chunk;
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw code?.startsWith('Z_') ? new CsvError(`damaged gzip: ${(error as Error).message}`) : error;
  } finally {
    source.destroy();
    gunzip.destroy();
  }
}

async function* unzipped(bytes: Bytes): Bytes {
  const zip = await openZip(bytes);
  try {
    const [name, ...others] = zip.names.filter((one) => TABLE_NAME.test(one) && !NOTES_NAME.test(one));
    if (name === undefined || others.length > 0)
      throw new CsvError(`expected one table in the archive, found: ${zip.names.join(', ')}`);
    yield* zip.stream(name);
  } finally {
    await zip.close();
  }
}

async function* decoded(bytes: Bytes, encoding: string): Bytes {
  const decoder = makeDecoder(encoding);
  for await (const chunk of bytes) {
    const text = decoder.decode(chunk, { stream: true });
    if (text !== '') yield Buffer.from(text);
  }
  const last = decoder.decode();
  if (last !== '') yield Buffer.from(last);
}

function makeDecoder(encoding: string): TextDecoder {
  try {
    return new TextDecoder(encoding);
  } catch {
    throw new CsvError(`nobody knows the encoding "${encoding}"`);
  }
}

const isUtf8 = (encoding: string): boolean => /^utf-?8(-sig)?$/i.test(encoding);

/** @param encoding a label of the Encoding Standard: `utf-8`, `windows-1252`, `utf-16le`, `iso-8859-2`, ... */
export async function tableBytes(source: AsyncIterable<Uint8Array>, encoding: string): Promise<Bytes> {
  const chunks = source[Symbol.asyncIterator]();
  let head: Buffer = Buffer.alloc(0);
  while (head.length < ZIP.length) {
    const next = await chunks.next();
    if (next.done) break;
    head = Buffer.concat([head, next.value]);
  }
  const bytes = whole(head, chunks);
  const startsWith = (magic: Buffer): boolean => head.subarray(0, magic.length).equals(magic);
  const plain = startsWith(GZIP) ? gunzipped(bytes) : startsWith(ZIP) ? unzipped(bytes) : bytes;
  return isUtf8(encoding) ? plain : decoded(plain, encoding);
}
