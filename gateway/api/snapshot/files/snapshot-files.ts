/**
 * The published files by content, and those of one edition by name. The lists of providers are read when one of their files
 * is wanted, and shared with other editions that have the same list.
 *
 * No answer is made from a file with another content than published. A file that is read whole is hashed each time; any other
 * is hashed when a process first opens it, and again when it was changed or replaced. A damaged file is fetched anew where an
 * origin is followed. A read of a damaged or missing file, as on an unmounted volume, is unavailable, not an internal error.
 */
import { hash } from 'node:crypto';
import { closeSync, openSync, readSync, type Stats, statSync } from 'node:fs';
import { access, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { hashFile, unpackJson } from '../../../../data/runtime/durable-files.ts';
import { inParallel } from '../../../../data/runtime/in-parallel.ts';
import {
  type FileList,
  type FileRef,
  type Manifest,
  manifestPath,
  objectPath,
  providerOfFile,
} from '../../../../data/schema/snapshot.ts';
import { isAway, OriginError } from '../origin/origin-client.ts';
import type { ParsedObjects } from './memory.ts';

/** A file cannot be read as it was published: a transient fault, reported as `unavailable`. */
export class SnapshotUnreadable extends Error {
  override name = 'SnapshotUnreadable';
}

/** Size, time and place: another one tells that a file was changed or replaced. */
type Stamp = string;

/** Files that are remembered as sound. Beyond, all are forgotten, and hashed when they are next opened. */
const SOUND_MAX = 65_536;

/** Fetches objects from the origin that is followed. */
export interface ObjectOrigin {
  /** Resolves when all are here, verified. @param anew replaces what is here. @throws {OriginError} {Error} of the file system. */
  ensure(refs: Iterable<FileRef>, anew?: boolean): Promise<void>;
}

export class Objects {
  readonly #directory: string;
  readonly #origin: ObjectOrigin | null;
  readonly #onDamage: (ref: FileRef) => void;
  /** Stamps by hash. */
  readonly #sound = new Map<string, Stamp>();
  /** A missing file is not damaged: it may be back at once. */
  readonly #damaged = new Map<string, Stamp>();
  readonly #hashing = new Map<string, Promise<boolean>>();

  /**
   * @param directory of the snapshots. @param origin null when the directory holds all objects.
   * @param onDamage called once for each file that is found to have another content.
   */
  constructor(
    directory: string,
    origin: ObjectOrigin | null = null,
    onDamage: (ref: FileRef) => void = () => {},
  ) {
    this.#directory = directory;
    this.#origin = origin;
    this.#onDamage = onDamage;
  }

  path({ sha256 }: FileRef): string {
    return join(this.#directory, objectPath(sha256));
  }

  /** Fetches what is missing or known to be damaged, where an origin is followed. @throws {Error} of the fetch. */
  async ensure(refs: readonly FileRef[]): Promise<void> {
    if (this.#origin === null) return;
    const damaged = refs.filter(({ sha256 }) => this.#damaged.has(sha256));
    if (damaged.length > 0) await this.#origin.ensure(damaged, true);
    for (const { sha256 } of damaged) this.#damaged.delete(sha256);
    await this.#origin.ensure(refs);
  }

  /** The whole file, verified. @throws {Error} of the file system or the fetch, or when it has another content. */
  read(ref: FileRef): Promise<Buffer> {
    return this.#fromSound(ref, async () => {
      const bytes = await readFile(this.path(ref));
      const isSound = bytes.length === ref.bytes && hash('sha256', bytes) === ref.sha256;
      if (isSound) this.#damaged.delete(ref.sha256);
      else this.#note(ref, this.#stampOf(ref), false);
      return isSound ? bytes : null;
    });
  }

  /** Where the file lies, verified. @throws {Error} of the file system or the fetch, or when it has another content. */
  open(ref: FileRef): Promise<string> {
    return this.#fromSound(ref, async () => {
      const path = this.path(ref);
      const isSound = this.#sound.get(ref.sha256) === stampOf(statSync(path)) || (await this.verify(ref));
      return isSound ? path : null;
    });
  }

  /** @param take gives null when the file is damaged; it is then fetched anew where an origin is followed. */
  async #fromSound<Taken>(ref: FileRef, take: () => Promise<Taken | null>): Promise<Taken> {
    for (let fetches = this.#origin === null ? 1 : 2; fetches > 0; fetches -= 1) {
      await this.ensure([ref]);
      const taken = await take();
      if (taken !== null) return taken;
    }
    throw new SnapshotUnreadable('another content than published');
  }

  /** Whether it is kept, here or at the origin. @throws {SnapshotUnreadable} when the origin does not say. */
  async isKept(ref: FileRef): Promise<boolean> {
    try {
      await this.ensure([ref]);
    } catch (cause) {
      if (cause instanceof OriginError && cause.isAbsent) return false;
      throw new SnapshotUnreadable('the origin cannot be asked', { cause });
    }
    return this.hasSize(ref);
  }

  /** Whether the file is there in its length. Reads nothing. */
  async hasSize(ref: FileRef): Promise<boolean> {
    const file = await stat(this.path(ref)).catch(() => null);
    return file?.isFile() === true && file.size === ref.bytes;
  }

  /** Hashes the file, unless it is known to be damaged and was not replaced since. Concurrent callers share the work. */
  verify(ref: FileRef): Promise<boolean> {
    const { sha256 } = ref;
    const hashing =
      this.#hashing.get(sha256) ?? this.#verify(ref).finally(() => this.#hashing.delete(sha256));
    this.#hashing.set(sha256, hashing);
    return hashing;
  }

  async #verify(ref: FileRef): Promise<boolean> {
    const stamp = this.#stampOf(ref);
    if (stamp !== null && this.#damaged.get(ref.sha256) === stamp) return false;
    const isSound = stamp !== null && (await this.#hasContent(ref).catch(() => false));
    this.#note(ref, stamp, isSound);
    return isSound;
  }

  #note(ref: FileRef, stamp: Stamp | null, isSound: boolean): void {
    const { sha256 } = ref;
    const isNew = this.#damaged.get(sha256) !== stamp;
    this.#damaged.delete(sha256);
    this.#sound.delete(sha256);
    if (stamp === null) return;
    if (this.#sound.size >= SOUND_MAX) this.#sound.clear();
    (isSound ? this.#sound : this.#damaged).set(sha256, stamp);
    if (!isSound && isNew) this.#onDamage(ref);
  }

  async #hasContent(ref: FileRef): Promise<boolean> {
    const path = this.path(ref);
    return (hashBlock(path) ?? (await hashFile(path)).sha256) === ref.sha256;
  }

  #stampOf(ref: FileRef): Stamp | null {
    try {
      return stampOf(statSync(this.path(ref)));
    } catch {
      return null;
    }
  }
}

