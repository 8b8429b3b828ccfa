/**
 * Copies published snapshots to an origin that gateways follow: a directory (a mounted disk, or the document root of a web
 * server) or a bucket.
 *
 * The order is that of a publication: objects that the target lacks, manifests, what is withheld, log, pointer. What is
 * interrupted leaves the target as it was but for objects and manifests that nothing names yet; a repeated push goes on
 * from there.
 */
import { hash } from 'node:crypto';
import { mkdir, readdir, readFile, rm, stat } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import { editionLeaf } from '../../../data/proofs/merkle-tree.ts';
import { isAbsent, replaceFile, whenAbsent } from '../../../data/runtime/durable-files.ts';
import { inParallel } from '../../../data/runtime/in-parallel.ts';
import {
  NOTHING_WITHHELD,
  parseWithheld,
  signingTime,
  WITHHELD,
  type WithheldRecord,
} from '../../../data/runtime/withheld.ts';
import {
  CURRENT_POINTER,
  EDITIONS,
  type LogEntry,
  manifestPath,
  OBJECTS,
  objectPath,
  PUBLICATION_LOG,
  publicationLog,
} from '../../../data/schema/snapshot.ts';
import { CommandError } from '../../runtime/errors.ts';
import { neededObjects } from '../retention.ts';
import type { SnapshotStorage } from '../snapshot-storage.ts';

/** A place that snapshots are pushed to. */
export interface PushTarget {
  /** For messages. */
  readonly name: string;
  /** Sizes of all files below a folder, by path. */
  list(folder: string): Promise<Map<string, number>>;
  /** Null when there is no such file. */
  read(path: string): Promise<Buffer | null>;
  /**
   * Stores a file: a reader sees what was there before or the whole content.
   * @param sha256 of the content in hex, which the target checks where it can.
   */
  write(path: string, content: Buffer, sha256: string): Promise<void>;
  remove(path: string): Promise<void>;
  close(): void;
}

const UPLOADS = 8;

export interface PushOptions {
  /** Number of newest snapshots whose prerendered files are pushed. The served one's always are. */
  keep: number;
  /** Removes objects of the target that it no longer needs. */
  removeOthers?: boolean;
  signal?: AbortSignal | undefined;
}

export interface PushSummary {
  target: string;
  /** The served edition. */
  edition: string;
  uploaded: { objects: number; bytes: number; manifests: number };
  /** Objects that the target had. */
  present: number;
  removed: number;
}

/** @throws {CommandError} when nothing is published, the target has another log, or an object is missing or damaged. */
export async function push(
  storage: SnapshotStorage,
  target: PushTarget,
  { keep, removeOthers = false, signal }: PushOptions,
): Promise<PushSummary> {
  // The pointer is read first: a build that publishes meanwhile can only make the log longer.
  const edition = await storage.currentId();
  const logText = await readFile(join(storage.directory, PUBLICATION_LOG)).catch(() => null);
  if (edition === null || logText === null) throw new CommandError('nothing is published yet');
  const { editions } = publicationLog.parse(JSON.parse(logText.toString()));
  if (!editions.some((entry) => entry.edition === edition)) {
    throw new CommandError(`the served snapshot ${edition} is not in the log`);
  }
  await refuseOtherLog(target, editions);
  const withheldText = await readFile(join(storage.directory, WITHHELD)).catch(() => null);
  const withheld = withheldText === null ? NOTHING_WITHHELD : parseWithheld(withheldText.toString());
  await refuseEarlierWithheld(target, withheld);
  const needed = await neededObjects(storage, keep);
  const { prerendered } = await storage.manifest(edition);
  needed.set(prerendered.sha256, `the list of prerendered files of ${edition}`);
  const held = await target.list(OBJECTS);
  const uploaded = { objects: 0, bytes: 0 };
  await inParallel(needed, UPLOADS, async ([sha256, what]) => {
    signal?.throwIfAborted();
    if (held.get(objectPath(sha256)) === (await readSize(storage, sha256, what))) return;
    const content = await readVerified(storage, sha256, what);
    await target.write(objectPath(sha256), content, sha256);
    uploaded.objects += 1;
    uploaded.bytes += content.length;
  });
  const manifests = await pushManifests(storage, target, editions, signal);
  // Gateways refuse one without signature. The next publication signs it.
  if (withheldText !== null && withheld.note !== undefined)
    await writeIfDifferent(target, WITHHELD, withheldText);
  await writeIfDifferent(target, PUBLICATION_LOG, logText);
  await writeIfDifferent(target, CURRENT_POINTER, Buffer.from(edition));
  const removed = removeOthers ? await removeOther(target, held.keys(), needed) : 0;
  return {
    target: target.name,
    edition,
    uploaded: { ...uploaded, manifests },
    present: needed.size - uploaded.objects,
    removed,
  };
}

