/**
 * Restores a backup into empty directories and an empty Redis.
 *
 * The whole backup is verified before anything changes. Files are copied to draft directories, then Redis is filled, then
 * the files are renamed into place, pointers to what is served last. An interrupted restore serves nothing and is
 * repeated with `force`.
 */
import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { readCheckpoint } from '../../data/proofs/verify-receipt.ts';
import { hashFile, moveFiles, syncFiles } from '../../data/runtime/durable-files.ts';
import type { RedisClient } from '../../data/runtime/redis.ts';
import { WITHHELD } from '../../data/runtime/withheld.ts';
import { CURRENT_POINTER, PUBLICATION_LOG, publicationLog } from '../../data/schema/snapshot.ts';
import { contradiction, readSignedHead, SIGNED_HEAD } from '../editions/editions.ts';
import { CommandError } from '../runtime/errors.ts';
import { type BackupManifest, REDIS_FILE, verifyBackup } from './format.ts';
import { countKeys, emptyRedis, restoreRedis } from './redis-dump.ts';
import { assertSeparate, backupTrees, Copier, listTree, type Tree, type TreeSettings } from './trees.ts';

export interface RestoreDependencies {
  redis: RedisClient;
  settings: TreeSettings;
}

export interface RestoreSummary {
  /** When the backup began. */
  begun_at: string;
  keys: number;
  files: number;
}

interface TreeCopy {
  tree: Tree;
  /** Files to write. */
  paths: string[];
  /** Files that stay: curated and signing files that are identical, which may be read-only; a newer signed head. */
  same: ReadonlySet<string>;
  draft: string;
}

/** Files that say what there is come last, in this order. */
const ORDER = [WITHHELD, PUBLICATION_LOG, CURRENT_POINTER];
const DRAFT = '.restoring';
/** Only the owner enters the directory of the private key. */
const PRIVATE = 0o700;
/** The operator area's cache of the previous archive. */
const RECONCILE_CACHE = 'reconcile';

/**
 * Restores everything.
 * @param force empties Redis and removes existing files first.
 * @throws {CommandError} naming the damaged file of the backup or what exists already, or when the log would lose signed
 *   editions, also with `force`. Nothing has changed then.
 */
export async function restoreBackup(
  { redis, settings }: RestoreDependencies,
  from: string,
  { force = false } = {},
): Promise<RestoreSummary> {
  assertSeparate(settings, from);
  const manifest = await verifyBackup(from);
  const ownHead = await keepsOwnHead(settings.SIGNING_DIR, from);
  const copies = await Promise.all(
    backupTrees(settings).map((tree) => planCopy(tree, manifest, tree.name === 'signing' && ownHead)),
  );
  if (!force) await assertEmpty(redis, copies);
  const copier = new Copier();
  for (const copy of copies) await draft(copy, from, copier);
  await rm(join(settings.VAR_DIR, RECONCILE_CACHE), { recursive: true, force: true });
  if (force) {
    await emptyRedis(redis);
    for (const copy of copies) await clear(copy);
  }
  await restoreRedis(redis, join(from, REDIS_FILE));
  for (const copy of copies) await place(copy);
  return { begun_at: manifest.begun_at, keys: manifest.keys, files: Object.keys(manifest.files).length };
}

async function planCopy(tree: Tree, { files }: BackupManifest, keepsHead: boolean): Promise<TreeCopy> {
  const start = `${tree.name}/`;
  const paths = Object.keys(files)
    .filter((name) => name.startsWith(start))
    .map((name) => name.slice(start.length));
  const same = new Set<string>(keepsHead ? [SIGNED_HEAD] : []);
  for (const path of tree.mayExist ? (await listTree(tree)).keys() : []) {
    const { sha256 } = await hashFile(join(tree.directory, path));
    if (sha256 === files[start + path]?.sha256) same.add(path);
  }
  const rank = (path: string): number => ORDER.indexOf(basename(path));
  return {
    tree,
    same,
    paths: paths.filter((path) => !same.has(path)).sort((a, b) => rank(a) - rank(b)),
    draft: join(tree.directory, DRAFT),
  };
}

async function assertEmpty(redis: RedisClient, copies: readonly TreeCopy[]): Promise<void> {
  const replace = 'stop the service and add --force to replace everything';
  const keys = await countKeys(redis);
  if (keys > 0) throw new CommandError(`Redis is not empty, it has ${keys} keys: ${replace}`);
  for (const { tree, same } of copies) {
    const other = [...(await listTree(tree)).keys()].find((path) => !same.has(path));
    if (other === undefined) continue;
    const what = tree.mayExist
      ? `${join(tree.directory, other)} is not as in the backup`
      : `${tree.directory} is not empty`;
    throw new CommandError(`${what}: ${replace}`);
  }
}

async function draft({ tree, paths, draft: beside }: TreeCopy, from: string, copier: Copier): Promise<void> {
  await rm(beside, { recursive: true, force: true });
  if (tree.name === 'signing' && paths.length > 0)
    await mkdir(tree.directory, { recursive: true, mode: PRIVATE });
  for (const path of paths) await copier.copy(join(from, tree.name, path), join(beside, path));
  await syncFiles(paths.map((path) => join(beside, path)));
}

/**
 * Removes existing files: of curated data only what differs, of the others everything, caches included. Signing files are
 * replaced, never removed: a restore that is interrupted here must not forget what was signed.
 */
async function clear({ tree, same }: TreeCopy): Promise<void> {
  if (tree.name === 'signing') return;
  const names = tree.mayExist
    ? [...(await listTree(tree)).keys()].filter((path) => !same.has(path))
    : (await readdir(tree.directory).catch(() => [])).filter((name) => name !== DRAFT);
  for (const name of names) await rm(join(tree.directory, name), { recursive: true, force: true });
}

async function place({ tree, paths, draft: beside }: TreeCopy): Promise<void> {
  await moveFiles(paths.map((path) => [join(beside, path), join(tree.directory, path)]));
  await rm(beside, { recursive: true, force: true });
}

/**
 * Keeps a restore from forking the signed log: compares the head that this machine signed last with a backup.
 * @returns whether it is at least as new as the head in the backup, and stays.
 * @throws {CommandError} when the log in the backup does not extend it.
 */
async function keepsOwnHead(signingDir: string, backup: string): Promise<boolean> {
  const own = await readSignedHead(signingDir);
  if (own === null) return false;
  const text = await readFile(join(backup, 'snapshots', PUBLICATION_LOG), 'utf8').catch(() => null);
  const editions = text === null ? [] : publicationLog.parse(JSON.parse(text)).editions;
  const reason = contradiction(editions, own);
  if (reason !== null)
    throw new CommandError(
      `the log in the backup has ${editions.length} editions, ${reason} here (${signingDir}): ` +
        'restore a newer backup, or see "Keys" in docs/receipts.md',
    );
  const copied = await readSignedHead(join(backup, 'signing'));
  return copied === null || readCheckpoint(own, null).size >= readCheckpoint(copied, null).size;
}
