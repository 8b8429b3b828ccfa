/**
 * Copies published snapshots to an origin that gateways follow: a directory or a bucket.
 *
 * The order is that of a publication: objects that the target lacks, manifests, log, pointer. What is interrupted leaves
 * the target as it was but for objects and manifests that nothing names yet; a repeated push goes on from there.
 */
import { hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { inParallel } from '../../data/runtime/in-parallel.ts';
import {
  CURRENT_POINTER,
  EDITIONS,
  type FileRef,
  type LogEntry,
  manifestPath,
  OBJECTS,
  objectPath,
  PUBLICATION_LOG,
  publicationLog,
} from '../../data/schema/snapshot.ts';
import { CommandError } from '../runtime/command-error.ts';
import { namedObjects } from './named-objects.ts';
import type { PushTarget } from './push-target.ts';
import type { SnapshotStorage } from './snapshot-storage.ts';

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
  const newest = editions.slice(-keep).map((entry) => entry.edition);
  const named = await namedObjects(storage, editions, new Set([...newest, edition]));
  const { prerendered } = (await storage.open(edition)).manifest;
  named.set(prerendered.sha256, prerendered);
  const held = await target.list(OBJECTS);
  const missing = [...named.values()].filter((ref) => held.get(objectPath(ref.sha256)) !== ref.bytes);
  await inParallel(missing, UPLOADS, async (ref) => {
    signal?.throwIfAborted();
    await target.write(objectPath(ref.sha256), await readVerified(storage, ref), ref.sha256);
  });
  const manifests = await pushManifests(storage, target, editions, signal);
  await writeIfDifferent(target, PUBLICATION_LOG, logText);
  await writeIfDifferent(target, CURRENT_POINTER, Buffer.from(edition));
  const removed = removeOthers ? await removeUnnamed(target, held.keys(), named) : 0;
  return {
    ...{ target: target.name, edition },
    uploaded: {
      objects: missing.length,
      bytes: missing.reduce((sum, { bytes }) => sum + bytes, 0),
      manifests,
    },
    ...{ present: named.size - missing.length, removed },
  };
}

/** Gateways refuse a log that does not extend the one they know, so it must not replace the target's. */
async function refuseOtherLog(target: PushTarget, editions: readonly LogEntry[]): Promise<void> {
  const text = await target.read(PUBLICATION_LOG);
  if (text === null) return;
  const there = publicationLog.parse(JSON.parse(text.toString())).editions;
  const isExtended = there.every((entry, index) => isDeepStrictEqual(entry, editions[index]));
  if (isExtended) return;
  throw new CommandError(
    `${target.name} holds another log: its ${there.length} editions are not the first of the ${editions.length} here`,
  );
}

async function readVerified(storage: SnapshotStorage, ref: FileRef): Promise<Buffer> {
  const content = await readFile(storage.pathOf(ref)).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
    throw new CommandError(`the object ${ref.sha256} is missing; nothing new is visible at the target`);
  });
  if (content.length === ref.bytes && hash('sha256', content) === ref.sha256) return content;
  throw new CommandError(`the object ${ref.sha256} is damaged; nothing new is visible at the target`);
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
async function removeUnnamed(
  target: PushTarget,
  held: Iterable<string>,
  named: ReadonlyMap<string, FileRef>,
): Promise<number> {
  const needed = new Set([...named.keys()].map(objectPath));
  const others = [...held].filter((path) => !needed.has(path));
  await inParallel(others, UPLOADS, (path) => target.remove(path));
  return others.length;
}