/** Gateways refuse a log that does not extend the one they know, so it must not replace the target's. */
async function refuseOtherLog(target: PushTarget, editions: readonly LogEntry[]): Promise<void> {
  const text = await target.read(PUBLICATION_LOG);
  if (text === null) return;
  const there = publicationLog.parse(JSON.parse(text.toString())).editions;
  const here = editions.map(editionLeaf);
  const isExtended = there.every((entry, index) => editionLeaf(entry) === here[index]);
  if (isExtended) return;
  throw new CommandError(
    `${target.name} holds another log: its ${there.length} editions are not the first of the ${editions.length} here`,
  );
}

/** Gateways take no withholding back, so an earlier record must not replace the target's. */
async function refuseEarlierWithheld(target: PushTarget, here: WithheldRecord): Promise<void> {
  const text = await target.read(WITHHELD);
  const there = text === null ? null : signingTime(parseWithheld(text.toString()));
  if (there === null || there <= (signingTime(here) ?? '')) return;
  throw new CommandError(
    `${target.name} holds a ${WITHHELD} of ${there}, which is newer than the one here: repeat withhold`,
  );
}

function refuseMissing(what: string): (error: unknown) => never {
  return (error) => {
    if (!isAbsent(error)) throw error;
    throw new CommandError(`${what} is missing; nothing new is visible at the target`);
  };
}

async function readSize(storage: SnapshotStorage, sha256: string, what: string): Promise<number> {
  return (await stat(storage.pathOf({ sha256 })).catch(refuseMissing(what))).size;
}

async function readVerified(storage: SnapshotStorage, sha256: string, what: string): Promise<Buffer> {
  const content = await readFile(storage.pathOf({ sha256 })).catch(refuseMissing(what));
  if (hash('sha256', content) === sha256) return content;
  throw new CommandError(`${what} is damaged; nothing new is visible at the target`);
}

async function pushManifests(
  storage: SnapshotStorage,
  target: PushTarget,
  editions: readonly LogEntry[],
  signal: AbortSignal | undefined,
): Promise<number> {
  const held = await target.list(EDITIONS);
  const missing = editions.filter(({ edition }) => !held.has(manifestPath(edition)));
  await inParallel(missing, UPLOADS, async ({ edition, manifest }) => {
    signal?.throwIfAborted();
    const content = await readFile(join(storage.directory, manifestPath(edition)));
    if (hash('sha256', content) !== manifest) throw new CommandError(`the manifest of ${edition} is damaged`);
    await target.write(manifestPath(edition), content, manifest);
  });
  return missing.length;
}

async function writeIfDifferent(target: PushTarget, path: string, content: Buffer): Promise<void> {
  const there = await target.read(path);
  if (there === null || !there.equals(content)) await target.write(path, content, hash('sha256', content));
}

/** Removes prerendered files of old editions and what was withheld. */
async function removeOther(
  target: PushTarget,
  held: Iterable<string>,
  needed: ReadonlyMap<string, string>,
): Promise<number> {
  const paths = new Set([...needed.keys()].map(objectPath));
  const others = [...held].filter((path) => !paths.has(path));
  await inParallel(others, UPLOADS, (path) => target.remove(path));
  return others.length;
}

export class DirectoryTarget implements PushTarget {
  readonly name: string;

  constructor(directory: string) {
    this.name = directory;
  }

  async list(folder: string): Promise<Map<string, number>> {
    const root = join(this.name, folder);
    const entries = await readdir(root, { withFileTypes: true, recursive: true }).catch(whenAbsent([]));
    const sizes = new Map<string, number>();
    for (const entry of entries) {
      if (!entry.isFile() || entry.name.endsWith('.tmp')) continue;
      const file = join(entry.parentPath, entry.name);
      sizes.set(relative(this.name, file).replaceAll(sep, '/'), (await stat(file)).size);
    }
    return sizes;
  }

  read(path: string): Promise<Buffer | null> {
    return readFile(join(this.name, path)).catch(whenAbsent(null));
  }

  async write(path: string, content: Buffer): Promise<void> {
    const file = join(this.name, path);
    await mkdir(dirname(file), { recursive: true });
    await replaceFile(file, content);
  }

  async remove(path: string): Promise<void> {
    await rm(join(this.name, path), { force: true });
  }

  close(): void {}
}
