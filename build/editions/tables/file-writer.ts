/**
 * The files of a build, and those of the served snapshot, with which it is compared and from which it links what did not
 * change. New files are hashed, with compressed variants where clients receive them; kept JSON is compressed. Compression
 * runs on the thread pool, a few files at a time. `flush` syncs all files at the end.
 */
import { hash } from 'node:crypto';
import { link, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip, zstdCompress } from 'node:zlib';
import { hashFile, packJson, syncFiles, unpackJson } from '../../../data/runtime/durable-files.ts';
import { inParallel } from '../../../data/runtime/in-parallel.ts';
import {
  ENCODING_SUFFIX,
  type FileList,
  type IndexedIndicator,
  providerCatalogue,
} from '../../../data/schema/snapshot.ts';
import type { Published, SnapshotStorage } from '../snapshot-storage.ts';

const asyncBrotli = promisify(brotliCompress);
const asyncGzip = promisify(gzip);
const asyncZstd = promisify(zstdCompress);

/** Enough to keep two cores busy while other files wait for the disk. */
const PARALLEL = 4;

/** Compression effort: `most` for the few bodies that every client fetches, `fast` for the hundreds of others. */
export type Effort = 'most' | 'fast';
const LEVELS = {
  most: { brotli: 10, zstd: 19, gzip: 9 },
  fast: { brotli: 5, zstd: 6, gzip: 6 },
} as const satisfies Record<Effort, Record<string, number>>;

export interface SnapshotFile {
  path: string;
  content: string;
  /** Absent for files that clients never receive: they have no compressed variants. */
  effort?: Effort;
  /** JSON that is kept for ever: the file itself is compressed. */
  isKept?: true;
}

/** Null for a damaged file. */
function textOf(bytes: Buffer): string | null {
  try {
    return unpackJson(bytes);
  } catch {
    return null;
  }
}

/** Compressed variants by file suffix. */
async function encodings(content: Buffer, effort: Effort): Promise<[suffix: string, bytes: Buffer][]> {
  const level = LEVELS[effort];
  const size = content.length;
  const { BROTLI_PARAM_QUALITY, BROTLI_PARAM_SIZE_HINT, ZSTD_c_compressionLevel } = constants;
  const [br, zstd, gz] = await Promise.all([
    asyncBrotli(content, {
      params: { [BROTLI_PARAM_QUALITY]: level.brotli, [BROTLI_PARAM_SIZE_HINT]: size },
    }),
    // The size lets zstd choose tables for small bodies.
    asyncZstd(content, { params: { [ZSTD_c_compressionLevel]: level.zstd }, pledgedSrcSize: size }),
    asyncGzip(content, { level: level.gzip }),
  ]);
  return Object.entries({
    [ENCODING_SUFFIX.br]: br,
    [ENCODING_SUFFIX.zstd]: zstd,
    [ENCODING_SUFFIX.gzip]: gz,
  });
}

/** Writes files into a snapshot directory and collects their sizes and hashes. */
export class FileWriter {
  readonly files: FileList = {};
  readonly #directory: string;
  readonly #base: string | null;

  /** @param base holds the files of the base edition under their names; null without one. */
  constructor(directory: string, base: string | null = null) {
    this.#directory = directory;
    this.#base = base;
  }

  async #write(path: string, content: Buffer): Promise<void> {
    await writeFile(join(this.#directory, path), content);
    this.files[path] = { bytes: content.length, sha256: hash('sha256', content) };
  }

  /** Equal JSON keeps the bytes that it has in the base edition, whatever compressed them. */
  async #pack({ path, content }: SnapshotFile): Promise<Buffer> {
    const before = this.#base === null ? null : await readFile(join(this.#base, path)).catch(() => null);
    return before !== null && textOf(before) === content ? before : packJson(content);
  }

  async #writeWithEncodings(file: SnapshotFile): Promise<void> {
    const { path, content, effort, isKept } = file;
    const bytes = isKept ? await this.#pack(file) : Buffer.from(content);
    await this.#write(path, bytes);
    if (!effort) return;
    for (const [suffix, encoded] of await encodings(bytes, effort)) await this.#write(path + suffix, encoded);
  }

  /** Writes all files. Contents are generated as they are needed. */
  async writeAll(files: Iterable<SnapshotFile>, onFile: (done: number) => void): Promise<void> {
    const folders = new Map<string, Promise<unknown>>();
    let done = 0;
    await inParallel(files, PARALLEL, async (file) => {
      const folder = dirname(join(this.#directory, file.path));
      folders.set(folder, folders.get(folder) ?? mkdir(folder, { recursive: true }));
      await folders.get(folder);
      await this.#writeWithEncodings(file);
      done += 1;
      onFile(done);
    });
  }

  /** Flushes all files to disk. */
  async flush(): Promise<void> {
    await syncFiles(Object.keys(this.files).map((path) => join(this.#directory, path)));
  }

  /** Adds files that DuckDB wrote. */
  async adopt(paths: readonly string[], inputs: ReadonlyMap<string, string>): Promise<void> {
    await inParallel(paths, PARALLEL, async (path) => {
      const { bytes, sha256 } = await hashFile(join(this.#directory, path));
      const hash = inputs.get(path);
      this.files[path] = { bytes, sha256, ...(hash === undefined ? {} : { inputs: hash }) };
    });
  }
}

const BEFORE = '.before';

export interface BaseEdition extends Published {
  /** Holds its files under their names, but for those below `routes/`. */
  directory: string;
  /** Its prerendered files there. */
  tables: FileList;
}

/**
 * Links the files that have the same inputs in the base edition and still match its manifest: a damaged one is written again.
 * @param inputs by the names of all files, whose folders are made
 * @returns the names of the others.
 */
export async function linkUnchanged(
  base: Pick<BaseEdition, 'directory' | 'kept' | 'tables'> | null,
  directory: string,
  inputs: ReadonlyMap<string, string>,
  onLinked: (files: number) => void = () => {},
): Promise<Set<string>> {
  const changed = new Set(inputs.keys());
  const folders = new Set([...changed].map((file) => dirname(join(directory, file))));
  for (const folder of folders) await mkdir(folder, { recursive: true });
  for (const [file, own] of inputs) {
    const known = base?.kept[file] ?? base?.tables[file];
    if (!base || known?.inputs !== own) continue;
    const actual = await hashFile(join(base.directory, file)).catch(() => null);
    if (actual?.sha256 !== known.sha256) continue;
    await link(join(base.directory, file), join(directory, file));
    changed.delete(file);
    onLinked(inputs.size - changed.size);
  }
  return changed;
}

/** Shows the served snapshot below the directory of a build; null when there is none or it cannot be read. */
export async function showBase(storage: SnapshotStorage, building: string): Promise<BaseEdition | null> {
  const published = await storage.current();
  if (published === null) return null;
  const prerendered = (await storage.prerendered(published)) ?? {};
  const tables: FileList = Object.fromEntries(
    Object.entries(prerendered).filter(([name]) => !name.startsWith('routes/')),
  );
  const directory = join(building, BEFORE);
  await rm(directory, { recursive: true, force: true });
  await storage.show({ ...published.kept, ...tables }, directory);
  return { ...published, directory, tables };
}

/** The catalogue of all providers. */
export async function baseCatalogue({ directory }: BaseEdition): Promise<IndexedIndicator[]> {
  const folder = join(directory, 'catalogue');
  const names = await readdir(folder).catch(() => []);
  const files = await Promise.all(names.map((name) => readFile(join(folder, name))));
  return files.flatMap((bytes) => providerCatalogue.parse(JSON.parse(unpackJson(bytes))));
}
