/**
 * The published files by content, and those of one edition by name. The lists of providers are read when one of their files
 * is wanted, and shared with other editions that have the same list.
 *
 * A file that is read whole is verified by its hash; others are verified by the scrub, or when reading them fails. A file
 * may disappear or change while it is served: a volume that is unmounted, a disk that fails. A read of such a file is
 * unavailable, not an internal error, and no answer is made from a file that is known to have another content than published.
 */
import { createHash, hash } from 'node:crypto';
import { access, type FileHandle, open, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { unpackJson } from '../../../../data/runtime/durable-files.ts';
import {
  type FileList,
  type FileRef,
  type Manifest,
  manifestPath,
  objectPath,
  providerOfFile,
} from '../../../../data/schema/snapshot.ts';
import type { ParsedObjects } from './memory.ts';

/** A file cannot be read as it was published: a transient fault, reported as `unavailable`. */
export class SnapshotUnreadable extends Error {
  override name = 'SnapshotUnreadable';
}

/** What tells whether a file was replaced: size, time and place. */
type Stamp = string;

const BLOCK_BYTES = 256 * 1024;

/** Fetches objects from the origin that is followed. */
export interface ObjectOrigin {
  /**
   * Resolves when all are here, verified.
   * @throws {Error} when one cannot be had; with `isAbsent` when the origin has no such object.
   */
  ensure(refs: Iterable<FileRef>): Promise<void>;
}

const isAbsent = (error: unknown): boolean =>
  error instanceof Error && 'isAbsent' in error && error.isAbsent === true;

export class Objects {
  readonly #directory: string;
  /** By hash, the stamp of a file with another content. A missing file is not damaged: it may be back at once. */
  readonly #damaged = new Map<string, Stamp>();

  readonly #origin: ObjectOrigin | null;

  /** @param directory of the snapshots. @param origin null when the directory holds all objects. */
  constructor(directory: string, origin: ObjectOrigin | null = null) {
    this.#directory = directory;
    this.#origin = origin;
  }

  path({ sha256 }: FileRef): string {
    return join(this.#directory, objectPath(sha256));
  }

  isDamaged({ sha256 }: FileRef): boolean {
    return this.#damaged.has(sha256);
  }

  /** Fetches what is missing or known to be damaged, where an origin is followed. @throws {Error} of the fetch. */
  async ensure(refs: readonly FileRef[]): Promise<void> {
    if (this.#origin === null) return;
    for (const ref of refs) if (this.#damaged.delete(ref.sha256)) await rm(this.path(ref), { force: true });
    await this.#origin.ensure(refs);
  }

  /** The whole file, verified. @throws {Error} of the file system, or when it has another content. */
  async read(ref: FileRef): Promise<Buffer> {
    await this.ensure([ref]);
    const bytes = await readFile(this.path(ref));
    if (bytes.length === ref.bytes && hash('sha256', bytes) === ref.sha256) {
      this.#damaged.delete(ref.sha256);
      return bytes;
    }
    const stamp = await this.#stampOf(ref);
    if (stamp !== null) this.#damaged.set(ref.sha256, stamp);
    throw new SnapshotUnreadable('another content than published');
  }

  /** Whether it is kept, here or at the origin. @throws {SnapshotUnreadable} when the origin does not say. */
  async isKept(ref: FileRef): Promise<boolean> {
    try {
      await this.ensure([ref]);
    } catch (cause) {
      if (isAbsent(cause)) return false;
      throw new SnapshotUnreadable('the origin cannot be asked', { cause });
    }
    return this.hasSize(ref);
  }

  /** Whether the file is there in its length. Reads nothing. */
  async hasSize(ref: FileRef): Promise<boolean> {
    const file = await stat(this.path(ref)).catch(() => null);
    return file?.isFile() === true && file.size === ref.bytes;
  }

  /**
   * Hashes the file, unless it is known to be damaged and was not replaced since.
   * @param pace awaited after each block with its length.
   */
  async verify(ref: FileRef, pace: (bytes: number) => Promise<void> = async () => {}): Promise<boolean> {
    const stamp = await this.#stampOf(ref);
    if (stamp !== null && this.#damaged.get(ref.sha256) === stamp) return false;
    const isSound = stamp !== null && (await this.#hasContent(ref, pace));
    if (isSound || stamp === null) this.#damaged.delete(ref.sha256);
    else this.#damaged.set(ref.sha256, stamp);
    return isSound;
  }

  async #hasContent(ref: FileRef, pace: (bytes: number) => Promise<void>): Promise<boolean> {
    const file = await open(this.path(ref)).catch(() => null);
    if (file === null) return false;
    try {
      return (await hashFile(file, pace)) === ref.sha256;
    } catch {
      return false;
    } finally {
      await file.close();
    }
  }

  async #stampOf(ref: FileRef): Promise<Stamp | null> {
    const file = await stat(this.path(ref)).catch(() => null);
    return file === null ? null : `${file.size} ${file.mtimeMs} ${file.ctimeMs} ${file.ino}`;
  }
}

async function hashFile(file: FileHandle, pace: (bytes: number) => Promise<void>): Promise<string> {
  const whole = createHash('sha256');
  const block = Buffer.allocUnsafe(BLOCK_BYTES);
  for (;;) {
    const { bytesRead } = await file.read(block);
    if (bytesRead === 0) return whole.digest('hex');
    whole.update(block.subarray(0, bytesRead));
    await pace(bytesRead);
  }
}

export interface ObjectSource {
  /** SNAPSHOT_DIR. */
  directory: string;
  objects: Objects;
  parsed: ParsedObjects;
  /** Called once for each file that cannot be read as it was published. */
  onUnreadable: (name: string, ref: FileRef) => void;
}

const NO_FILES: FileList = {};
/** Files whose size is checked at a time. */
const CHECKED_AT_ONCE = 64;

export class SnapshotFiles {
  readonly manifest: Manifest;
  readonly #source: ObjectSource;
  readonly #lists = new Map<string, FileList>();
  #prerendered: FileList = NO_FILES;
  readonly #unreadable = new Map<string, FileRef>();

  constructor(manifest: Manifest, source: ObjectSource) {
    this.manifest = manifest;
    this.#source = source;
  }

  /** The file that could not be read first; null while all could be. */
  get unreadable(): string | null {
    const [first] = this.#unreadable.keys();
    return first ?? null;
  }

  /** Prerendered files; none before `loadPrerendered`. */
  get prerendered(): FileList {
    return this.#prerendered;
  }

  async loadPrerendered(): Promise<void> {
    const { prerendered } = this.manifest;
    this.#prerendered = await this.#shared('the list of prerendered files', prerendered, 'json', parseJson);
  }

  /** Whether the edition still has prerendered files; `find` then knows them. @throws {SnapshotUnreadable} */
  async hasPrerendered(): Promise<boolean> {
    if (this.#prerendered !== NO_FILES) return true;
    if (!(await this.#source.objects.isKept(this.manifest.prerendered))) return false;
    await this.loadPrerendered();
    return true;
  }

  /** Names of the kept files in a folder. */
  async namesIn(folder: string): Promise<string[]> {
    await this.loadLists();
    const names = [...this.#lists.values()].flatMap((list) => Object.keys(list));
    return names.filter((name) => name.startsWith(folder));
  }

  /** Reads the lists of all providers, so that `find` returns at once. */
  async loadLists(): Promise<void> {
    await Promise.all(Object.keys(this.manifest.providers).map((provider) => this.#list(provider)));
  }

  /** Where a file is; at once when its list has been read. Undefined when the edition has no such file. */
  find(name: string): FileRef | undefined | Promise<FileRef | undefined> {
    const own = this.manifest.kept[name] ?? this.#prerendered[name];
    const provider = own === undefined ? providerOfFile(name) : null;
    if (own !== undefined || provider === null) return own;
    const list = this.#list(provider);
    return list instanceof Promise ? list.then((files) => files[name]) : list[name];
  }

  /** Number and bytes of the files whose lists have been read. */
  get size(): { files: number; bytes: number } {
    const refs = this.all().map(([, ref]) => ref.bytes);
    return { files: refs.length, bytes: refs.reduce((sum, bytes) => sum + bytes, 0) };
  }

  /** The files whose lists have been read. */
  all(): [name: string, ref: FileRef][] {
    const lists = [this.manifest.kept, ...this.#lists.values(), this.#prerendered];
    return lists.flatMap((list) => Object.entries(list));
  }

  /** Whether the manifest and the files by content are there. */
  isPresent(): Promise<boolean> {
    const { directory, objects } = this.#source;
    const paths = [join(directory, manifestPath(this.manifest.id)), objects.path(this.manifest.prerendered)];
    return Promise.all(paths.map((path) => access(path))).then(
      () => true,
      () => false,
    );
  }

  /** The whole file, verified. @throws {SnapshotUnreadable} */
  async read(name: string): Promise<Buffer> {
    return this.#read(name, this.#known(name, await this.find(name)));
  }

  /**
   * What a file of JSON holds, made from its text once for all editions that have it; undefined when this one has no such
   * file. Shapes are not checked: a verified file has the bytes that the build validated and wrote.
   * @param form name of what `make` gives.
   * @throws {SnapshotUnreadable}
   */
  async shared<Made extends object>(
    name: string,
    form: string,
    make: (text: string) => Made,
  ): Promise<Made | undefined> {
    const ref = await this.find(name);
    return ref === undefined ? undefined : this.#shared(name, ref, form, make);
  }

  /** `shared` for JSON. @throws {SnapshotUnreadable} */
  json<Parsed extends object>(name: string): Promise<Parsed | undefined> {
    return this.shared<Parsed>(name, 'json', parseJson);
  }

  /** Passes on what is read from files. @throws {SnapshotUnreadable} when that failed because of one of them. */
  async use<T>(names: readonly string[], reading: (paths: string[]) => Promise<T>): Promise<T> {
    const refs = await Promise.all(names.map(async (name) => this.#known(name, await this.find(name))));
    const { objects } = this.#source;
    const isMissing = async (ref: FileRef) => !(await objects.hasSize(ref));
    await objects.ensure(refs).catch((cause: unknown) => {
      throw new SnapshotUnreadable(`${names.join(', ')} cannot be fetched`, { cause });
    });
    for (const [at, ref] of refs.entries())
      if (objects.isDamaged(ref)) throw this.#fail(names[at] ?? '', ref, undefined);
    try {
      return await reading(refs.map((ref) => objects.path(ref)));
    } catch (cause) {
      const isBad = isFileError(cause) ? isMissing : async (ref: FileRef) => !(await objects.verify(ref));
      for (const [at, ref] of refs.entries())
        if (await isBad(ref)) throw this.#fail(names[at] ?? '', ref, cause);
      // A file that was away for a moment.
      if (isFileError(cause) && refs[0]) throw this.#fail(names[0] ?? '', refs[0], cause);
      throw cause;
    }
  }

  /** Where a file lies, in its whole size. @throws {SnapshotUnreadable} */
  async pathOf(name: string): Promise<string> {
    const { bytes } = this.#known(name, await this.find(name));
    return this.use([name], async ([path = '']) => {
      const { size } = await stat(path);
      if (size !== bytes) throw new Error(`${name} has ${size} bytes instead of ${bytes}`);
      return path;
    });
  }

  /** Hashes one file. @param pace awaited after each block with its length. */
  async verify(name: string, pace?: (bytes: number) => Promise<void>): Promise<boolean> {
    const ref = await this.find(name);
    if (ref === undefined || (await this.#source.objects.verify(ref, pace))) return true;
    this.#fail(name, ref, undefined);
    return false;
  }

  /** Looks again at files that could not be read. */
  async recheck(): Promise<void> {
    for (const [name, ref] of this.#unreadable) {
      await this.#source.objects.ensure([ref]).catch(() => {});
      if (await this.#source.objects.verify(ref)) this.#unreadable.delete(name);
    }
  }

  /** Compares all files by size, after they were away. */
  async checkSizes(): Promise<void> {
    const files = this.all();
    for (let at = 0; at < files.length; at += CHECKED_AT_ONCE)
      await Promise.all(
        files.slice(at, at + CHECKED_AT_ONCE).map(async ([name, ref]) => {
          if (!(await this.#source.objects.hasSize(ref))) this.#fail(name, ref, undefined);
        }),
      );
  }

  #shared<Made extends object>(
    name: string,
    ref: FileRef,
    form: string,
    make: (text: string) => Made,
  ): Made | Promise<Made> {
    return this.#source.parsed.get(ref, form, async () => make(unpackJson(await this.#read(name, ref))));
  }

  async #read(name: string, ref: FileRef): Promise<Buffer> {
    try {
      return await this.#source.objects.read(ref);
    } catch (cause) {
      throw this.#fail(name, ref, cause);
    }
  }

  #known(name: string, ref: FileRef | undefined): FileRef {
    if (ref === undefined) throw new Error(`the snapshot has no ${name}`);
    return ref;
  }

  #list(provider: string): FileList | Promise<FileList> {
    const known = this.#lists.get(provider);
    if (known !== undefined) return known;
    const ref = this.manifest.providers[provider];
    if (ref === undefined) return NO_FILES;
    const parsed = this.#shared<FileList>(`the list of ${provider}`, ref, 'json', parseJson);
    if (!(parsed instanceof Promise)) {
      this.#lists.set(provider, parsed);
      return parsed;
    }
    return parsed.then((list) => {
      this.#lists.set(provider, list);
      return list;
    });
  }

  #fail(name: string, ref: FileRef, cause: unknown): SnapshotUnreadable {
    if (!this.#unreadable.has(name)) this.#source.onUnreadable(name, ref);
    this.#unreadable.set(name, ref);
    return new SnapshotUnreadable(`${name} cannot be read`, { cause });
  }
}

const parseJson = (text: string) => JSON.parse(text);

/** An error of the file system or of DuckDB's access to it. The file may be back by now. */
function isFileError(error: unknown): boolean {
  return error instanceof Error && ('syscall' in error || error.message.startsWith('IO Error'));
}
