/**
 * Files of data exports: `<directory>/<request id>.zip`, a zip archive with one list of JSON lines (NDJSON) for each kind
 * of record. A file is streamed to disk in bounded memory and appears whole, by one rename.
 */
import { randomBytes } from 'node:crypto';
import { createReadStream, createWriteStream, type ReadStream } from 'node:fs';
import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ZipFile } from 'yazl';
import { whenAbsent } from '../../../data/runtime/durable-files.ts';
import type { ExportList } from './data-export.ts';

const SUFFIX = '.zip';
const FILE = /^\.?(req_[0-9a-z]+)\.zip/;
/** Text that goes to the compressor at once. */
const CHUNK_CHARS = 256 * 1024;
const OWNER_ONLY = { directory: 0o700, file: 0o600 };

export class ExportFiles {
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** Writes the file of a request and returns its size. @param onRow is called after each row of a list. */
  async write(
    request_id: string,
    lists: readonly ExportList[],
    onRow: (list: ExportList) => Promise<void> | void,
  ): Promise<number> {
    await mkdir(this.#directory, { recursive: true, mode: OWNER_ONLY.directory });
    const part = join(this.#directory, `.${request_id}${SUFFIX}.${randomBytes(6).toString('hex')}`);
    try {
      await pipeline(writeZip(lists, onRow), createWriteStream(part, { mode: OWNER_ONLY.file, flags: 'wx' }));
      const file = await open(part, 'r+');
      await file.sync().finally(() => file.close());
      await rename(part, this.#path(request_id));
    } finally {
      await rm(part, { force: true });
    }
    return (await this.size(request_id)) ?? 0;
  }

  /** In bytes; null if there is no file. */
  async size(request_id: string): Promise<number | null> {
    const found = await stat(this.#path(request_id)).catch(whenAbsent(null));
    return found?.size ?? null;
  }

  read(request_id: string): ReadStream {
    return createReadStream(this.#path(request_id));
  }

  /** Deletes the file, and what interrupted attempts left. */
  async delete(request_id: string): Promise<void> {
    const names = (await this.#names()).filter((name) => parseRequestId(name) === request_id);
    await Promise.all(names.map((name) => rm(join(this.#directory, name), { force: true })));
  }

  /** Ids of requests with a file, or with what an interrupted attempt left. */
  async list(): Promise<string[]> {
    return [...new Set((await this.#names()).flatMap((name) => parseRequestId(name) ?? []))];
  }

  async #names(): Promise<string[]> {
    return readdir(this.#directory).catch(whenAbsent([]));
  }

  #path(request_id: string): string {
    const name = `${request_id}${SUFFIX}`;
    if (parseRequestId(name) !== request_id) throw new RangeError(`${request_id} is not the id of a request`);
    return join(this.#directory, name);
  }
}

const parseRequestId = (name: string): string | null => FILE.exec(name)?.[1] ?? null;

/** A stream of the zip archive; fails with the error of a list. */
function writeZip(
  lists: readonly ExportList[],
  onRow: (list: ExportList) => Promise<void> | void,
): NodeJS.ReadableStream {
  const zip = new ZipFile();
  const output = zip.outputStream as Readable;
  // One list is read at a time.
  let reading: Readable | null = null;
  zip.on('error', (error: Error) => output.destroy(error));
  output.once('close', () => reading?.destroy());
  zip.addBuffer(Buffer.from(readMe(lists)), 'README.txt');
  for (const list of lists)
    zip.addReadStreamLazy(`${list.name}.ndjson`, (take) => {
      const lines = Readable.from(linesOf(list, onRow), { objectMode: false });
      lines.once('error', (error) => output.destroy(error));
      reading = lines;
      take(null, lines);
    });
  zip.end();
  return output;
}

async function* linesOf(
  list: ExportList,
  onRow: (list: ExportList) => Promise<void> | void,
): AsyncGenerator<string> {
  let chunk = '';
  for await (const row of list.rows()) {
    chunk += `${JSON.stringify(row)}\n`;
    await onRow(list);
    if (chunk.length < CHUNK_CHARS) continue;
    yield chunk;
    chunk = '';
  }
  if (chunk !== '') yield chunk;
}

const readMe = (lists: readonly ExportList[]): string =>
  [
    'All data that is stored about you. Each file holds one JSON object per line (NDJSON); times ending in `_ms` are',
    'Unix milliseconds. Secrets such as keys and passwords are not stored and not included.',
    '',
    ...lists.map(({ name, help }) => `${name}.ndjson: ${help}`),
    '',
  ].join('\n');
