/**
 * Reads stored objects again, because disks lose bits. A full scrub belongs to `verify`; a nightly run reads a share, so
 * that every object is read once in `SCRUB_NIGHTS`.
 */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { hashFile } from '../../data/runtime/durable-files.ts';
import { inParallel } from '../../data/runtime/in-parallel.ts';
import { contradictedEntry, type ManifestFacts } from '../../data/schema/editions.ts';
import { manifestPath, manifest as manifestSchema, PUBLICATION_LOG } from '../../data/schema/snapshot.ts';
import { neededObjects } from './retention.ts';
import type { SnapshotStorage } from './snapshot-storage.ts';

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
function isOfNight(sha256: string, night_ms: number | undefined): boolean {
  if (night_ms === undefined) return true;
  return (
    Number.parseInt(sha256.slice(0, 2), 16) % SCRUB_NIGHTS === Math.floor(night_ms / DAY_MS) % SCRUB_NIGHTS
  );
}

/** Compares manifests with the log, and objects with their hashes. */
export async function scrub(
  storage: SnapshotStorage,
  { keep, night_ms, signal }: ScrubOptions,
): Promise<Scrub> {
  const needed = await neededObjects(storage, keep);
  const chosen = [...needed].filter(([sha256]) => isOfNight(sha256, night_ms));
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
    const hash = bytes && createHash('sha256').update(bytes).digest('hex');
    if (bytes && hash === manifest)
      manifests.set(edition, manifestSchema.parse(JSON.parse(bytes.toString())));
    else damaged.push(`the manifest of ${edition} is ${hash ? 'damaged' : 'missing'}: ${path}`);
  }
  const entry = damaged.length === 0 ? contradictedEntry(editions, manifests) : undefined;
  if (entry)
    damaged.push(`${PUBLICATION_LOG} is damaged: it says of ${entry.edition} what its manifest does not`);
  return damaged;
}
