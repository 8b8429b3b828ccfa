/**
 * Backs everything up while the service runs: Redis, then the archive, then snapshots, lake and curated data.
 *
 * The archive's lock is held until Redis and archive are copied, so that no entry moves between them meanwhile. The
 * manifest is written last: an interrupted backup has none and cannot be restored.
 */
import { mkdir, readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { hashFile, syncDirectory, syncFiles, writeFlushed } from '../../data/runtime/durable-files.ts';
import { inParallel } from '../../data/runtime/in-parallel.ts';
import type { RedisClient } from '../../data/runtime/redis.ts';
import { withArchiveLock } from '../archive/run-archive.ts';
import { CommandError } from '../runtime/errors.ts';
import { BACKUP_FORMAT, BACKUP_MANIFEST, type BackupManifest, manifestText, REDIS_FILE } from './format.ts';
import { dumpRedis } from './redis-dump.ts';
import {
  assertSeparate,
  backupTrees,
  Copier,
  copyConsistently,
  type Tree,
  type TreeSettings,
} from './trees.ts';

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

/** An archive run ends within this time. */
const ARCHIVE_WAIT_MS = 15 * 60_000;
const FILES_AT_ONCE = 4;

/**
 * Writes a backup into a directory that is absent or empty.
 * @throws {CommandError} when it is not empty, or overlaps the data; {LockHeldError} when an archive run does not end.
 */
export async function createBackup(dependencies: BackupDependencies, to: string): Promise<BackupSummary> {
  const { redis, settings, now, signal } = dependencies;
  assertSeparate(settings, to);
  await mkdir(to, { recursive: true, mode: 0o700 });
  if ((await readdir(to)).length > 0)
    throw new CommandError(`${to} is not empty: give each backup a place of its own`);
  const begun_at = new Date(now()).toISOString();
  const copier = new Copier();
  const files: BackupManifest['files'] = {};
  const copyTree = async (tree: Tree): Promise<void> => {
    signal?.throwIfAborted();
    const paths = await copyConsistently(tree, join(to, tree.name), copier);
    await inParallel(paths.sort(), FILES_AT_ONCE, async (path) => {
      const name = `${tree.name}/${path}`;
      files[name] = await hashFile(join(to, name));
    });
  };
  const trees = backupTrees(settings);
  const waiting = { wait_ms: ARCHIVE_WAIT_MS, signal };
  const keys = await withArchiveLock(settings.ARCHIVE_DIR, waiting, async () => {
    const dumped = await dumpRedis(redis, join(to, REDIS_FILE), now);
    for (const tree of trees.filter(({ name }) => name === 'archive')) await copyTree(tree);
    return dumped;
  });
  files[REDIS_FILE] = await hashFile(join(to, REDIS_FILE));
  for (const tree of trees.filter(({ name }) => name !== 'archive')) await copyTree(tree);
  await writeManifest(to, { format: BACKUP_FORMAT, begun_at, keys, files });
  const bytes = Object.values(files).reduce((sum, file) => sum + file.bytes, 0);
  return { keys, files: Object.keys(files).length, bytes };
}

/** Flushes all files before the manifest that names them. */
async function writeManifest(to: string, manifest: BackupManifest): Promise<void> {
  const paths = Object.keys(manifest.files).map((name) => join(to, name));
  await syncFiles(paths);
  for (const folder of new Set(paths.map((path) => dirname(path)))) await syncDirectory(folder);
  await writeFlushed(join(to, BACKUP_MANIFEST), manifestText(manifest));
  await syncDirectory(to);
}
