/**
 * The directories of a backup, and how one is copied while others write to it.
 *
 * Files appear by a rename and never change, or are replaced by a rename. So a copy is consistent when a listing after it
 * equals the listing before. Otherwise the differences are copied or removed, and the directory is listed again. Names
 * that begin with a dot are locks, caches and unfinished files; they are left out.
 */
import { constants } from 'node:fs';
import { copyFile, link, lstat, mkdir, readdir, rm } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import { whenAbsent } from '../../data/runtime/durable-files.ts';
import { inParallel } from '../../data/runtime/in-parallel.ts';
import type { Settings } from '../../data/runtime/settings.ts';
import { CommandError } from '../runtime/errors.ts';

export type TreeSettings = Pick<
  Settings,
  'ARCHIVE_DIR' | 'LAKE_DIR' | 'SNAPSHOT_DIR' | 'SIGNING_DIR' | 'CURATED_DIR' | 'REDIS_DIR' | 'VAR_DIR'
>;

export interface Tree {
  name: 'archive' | 'lake' | 'snapshots' | 'curated' | 'signing';
  directory: string;
  /** Whether a file, by its path in the tree, is part of it. */
  holds(path: string): boolean;
  /** Whether its files may exist before a restore, when they are identical. */
  mayExist: boolean;
}

const isVisible = (path: string): boolean =>
  !path.split('/').some((word) => word.startsWith('.')) && !path.endsWith('.tmp');
/** The directory of the curated data also holds the code that reads it. */
const isCuratedFile = (path: string): boolean => isVisible(path) && /\.(csv|ya?ml)$/.test(path);

/**
 * Snapshots come last: nothing is served until they are restored, and the log in a backup extends the signed head in it.
 * The signing directory holds the head and, unless it is set as SIGNING_KEY, the private key.
 */
export const backupTrees = (settings: TreeSettings): Tree[] => [
  { name: 'curated', directory: settings.CURATED_DIR, holds: isCuratedFile, mayExist: true },
  { name: 'archive', directory: settings.ARCHIVE_DIR, holds: isVisible, mayExist: false },
  { name: 'lake', directory: settings.LAKE_DIR, holds: isVisible, mayExist: false },
  { name: 'signing', directory: settings.SIGNING_DIR, holds: isVisible, mayExist: true },
  { name: 'snapshots', directory: settings.SNAPSHOT_DIR, holds: isVisible, mayExist: false },
];

/** @throws {CommandError} when the backup and one of the directories contain each other. */
export function assertSeparate(settings: TreeSettings, backup: string): void {
  const isIn = (outer: string, inner: string): boolean => {
    const path = relative(outer, inner);
    return path === '' || !(path === '..' || path.startsWith(`..${sep}`));
  };
  const kept = [...backupTrees(settings).map(({ directory }) => directory), settings.REDIS_DIR];
  const near = kept.find((directory) => isIn(directory, backup) || isIn(backup, directory));
  if (near !== undefined)
    throw new CommandError(`a backup cannot lie in ${near} or around it: choose another place`);
}

/** Path in the tree -> an identity that changes when the file is replaced. */
export type Listing = Map<string, string>;

/** Empty when the directory does not exist. */
export async function listTree({ directory, holds }: Tree): Promise<Listing> {
  const entries = await readdir(directory, { withFileTypes: true, recursive: true }).catch(whenAbsent([]));
  const listing: Listing = new Map();
  for (const entry of entries) {
    const file = join(entry.parentPath, entry.name);
    const path = relative(directory, file).split(sep).join('/');
    if (entry.isDirectory() || !holds(path)) continue;
    const facts = await lstat(file).catch(whenAbsent(null));
    if (facts) listing.set(path, `${facts.dev}:${facts.ino}:${facts.size}:${facts.mtimeMs}`);
  }
  return listing;
}

const COPIES_AT_ONCE = 8;

/** Copies files and keeps hard links, by which snapshots share unchanged files. */
export class Copier {
  readonly #copied = new Map<string, Promise<string>>();

  /** @returns whether the file existed. */
  async copy(from: string, to: string): Promise<boolean> {
    await mkdir(dirname(to), { recursive: true });
    const facts = await lstat(from).catch(whenAbsent(null));
    if (!facts) return false;
    const inode = `${facts.dev}:${facts.ino}`;
    const earlier = facts.nlink > 1 ? this.#copied.get(inode) : undefined;
    const linking = earlier?.then((file) => link(file, to)).then(() => true);
    if (await linking?.catch(() => false)) return true;
    const copying = copyFile(from, to, constants.COPYFILE_FICLONE).then(() => to);
    if (facts.nlink > 1) this.#copied.set(inode, copying);
    return copying.then(() => true, whenAbsent(false));
  }
}

const MAX_ROUNDS = 100;

/**
 * Copies a tree as it is at one moment, while others write to it.
 * @returns the paths in the tree.
 * @throws {CommandError} when it keeps changing.
 */
export async function copyConsistently(tree: Tree, to: string, copier: Copier): Promise<string[]> {
  const copied: Listing = new Map();
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const listing = await listTree(tree);
    const stale = [...copied].filter(([path, facts]) => listing.get(path) !== facts).map(([path]) => path);
    for (const path of stale) {
      await rm(join(to, path), { force: true });
      copied.delete(path);
    }
    const fresh = [...listing].filter(([path]) => !copied.has(path));
    if (stale.length === 0 && fresh.length === 0) return [...copied.keys()];
    await inParallel(fresh, COPIES_AT_ONCE, async ([path, facts]) => {
      if (await copier.copy(join(tree.directory, path), join(to, path))) copied.set(path, facts);
    });
  }
  throw new CommandError(`${tree.directory} changes all the time: try again later`);
}
