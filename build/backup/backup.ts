/**
 * Backs everything up while the service runs: Redis, then the archive, then snapshots, lake and curated data.
 *
 * The archive's lock is held until Redis and archive are copied, so that no entry moves from one to the other between
 * them. Were one to, it would be in both copies, and `carried` in that of Redis would tell readers to take it once: that
 * is why Redis comes first. The manifest is written last: a backup that was broken off is none.
 */
import { mkdir, readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { acquireLock } from '../../data/runtime/file-lock.ts';
import type { RedisClient } from '../../data/runtime/redis.ts';
import { ArchiveStorage } from '../archive/archive-storage.ts';
import { CommandError } from '../runtime/command-error.ts';
import { syncDirectory, syncFiles, writeFlushed } from '../runtime/durable-files.ts';
import { inParallel } from '../runtime/in-parallel.ts';
import { dumpRedis } from './dump-redis.ts';
import {
  BACKUP_FORMAT,
  BACKUP_MANIFEST,
  type BackupManifest,
  factsOf,
  manifestText,
  REDIS_FILE,
} from './format.ts';
import { Copier, copyStill, keepApart, type Tree, type TreeSettings, treesOf } from './trees.ts';

export interface BackupDependencies {
  redis: RedisClient;
  settings: TreeSettings;
  /** Unix milliseconds. */
  now: () => number;
  signal?: AbortSignal | undefined;
}

export interface BackupSummary {
  keys: number;
  files: number;
  bytes: number;
}

/** A night's archive step ends within this. */
const ARCHIVE_FREE_WITHIN_MS = 15 * 60_000;
const READ_AT_ONCE = 4;

/**
 * Writes a backup into a directory that is absent or empty.
 * @throws {CommandError} when it is not, or lies where it must not; {LockHeldError} when an archive step does not end.
 */
export async function createBackup(dependencies: BackupDependencies, to: string): Promise<BackupSummary> {
  const { redis, settings, now, signal } = dependencies;
  keepApart(settings, to);
  await mkdir(to, { recursive: true, mode: 0o700 });
  if ((await readdir(to)).length > 0)
    throw new CommandError(`${to} is not empty: give each backup a place of its own`);
  const begun_at = new Date(now()).toISOString();
  const copier = new Copier();
  const files: BackupManifest['files'] = {};
  const take = async (tree: Tree): Promise<void> => {
    signal?.throwIfAborted();
    const paths = await copyStill(tree, join(to, tree.name), copier);
    await inParallel(paths.sort(), READ_AT_ONCE, async (path) => {
      const name = `${tree.name}/${path}`;
      files[name] = await factsOf(join(to, name));
    });
  };
  const [archives, others] = [true, false].map((isArchive) =>
    treesOf(settings).filter(({ name }) => (name === 'archive') === isArchive),
  );
  const shelf = new ArchiveStorage(settings.ARCHIVE_DIR);
  const lock = await acquireLock(shelf.lockFile, 'the archive', {
    wait_ms: ARCHIVE_FREE_WITHIN_MS,
    signal,
  });
  let keys: number;
  try {
    keys = await dumpRedis(redis, join(to, REDIS_FILE), now);
    for (const tree of archives ?? []) await take(tree);
  } finally {
    await lock.release();
  }
  files[REDIS_FILE] = await factsOf(join(to, REDIS_FILE));
  for (const tree of others ?? []) await take(tree);
  await seal(to, { format: BACKUP_FORMAT, begun_at, keys, files });
  const bytes = Object.values(files).reduce((sum, file) => sum + file.bytes, 0);
  return { keys, files: Object.keys(files).length, bytes };
}

/** Everything is on disk before the manifest says so. */
async function seal(to: string, manifest: BackupManifest): Promise<void> {
  const paths = Object.keys(manifest.files).map((name) => join(to, name));
  await syncFiles(paths);
  for (const folder of new Set(paths.map((path) => dirname(path)))) await syncDirectory(folder);
  await writeFlushed(join(to, BACKUP_MANIFEST), manifestText(manifest));
  await syncDirectory(to);
}
