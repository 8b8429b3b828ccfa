/**
 * Snapshots on disk: which is served, making one so, going back, and clearing up.
 *
 * A snapshot is built under a name that starts with `.building-`, gets its manifest last and its own name by one
 * rename; the pointer is then replaced by another. A crash at any moment leaves either the old pointer and some rubbish,
 * or the new pointer and a whole snapshot. The rubbish goes with the next build.
 */
import { mkdir, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import {
  CURRENT_POINTER,
  MANIFEST,
  type Manifest,
  manifest as manifestSchema,
  SNAPSHOT_ID,
} from '../../data/schema/snapshot.ts';
import { CommandError } from '../runtime/command-error.ts';
import { replaceFile, syncDirectory, writeFlushed } from '../runtime/durable-files.ts';

const BUILDING = '.building-';
const LOCK = '.lock';

/** A snapshot with its manifest. */
export interface Published {
  id: string;
  directory: string;
  manifest: Manifest;
}

export class SnapshotStorage {
  readonly directory: string;

  constructor(directory: string) {
    this.directory = directory;
  }

  get lockFile(): string {
    return join(this.directory, LOCK);
  }

  /** Ids of whole snapshots, oldest first. */
  async ids(): Promise<string[]> {
    const names = (await readdir(this.directory).catch(() => []))
      .filter((name) => SNAPSHOT_ID.test(name))
      .sort();
    const whole = await Promise.all(
      names.map((name) =>
        readFile(join(this.directory, name, MANIFEST)).then(
          () => true,
          () => false,
        ),
      ),
    );
    return names.filter((_, index) => whole[index]);
  }

  /** The id being served, or null. */
  async currentId(): Promise<string | null> {
    const text = await readFile(join(this.directory, CURRENT_POINTER), 'utf8').catch(() => null);
    return text?.trim() ?? null;
  }

  /** @throws {CommandError} when there is no such snapshot; {Error} when its manifest cannot be read. */
  async open(id: string): Promise<Published> {
    const directory = join(this.directory, id);
    if (!SNAPSHOT_ID.test(id)) throw new CommandError(`"${id}" is no snapshot id`);
    const text = await readFile(join(directory, MANIFEST), 'utf8').catch(() => {
      throw new CommandError(`there is no snapshot ${id}`);
    });
    return { id, directory, manifest: manifestSchema.parse(JSON.parse(text)) };
  }

  /** The snapshot being served; null when there is none or it cannot be read. */
  async current(): Promise<Published | null> {
    const id = await this.currentId();
    return id === null ? null : this.open(id).catch(() => null);
  }

  /** Removes what crashed builds left. Only for the holder of the lock. */
  async clean(): Promise<void> {
    await mkdir(this.directory, { recursive: true });
    const whole = new Set(await this.ids());
    for (const name of await readdir(this.directory)) {
      const half = name.startsWith(BUILDING) || name.endsWith('.tmp') || name.startsWith(`${LOCK}.`);
      const nameless = SNAPSHOT_ID.test(name) && !whole.has(name);
      if (half || nameless) await rm(join(this.directory, name), { recursive: true, force: true });
    }
  }

  /** An empty directory to build in, invisible to gateways. */
  async begin(): Promise<string> {
    const directory = join(this.directory, `${BUILDING}${process.pid}`);
    await mkdir(directory, { recursive: true });
    return directory;
  }

  /** Gives a built snapshot its manifest and its name. It is whole from then on, and not yet served. */
  async seal(directory: string, manifest: Manifest): Promise<Published> {
    for (const folder of await foldersOf(directory)) await syncDirectory(folder);
    await writeFlushed(join(directory, MANIFEST), JSON.stringify(manifest));
    await syncDirectory(directory);
    const home = join(this.directory, manifest.id);
    // The same content at the same time was published before: the one that stands is as good.
    const stands = (await this.ids()).includes(manifest.id);
    if (stands) await rm(directory, { recursive: true });
    else await rename(directory, home);
    await syncDirectory(this.directory);
    return { id: manifest.id, directory: home, manifest };
  }

  /** Points at a whole snapshot. */
  async point(id: string): Promise<void> {
    await this.open(id);
    await replaceFile(join(this.directory, CURRENT_POINTER), id);
  }

  /**
   * Removes the oldest snapshots but `keep`, and never the last two: gateways may read the one before for a moment more.
   */
  async prune(keep: number): Promise<string[]> {
    const current = await this.currentId();
    const others = (await this.ids()).filter((id) => id !== current);
    const old = others.slice(0, Math.max(0, others.length - Math.max(1, keep - 1)));
    for (const id of old) await rm(join(this.directory, id), { recursive: true, force: true });
    return old;
  }
}

async function foldersOf(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { withFileTypes: true, recursive: true });
  const folders = entries
    .filter((entry) => entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name));
  return [...folders, directory];
}

/**
 * Makes a sealed snapshot the one being served and clears older ones away.
 * @returns the ids that were removed.
 */
export async function publish(shelf: SnapshotStorage, id: string, keep: number): Promise<string[]> {
  await shelf.point(id);
  return shelf.prune(keep);
}

/**
 * Serves an earlier snapshot again.
 * @param to its id; without it, the newest that is older than the one being served.
 * @returns the id being served from now on.
 * @throws {CommandError} when there is none to go back to.
 */
export async function rollback(shelf: SnapshotStorage, to?: string): Promise<string> {
  const current = await shelf.currentId();
  const target = to ?? (await shelf.ids()).findLast((id) => current !== null && id < current);
  if (target === undefined) throw new CommandError('there is no earlier snapshot to go back to');
  await shelf.point(target);
  return target;
}