const BLOCK = Buffer.allocUnsafe(256 * 1024);

/** Null for a larger file. At once: seven turns of the thread pool took 0.6 ms of the first answer from a file, this takes 0.1. */
function hashBlock(path: string): string | null {
  const file = openSync(path, 'r');
  try {
    const read = readSync(file, BLOCK);
    return read < BLOCK.length ? hash('sha256', BLOCK.subarray(0, read)) : null;
  } finally {
    closeSync(file);
  }
}

const stampOf = ({ size, mtimeMs, ino }: Stats): Stamp => `${size} ${mtimeMs} ${ino}`;

export interface ObjectSource {
  /** SNAPSHOT_DIR. */
  directory: string;
  objects: Objects;
  parsed: ParsedObjects;
  /** Called once for each file that cannot be read as it was published. */
  onUnreadable: (name: string, ref: FileRef) => void;
}

const NO_FILES: FileList = {};
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

  /** Passes on what is read from files, verified. @throws {SnapshotUnreadable} when that failed because of one of them. */
  async use<T>(names: readonly string[], reading: (paths: string[]) => Promise<T>): Promise<T> {
    const refs = await Promise.all(names.map(async (name) => this.#known(name, await this.find(name))));
    const { objects } = this.#source;
    const open = (ref: FileRef, at: number) =>
      objects.open(ref).catch((cause: unknown) => {
        throw this.#fail(names[at] ?? '', ref, cause);
      });
    const paths = await Promise.all(refs.map(open));
    try {
      return await reading(paths);
    } catch (cause) {
      const isThere = (ref: FileRef) => (isFileError(cause) ? objects.hasSize(ref) : objects.verify(ref));
      for (const [at, ref] of refs.entries())
        if (!(await isThere(ref))) throw this.#fail(names[at] ?? '', ref, cause);
      // A file that was away for a moment.
      if (isFileError(cause) && refs[0]) throw this.#fail(names[0] ?? '', refs[0], cause);
      throw cause;
    }
  }

  /** Where a file lies, verified. @throws {SnapshotUnreadable} */
  pathOf(name: string): Promise<string> {
    return this.use([name], async ([path = '']) => path);
  }

  /** Hashes one file. */
  async verify(name: string): Promise<boolean> {
    const ref = await this.find(name);
    if (ref === undefined || (await this.#source.objects.verify(ref))) return true;
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
    await inParallel(this.all(), CHECKED_AT_ONCE, async ([name, ref]) => {
      if (!(await this.#source.objects.hasSize(ref))) this.#fail(name, ref, undefined);
    });
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
    if (!this.#unreadable.has(name) && !isAway(cause)) this.#source.onUnreadable(name, ref);
    this.#unreadable.set(name, ref);
    return new SnapshotUnreadable(`${name} cannot be read`, { cause });
  }
}

const parseJson = (text: string) => JSON.parse(text);

/** An error of the file system or of DuckDB's access to it. The file may be back by now. */
function isFileError(error: unknown): boolean {
  return error instanceof Error && ('syscall' in error || error.message.startsWith('IO Error'));
}
