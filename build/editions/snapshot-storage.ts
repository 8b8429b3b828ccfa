/**
 * Published snapshots on disk; `data/schema/snapshot.ts` describes the layout.
 *
 * A snapshot is built in a `.building-` directory with plain names. Publishing moves its files to `objects/`, then writes
 * manifest, log and pointer, each by one rename. A crash before the log leaves objects that nothing names. A crash between
 * log and pointer leaves an edition that was never served, and the next build publishes anew. A rollback enters the log
 * before the pointer moves, so each edition that does not stand is known to be taken back or never served.
 */
import { hash, randomUUID } from 'node:crypto';
import { access, link, mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import {
  moveFiles,
  replaceFile,
  syncDirectory,
  unpackJson,
  whenAbsent,
} from '../../data/runtime/durable-files.ts';
import { withLock } from '../../data/runtime/file-lock.ts';
import {
  readWithheld,
  WITHHELD,
  type WithheldRecord,
  withReplacedLists,
} from '../../data/runtime/withheld.ts';
import { publishedMs } from '../../data/schema/editions.ts';
import { formatTimestamp } from '../../data/schema/records.ts';
import {
  CURRENT_POINTER,
  EDITIONS,
  type EditionChanges,
  type EditionLineage,
  editionChanges,
  type FileList,
  type FileRef,
  fileList,
  LOG_FORMAT,
  type LogEntry,
  type Manifest,
  manifestPath,
  manifest as manifestSchema,
  OBJECTS,
  ORIGIN_MARKER,
  objectPath,
  PUBLICATION_LOG,
  type PublicationLog,
  providerOfFile,
  publicationLog,
  SNAPSHOT_FORMAT,
  SNAPSHOT_ID,
} from '../../data/schema/snapshot.ts';
import { CommandError } from '../runtime/errors.ts';

const BUILDING = '.building-';
/** Names of files for a verification. */
export const VIEW = '.verify-';
const LOCK = '.lock';
const POINTER_LOCK = '.pointer';
const POINTER_WAIT_MS = 60_000;

/** A snapshot with the list of its kept files. */
export interface Published {
  id: string;
  manifest: Manifest;
  kept: FileList;
}

/** A finished build: its files lie under their names in `directory` and are flushed to disk. */
export interface Draft {
  directory: string;
  kept: FileList;
  prerendered: FileList;
  facts: Pick<Manifest, 'id' | 'generated_at' | 'counts' | 'runs' | 'content' | 'rules'>;
  lineage: EditionLineage;
}

/** A complete snapshot, the SHA-256 of its manifest, and how it follows from the others. */
export type Sealed = Published & { hash: string; lineage: EditionLineage };

/** Signs and writes a log; see `LogSigner`. */
export type CommitLog = (editions: readonly LogEntry[]) => Promise<void>;

export class SnapshotStorage {
  readonly directory: string;

  constructor(directory: string) {
    this.directory = directory;
  }

  get lockFile(): string {
    return join(this.directory, LOCK);
  }

  /** Where the content of a file is. */
  pathOf({ sha256 }: Pick<FileRef, 'sha256'>): string {
    return join(this.directory, objectPath(sha256));
  }

  /** Empty before the first publication. @throws {Error} when it cannot be read. */
  async log(): Promise<PublicationLog> {
    const text = await readFile(join(this.directory, PUBLICATION_LOG), 'utf8').catch(whenAbsent(null));
    return text === null
      ? { editions: [], checkpoint: '', rollbacks: [] }
      : publicationLog.parse(JSON.parse(text));
  }

  /** Ids of all published snapshots, oldest first. */
  async ids(): Promise<string[]> {
    return (await this.log()).editions.map(({ edition }) => edition).sort();
  }

  /** Ids of all snapshots that have a manifest, oldest first. */
  async sealedIds(): Promise<string[]> {
    const names = await readdir(join(this.directory, EDITIONS)).catch(whenAbsent([]));
    const ids = names.flatMap((name) => /^(.*)\.json$/.exec(name)?.[1] ?? []);
    return ids.filter((id) => SNAPSHOT_ID.test(id)).sort();
  }

  /** The served id, or null. */
  async currentId(): Promise<string | null> {
    const text = await readFile(join(this.directory, CURRENT_POINTER), 'utf8').catch(() => null);
    return text?.trim() ?? null;
  }

  withheld(): Promise<WithheldRecord> {
    return readWithheld(this.directory);
  }

  /** The manifest with the lists to read. @throws as `publishedManifest` */
  async manifest(id: string): Promise<Manifest> {
    return withReplacedLists(await this.publishedManifest(id), await this.withheld());
  }

  /** @throws {CommandError} when there is no such snapshot; {Error} when it cannot be read. */
  async publishedManifest(id: string): Promise<Manifest> {
    if (!SNAPSHOT_ID.test(id)) throw new CommandError(`"${id}" is not a snapshot id`);
    const text = await readFile(join(this.directory, manifestPath(id)), 'utf8').catch(() => {
      throw new CommandError(`there is no snapshot ${id}`);
    });
    return manifestSchema.parse(JSON.parse(text));
  }

  /** @throws {CommandError} when there is no such snapshot; {Error} when it cannot be read. */
  async open(id: string): Promise<Published> {
    const manifest = await this.manifest(id);
    const lists = await Promise.all(Object.values(manifest.providers).map((ref) => this.readList(ref)));
    return { id, manifest, kept: Object.assign({}, manifest.kept, ...lists) };
  }

  /** The served snapshot; null when there is none or it cannot be read. */
  async current(): Promise<Published | null> {
    const id = await this.currentId();
    return id === null ? null : this.open(id).catch(() => null);
  }

  async readList(ref: FileRef): Promise<FileList> {
    return fileList.parse(JSON.parse(await readFile(this.pathOf(ref), 'utf8')));
  }

  /** The prerendered files of a snapshot; null when they were removed. */
  async prerendered({ manifest }: Pick<Published, 'manifest'>): Promise<FileList | null> {
    return this.readList(manifest.prerendered).catch(whenAbsent(null));
  }

  /** Shows files under their names in a directory, by hard links. A file that is not there is left out. */
  async show(files: FileList, directory: string): Promise<void> {
    const folders = new Set(Object.keys(files).map((name) => dirname(join(directory, name))));
    for (const folder of [directory, ...folders]) await mkdir(folder, { recursive: true });
    for (const [name, ref] of Object.entries(files)) {
      await link(this.pathOf(ref), join(directory, name)).catch(whenAbsent(undefined));
    }
  }

  /** @throws {CommandError} when the directory follows an origin, which alone says what it holds. */
  async refuseMirror(): Promise<void> {
    const origin = await readFile(join(this.directory, ORIGIN_MARKER), 'utf8').catch(whenAbsent(null));
    if (origin === null) return;
    throw new CommandError(
      `${this.directory} follows ${origin.trim()}: build and publish where that is filled`,
    );
  }

  /** Removes what crashed builds left. The caller holds the lock. @throws {CommandError} for a mirror. */
  async clean(): Promise<void> {
    await this.refuseMirror();
    await mkdir(join(this.directory, EDITIONS), { recursive: true });
    await mkdir(join(this.directory, OBJECTS), { recursive: true });
    for (const folder of [this.directory, join(this.directory, EDITIONS)])
      for (const name of await readdir(folder)) {
        const isTemporary =
          name.endsWith('.tmp') || [BUILDING, VIEW, `${LOCK}.`].some((start) => name.startsWith(start));
        if (isTemporary) await rm(join(folder, name), { recursive: true, force: true });
      }
  }

  /** Creates a new directory to build in, invisible to gateways. */
  async begin(): Promise<string> {
    const directory = join(this.directory, `${BUILDING}${randomUUID()}`);
    await mkdir(directory, { recursive: true });
    return directory;
  }

  /** Moves flushed files to where their content is named. An object that is there, damaged or not, is replaced. */
  async adopt(directory: string, files: FileList): Promise<void> {
    const moves = Object.entries(files).map(
      ([name, ref]) => [join(directory, name), this.pathOf(ref)] as const,
    );
    await moveFiles(moves);
    await syncDirectory(join(this.directory, OBJECTS));
  }

  /** Whether the content of a file is there. */
  async has(ref: FileRef): Promise<boolean> {
    return access(this.pathOf(ref)).then(
      () => true,
      () => false,
    );
  }

  /** The text of JSON, compressed or not. */
  async readText(ref: FileRef): Promise<string> {
    return unpackJson(await readFile(this.pathOf(ref)));
  }

  /** What changed in an edition. */
  async readChanges(ref: FileRef): Promise<EditionChanges> {
    return editionChanges.parse(JSON.parse(await this.readText(ref)));
  }

  /** Stores a text or bytes as an object. */
  async put(content: string | Buffer): Promise<FileRef> {
    const bytes = Buffer.from(content);
    const ref = { bytes: bytes.length, sha256: hash('sha256', bytes) };
    const target = this.pathOf(ref);
    await mkdir(dirname(target), { recursive: true });
    await replaceFile(target, bytes);
    return ref;
  }

  /** Stores the files and the manifest of a snapshot. It is complete then, but neither in the log nor served. */
  async seal({ directory, kept, prerendered, facts, lineage }: Draft): Promise<Sealed> {
    await this.adopt(directory, { ...kept, ...prerendered });
    const byProvider = Map.groupBy(Object.entries(kept), ([name]) => providerOfFile(name));
    const providers: Record<string, FileRef> = {};
    for (const [provider, files] of [...byProvider].sort()) {
      if (provider !== null) providers[provider] = await this.put(JSON.stringify(sortedList(files)));
    }
    const manifest: Manifest = {
      format: SNAPSHOT_FORMAT,
      ...facts,
      providers,
      kept: sortedList(byProvider.get(null) ?? []),
      prerendered: await this.put(JSON.stringify(sortedList(Object.entries(prerendered)))),
      lineage,
    };
    return { id: facts.id, manifest, kept, lineage, hash: await this.putManifest(manifest) };
  }

  /** @returns its SHA-256. */
  async putManifest(manifest: Manifest): Promise<string> {
    const text = JSON.stringify(manifest);
    await replaceFile(join(this.directory, manifestPath(manifest.id)), text);
    return hash('sha256', text);
  }

  /**
   * Enters a sealed snapshot in the log, and serves it in place of the one that was served when it was begun.
   * @param root of the tree over its indicators.
   * @throws {CommandError} when another one is served by now: an operator rolled back meanwhile.
   */
  async publish(
    { manifest, lineage, hash: manifestHash }: Sealed,
    root: string,
    { served, commit, now }: { served: string | null; commit: CommitLog; now: () => number },
  ): Promise<void> {
    await this.whilePointerStays(async () => {
      if ((await this.currentId()) !== served)
        throw new CommandError('another snapshot was served during the build: build again');
      const { editions } = await this.log();
      const published_ms = Math.max(await this.nextTime(now()), Date.parse(manifest.generated_at));
      const entry: LogEntry = {
        edition: manifest.id,
        published_at: formatTimestamp(published_ms),
        indicators: manifest.counts.indicators,
        root,
        manifest: manifestHash,
        counts: manifest.counts,
        ...lineage,
      };
      await commit([...editions, entry]);
      await this.serve(manifest.id);
    });
  }

  /** A time for another edition: now, in whole seconds, and later than all. */
  async nextTime(now_ms: number): Promise<number> {
    const newest = Math.max(...(await this.log()).editions.map(publishedMs), 0);
    return Math.max(Math.floor(now_ms / 1000) * 1000, newest + 1000);
  }

  /** Moves the pointer, or removes what the pointer might be moved to. It takes moments, unlike a build. */
  async whilePointerStays<Result>(work: () => Promise<Result>): Promise<Result> {
    const file = join(this.directory, POINTER_LOCK);
    return withLock(file, 'the served snapshot', { wait_ms: POINTER_WAIT_MS }, work);
  }

  async writeLog(log: PublicationLog): Promise<void> {
    await replaceFile(join(this.directory, PUBLICATION_LOG), JSON.stringify({ ...log, format: LOG_FORMAT }));
  }

  async writeWithheld(record: WithheldRecord): Promise<void> {
    await replaceFile(join(this.directory, WITHHELD), JSON.stringify(record));
  }

  /** Serves a snapshot that is in the log. */
  async serve(id: string): Promise<void> {
    await replaceFile(join(this.directory, CURRENT_POINTER), id);
  }
}

const sortedList = (files: readonly (readonly [string, FileRef])[]): FileList =>
  Object.fromEntries(files.toSorted(([a], [b]) => (a < b ? -1 : 1)));

export interface WantedRollback {
  /** The snapshot to serve; by default the one that was served before. */
  to?: string | undefined;
  /** Public. */
  reason: string | null;
  now_ms: number;
}

/**
 * Serves an earlier snapshot again. The later ones count as rolled back.
 * @returns the id now served.
 * @throws {CommandError} when there is no earlier snapshot, or when it cannot be served any more.
 */
export function rollback(storage: SnapshotStorage, { to, reason, now_ms }: WantedRollback): Promise<string> {
  return storage.whilePointerStays(async () => {
    await storage.refuseMirror();
    const current = await storage.currentId();
    const log = await storage.log();
    const { editions } = log;
    const target = to ?? editions.find(({ edition }) => edition === current)?.base ?? undefined;
    if (target === undefined) throw new CommandError('there is no earlier snapshot to roll back to');
    const published = await storage.open(target);
    if (!editions.some(({ edition }) => edition === target))
      throw new CommandError(`${target} was never published`);
    if ((await storage.prerendered(published)) === null) {
      throw new CommandError(
        `${target} cannot be served: its prerendered files were removed, beyond SNAPSHOT_KEEP or with a withheld series`,
      );
    }
    if (current !== null && current !== target) {
      const record = { from: current, to: target, at: formatTimestamp(now_ms), reason };
      await storage.writeLog({ ...log, rollbacks: [...log.rollbacks, record] });
    }
    await storage.serve(target);
    return target;
  });
}
