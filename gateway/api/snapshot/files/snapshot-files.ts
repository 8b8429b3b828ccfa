/**
 * The files of one edition by name. The lists of providers are read when one of their files is wanted, and shared with
 * other editions that have the same list.
 *
 * A file may disappear or change while it is served: a volume that is unmounted, a disk that fails. A read of such a
 * file is unavailable, not an internal error.
 */
import { access, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { unpackJson } from '../../../../data/runtime/durable-files.ts';
import {
  type FileList,
  type FileRef,
  type Manifest,
  manifestPath,
  providerOfFile,
} from '../../../../data/schema/snapshot.ts';
import { type Objects, SnapshotUnreadable } from './objects.ts';
import type { ParsedObjects } from './parsed-objects.ts';

export { SnapshotUnreadable } from './objects.ts';

export interface ObjectSource {
  /** Of the snapshots. */
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
