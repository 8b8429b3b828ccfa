/**
 * A table's bytes as they come, made into UTF-8 text of the table itself: unpacked when they are gzip or a zip with one
 * table in it, whatever their name says, and decoded from the character set that the definition or the package names.
 * Both are bounded and stream.
 */

import { Readable } from 'node:stream';
import { TextDecoder } from 'node:util';
import { createGunzip } from 'node:zlib';
import { CsvError } from './csv-error.ts';
import { openZip, ZIP_LIMITS } from './zip-archive.ts';

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
