/**
 * Reads zip downloads as streams and treats them as untrusted.
 *
 * A zip's directory is at its end, so the archive is spooled to a temporary file; entries are inflated while they are
 * read and never written to disk. Guarantees: a truncated, encrypted or non-zip file is an error; sizes are checked in
 * the directory before anything is inflated, so a zip bomb is refused; no entry inflates to more than it declares; each
 * entry is checked against its CRC-32; names that point outside the archive are skipped.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import * as yauzl from 'yauzl';
import { describeError } from '../runtime/errors.ts';

export interface ZipLimits {
  /** Largest download, in bytes. */
  archive_bytes: number;
  /** Largest sum of the inflated sizes. */
  inflated_bytes: number;
  /** Largest inflated size of one entry as a multiple of its compressed size. */
  ratio: number;
  entries: number;
}

export const ZIP_LIMITS: ZipLimits = {
  archive_bytes: 512 * 1024 * 1024,
  inflated_bytes: 2 * 1024 * 1024 * 1024,
  ratio: 250,
  entries: 10_000,
};

/** The file is not a readable archive; the message says why. */
export class ZipError extends Error {
  override name = 'ZipError';
}

export interface ZipArchive {
  /** The names of its files, in the archive's order. */
  readonly names: readonly string[];
  /** One file's bytes. Throws ZipError while reading when it is damaged. */
  stream(name: string): AsyncIterable<Uint8Array>;
  /** Removes the temporary file. */
  close(): Promise<void>;
}

/** The ratio is not checked below this inflated size. */
const RATIO_MIN_BYTES = 1024 * 1024;

/** The same bytes, up to a limit; throws `fault` beyond it. */
export async function* atMost(
  bytes: AsyncIterable<Uint8Array>,
  limit: number,
  fault: () => Error,
): AsyncGenerator<Uint8Array, void, undefined> {
  let read = 0;
  for await (const chunk of bytes) {
    read += chunk.length;
    if (read > limit) throw fault();
    yield chunk;
  }
}

/** The entry's name; null for a folder and for a name that points outside the archive. */
function safeName(entry: yauzl.Entry): string | null {
  const name = yauzl.getFileNameLowLevel(
    entry.generalPurposeBitFlag,
    entry.fileNameRaw,
    entry.extraFields,
    false,
  );
  return name.endsWith('/') || yauzl.validateFileName(name) !== null ? null : name;
}

function refuseBomb(name: string, entry: yauzl.Entry, total: number, limits: ZipLimits): void {
  if (total > limits.inflated_bytes) {
    throw new ZipError(`"${name}" takes the archive past ${limits.inflated_bytes} inflated bytes`);
  }
  if (entry.uncompressedSize > Math.max(entry.compressedSize * limits.ratio, RATIO_MIN_BYTES)) {
    throw new ZipError(
      `"${name}" inflates ${entry.compressedSize} bytes to ${entry.uncompressedSize}, more than ${limits.ratio} times`,
    );
  }
}

/** Reads the directory: the entries with a safe name, by name. */
async function readDirectory(zip: yauzl.ZipFile, limits: ZipLimits): Promise<Map<string, yauzl.Entry>> {
  if (zip.entryCount > limits.entries) throw new ZipError(`more than ${limits.entries} entries`);
  const entries = new Map<string, yauzl.Entry>();
  let total = 0;
  try {
    for await (const entry of zip.eachEntry()) {
      const name = safeName(entry);
      if (name === null) continue;
      total += entry.uncompressedSize;
      refuseBomb(name, entry, total, limits);
      if (!entries.has(name)) entries.set(name, entry);
    }
  } catch (error) {
    throw error instanceof ZipError ? error : new ZipError(`damaged directory: ${describeError(error)}`);
  }
  return entries;
}

async function* inflate(
  zip: yauzl.ZipFile,
  name: string,
  entry: yauzl.Entry,
): AsyncGenerator<Uint8Array, void, undefined> {
  let sum = 0;
  try {
    const stream = await zip.openReadStreamPromise(entry);
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      sum = crc32(chunk, sum);
      yield chunk;
    }
  } catch (error) {
    throw new ZipError(`"${name}": ${describeError(error)}`);
  }
  if (sum !== entry.crc32) throw new ZipError(`"${name}" is damaged: its CRC-32 does not fit`);
}

/**
 * Opens a zip from a stream. The caller closes it.
 * @throws {ZipError} when it is truncated, not a zip, or beyond a limit.
 */
export async function openZip(
  bytes: AsyncIterable<Uint8Array>,
  limits: ZipLimits = ZIP_LIMITS,
): Promise<ZipArchive> {
  const directory = await mkdtemp(join(tmpdir(), 'almanac-zip-'));
  const path = join(directory, 'archive.zip');
  let zip: yauzl.ZipFile | undefined;
  const close = async (): Promise<void> => {
    zip?.close();
    await rm(directory, { recursive: true, force: true });
  };
  try {
    const tooLarge = () => new ZipError(`the archive is larger than ${limits.archive_bytes} bytes`);
    await writeFile(path, atMost(bytes, limits.archive_bytes, tooLarge));
    const opened = await yauzl
      .openPromise(path, { autoClose: false, decodeStrings: false, lazyEntries: true })
      .catch((error: unknown) => {
        throw new ZipError(describeError(error));
      });
    zip = opened;
    const entries = await readDirectory(opened, limits);
    return {
      names: [...entries.keys()],
      stream(name) {
        const entry = entries.get(name);
        if (!entry) throw new ZipError(`no "${name}" in the archive`);
        return inflate(opened, name, entry);
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}
