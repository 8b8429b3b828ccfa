/**
 * Which stored objects are needed: removes the others, and reads the needed ones again, because disks lose bits.
 *
 * Kept files stay for ever; prerendered ones are kept for the newest snapshots. Whoever removes holds the lock of the
 * build. The list of a snapshot's prerendered files is removed before the files, so a snapshot whose removal was
 * interrupted is never served again; the next run removes the rest. A full scrub belongs to `verify`; a nightly run reads
 * a share, so that every object is read once in `SCRUB_NIGHTS`.
 */
import { hash } from 'node:crypto';
import type { Dirent } from 'node:fs';
import { readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { hashFile } from '../../data/runtime/durable-files.ts';
import { withLock } from '../../data/runtime/file-lock.ts';
import { inParallel } from '../../data/runtime/in-parallel.ts';
import { isWithheld } from '../../data/runtime/withheld.ts';
import { contradictedEntry, type ManifestFacts } from '../../data/schema/editions.ts';
import {
  type FileRef,
  manifestPath,
  manifest as manifestSchema,
  OBJECTS,
  PUBLICATION_LOG,
} from '../../data/schema/snapshot.ts';
import { CommandError, describeError } from '../runtime/errors.ts';
import type { SnapshotStorage } from './snapshot-storage.ts';

export interface Garbage {
  /** Objects that nothing needs. */
  objects: FileRef[];
  bytes: number;
  /** Snapshots that lose their prerendered files, oldest first. */
  snapshots: string[];
}

/**
 * The snapshots that keep their prerendered files: the served one, its base, from which gateways may still read, and the
 * newest, so that they are `keep` and never fewer than two. Those with a withheld series keep none.
 */
async function renderedSnapshots(storage: SnapshotStorage, keep: number): Promise<Set<string>> {
  const current = await storage.currentId();
  const { editions } = await storage.log();
  const base = editions.find(({ edition }) => edition === current)?.base;
  const others = (await storage.ids()).filter((id) => id !== current);
  const newest = others.slice(-Math.max(1, keep - 1));
  const withheld = new Set((await storage.withheld()).tombstones.map(({ snapshot }) => snapshot));
  const ids = [...newest, current, base].filter((id) => typeof id === 'string');
  return new Set(ids.filter((id) => !withheld.has(id)));
}

/** Reads lists of files, each once: most snapshots share most of theirs. */
class NamedObjects {
  /** What an object is, by hash: its name in the first snapshot that has it. */
  readonly objects = new Map<string, string>();
  readonly #storage: SnapshotStorage;
  readonly #read = new Set<string>();

  constructor(storage: SnapshotStorage) {
    this.#storage = storage;
  }

  add({ sha256 }: FileRef, what: string): void {
    if (!this.objects.has(sha256)) this.objects.set(sha256, what);
  }

  async addList(ref: FileRef, what: string, snapshot: string): Promise<void> {
    if (!this.#begin(ref, what)) return;
    for (const [name, file] of Object.entries(await this.#storage.readList(ref)))
      this.add(file, `${name} of ${snapshot}`);
  }

  /** What changed in an edition, and its revisions. */
  async addChanges(ref: FileRef, what: string, snapshot: string): Promise<void> {
    if (!this.#begin(ref, what)) return;
    const withheld = await this.#storage.withheld();
    for (const [id, { file }] of Object.entries((await this.#storage.readChanges(ref)).revised))
      if (!isWithheld(withheld, id)) this.add(file, `the revisions of ${id} in ${snapshot}`);
  }

  /** Adds what names others. @returns whether it is still to be read */
  #begin(ref: FileRef, what: string): boolean {
    const isNew = !this.#read.has(ref.sha256);
    this.#read.add(ref.sha256);
    this.add(ref, what);
    return isNew;
  }
}

/**
 * All objects that manifests and log name, but for prerendered files beyond the retention. Says what each is, by hash.
 * @throws {CommandError} when something that names objects cannot be read.
 */
export async function neededObjects(storage: SnapshotStorage, keep: number): Promise<Map<string, string>> {
  const rendered = await renderedSnapshots(storage, keep);
  const named = new NamedObjects(storage);
  const read = async (what: string, reading: (what: string) => Promise<void>): Promise<void> => {
    await reading(what).catch((cause: unknown) => {
      throw new CommandError(`${what} cannot be read: ${describeError(cause)}`);
    });
  };
  for (const id of await storage.sealedIds()) {
    const manifest = await storage.manifest(id);
    for (const [name, ref] of Object.entries(manifest.kept)) named.add(ref, `${name} of ${id}`);
    for (const [provider, ref] of Object.entries(manifest.providers)) {
      await read(`the list of ${provider} of ${id}`, (what) => named.addList(ref, what, id));
    }
    for (const [provider, ref] of Object.entries((await storage.publishedManifest(id)).providers)) {
      named.add(ref, `the published list of ${provider} of ${id}`);
    }
    const { lineage, successor } = manifest;
    for (const changes of [lineage.changes, successor?.changes])
      if (changes) await read(`what changed in ${id}`, (what) => named.addChanges(changes, what, id));
    const isRendered = rendered.has(id) && (await storage.prerendered({ manifest })) !== null;
    if (isRendered) await named.addList(manifest.prerendered, `the list of prerendered files of ${id}`, id);
  }
  for (const { edition, changes } of (await storage.log()).editions) {
    if (changes) await read(`what changed in ${edition}`, (what) => named.addChanges(changes, what, edition));
  }
  return named.objects;
}

/** The prerendered files of snapshots beyond the retention. */
async function outdatedFiles(
  storage: SnapshotStorage,
  keep: number,
): Promise<{ lists: FileRef[]; files: FileRef[]; snapshots: string[] }> {
  const rendered = await renderedSnapshots(storage, keep);
  const outdated = { lists: [] as FileRef[], files: [] as FileRef[], snapshots: [] as string[] };
  for (const id of await storage.ids()) {
    if (rendered.has(id)) continue;
    const manifest = await storage.manifest(id);
    const files = await storage.prerendered({ manifest });
    if (files === null) continue;
    outdated.snapshots.push(id);
    outdated.lists.push(manifest.prerendered);
    outdated.files.push(...Object.values(files));
  }
  return outdated;
}

/** All objects on disk. */
async function storedObjects(storage: SnapshotStorage): Promise<FileRef[]> {
  const root = join(storage.directory, OBJECTS);
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  const sizeOf = async ({ parentPath, name }: Dirent) => (await stat(join(parentPath, name))).size;
  const files = entries.filter((entry) => entry.isFile());
  return Promise.all(files.map(async (file) => ({ sha256: file.name, bytes: await sizeOf(file) })));
}

/** Objects that nothing needs. Changes nothing. @throws {CommandError} when it cannot be known. */
export async function findGarbage(storage: SnapshotStorage, keep: number): Promise<Garbage> {
  const needed = await neededObjects(storage, keep);
  const { lists, snapshots } = await outdatedFiles(storage, keep);
  const isList = new Set(lists.map(({ sha256 }) => sha256));
  const objects = (await storedObjects(storage))
    .filter(({ sha256 }) => !needed.has(sha256))
    .sort((a, b) => Number(isList.has(b.sha256)) - Number(isList.has(a.sha256)));
  return { objects, bytes: objects.reduce((sum, { bytes }) => sum + bytes, 0), snapshots };
}

export async function removeObjects(storage: SnapshotStorage, objects: readonly FileRef[]): Promise<void> {
  for (const ref of objects) await rm(storage.pathOf(ref), { force: true });
}

/**
 * Finds what nothing needs, and removes it if so asked. The objects of a running build are named later, so there is none
 * meanwhile.
 * @throws {LockHeldError} while a build is running; {CommandError} when it cannot be known what is needed.
 */
export async function collectGarbage(
  storage: SnapshotStorage,
  keep: number,
  isRemoved: boolean,
): Promise<Garbage> {
  return withLock(storage.lockFile, 'the snapshot', {}, async () => {
    await storage.clean();
    return storage.whilePointerStays(async () => {
      const garbage = await findGarbage(storage, keep);
      if (isRemoved) await removeObjects(storage, garbage.objects);
      return garbage;
    });
  });
}

/** Removes prerendered files beyond the retention. @returns the snapshots that lost their files. */
export function prune(storage: SnapshotStorage, keep: number): Promise<string[]> {
  return storage.whilePointerStays(async () => {
    const { lists, files, snapshots } = await outdatedFiles(storage, keep);
    if (snapshots.length === 0) return [];
    const needed = await neededObjects(storage, keep);
    const objects = [...lists, ...files].filter(({ sha256 }) => !needed.has(sha256));
    await removeObjects(storage, objects);
    return snapshots;
  });
}

export const SCRUB_NIGHTS = 32;
const DAY_MS = 86_400_000;
const FILES_AT_ONCE = 2;

export interface Scrub {
  /** Objects that were read. */
  objects: number;
  /** What is missing or damaged, with its path. */
  damaged: string[];
}

export interface ScrubOptions {
  /** Prerendered files are kept for so many snapshots. */
  keep: number;
  /** The night whose share is read, by this time; without it, all objects. */
  night_ms?: number;
  signal?: AbortSignal | undefined;
}

/** Objects are spread evenly over the nights by their hashes. */
const isOfNight = (sha256: string, night_ms: number): boolean =>
  Number.parseInt(sha256.slice(0, 2), 16) % SCRUB_NIGHTS === Math.floor(night_ms / DAY_MS) % SCRUB_NIGHTS;

/** Compares manifests with the log, and objects with their hashes. */
export async function scrub(
  storage: SnapshotStorage,
  { keep, night_ms, signal }: ScrubOptions,
): Promise<Scrub> {
  const needed = await neededObjects(storage, keep);
  const chosen = [...needed].filter(([sha256]) => night_ms === undefined || isOfNight(sha256, night_ms));
  const faults = new Map<string, string>();
  await inParallel(chosen, FILES_AT_ONCE, async ([sha256, what]) => {
    signal?.throwIfAborted();
    const path = storage.pathOf({ sha256 });
    const actual = await hashFile(path).catch(() => null);
    if (actual?.sha256 === sha256) return;
    faults.set(sha256, `${what} is ${actual === null ? 'missing' : 'damaged'}: ${path}`);
  });
  // Retention may have removed prerendered files meanwhile.
  const stillNeeded = faults.size > 0 ? await neededObjects(storage, keep) : needed;
  const damaged = [...faults].flatMap(([sha256, fault]) => (stillNeeded.has(sha256) ? [fault] : []));
  return { objects: chosen.length, damaged: [...(await damagedManifests(storage)), ...damaged.sort()] };
}

async function damagedManifests(storage: SnapshotStorage): Promise<string[]> {
  const damaged: string[] = [];
  const manifests = new Map<string, ManifestFacts>();
  const { editions } = await storage.log();
  for (const { edition, manifest } of editions) {
    const path = join(storage.directory, manifestPath(edition));
    const bytes = await readFile(path).catch(() => null);
    if (bytes && hash('sha256', bytes) === manifest)
      manifests.set(edition, manifestSchema.parse(JSON.parse(bytes.toString())));
    else damaged.push(`the manifest of ${edition} is ${bytes ? 'damaged' : 'missing'}: ${path}`);
  }
  const entry = damaged.length === 0 ? contradictedEntry(editions, manifests) : undefined;
  if (entry)
    damaged.push(`${PUBLICATION_LOG} is damaged: it says of ${entry.edition} what its manifest does not`);
  return damaged;
}
