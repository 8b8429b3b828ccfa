/**
 * Snapshots on disk: building, publishing, rolling back and retention.
 *
 * A snapshot is built in a `.building-` directory, gets its manifest last, and is renamed once. Replacing the pointer
 * file publishes it. A crash leaves either the old pointer and some garbage, or the new pointer and a complete
 * snapshot. The next build removes the garbage.
 */
import { randomUUID } from 'node:crypto';
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

  /** Ids of complete snapshots, oldest first. */
  async ids(): Promise<string[]> {
    const names = (await readdir(this.directory).catch(() => []))
      .filter((name) => SNAPSHOT_ID.test(name))
      .sort();
    const isComplete = await Promise.all(
      names.map((name) =>
        readFile(join(this.directory, name, MANIFEST)).then(
          () => true,
          () => false,
        ),
      ),
    );
    return names.filter((_, index) => isComplete[index]);
  }

  /** The served id, or null. */
  async currentId(): Promise<string | null> {
    const text = await readFile(join(this.directory, CURRENT_POINTER), 'utf8').catch(() => null);
    return text?.trim() ?? null;
  }

  /** @throws {CommandError} when there is no such snapshot; {Error} when its manifest is invalid. */
  async open(id: string): Promise<Published> {
    const directory = join(this.directory, id);
    if (!SNAPSHOT_ID.test(id)) throw new CommandError(`"${id}" is not a snapshot id`);
    const text = await readFile(join(directory, MANIFEST), 'utf8').catch(() => {
      throw new CommandError(`there is no snapshot ${id}`);
    });
    return { id, directory, manifest: manifestSchema.parse(JSON.parse(text)) };
  }

  /** The served snapshot; null when there is none or it cannot be read. */
  async current(): Promise<Published | null> {
    const id = await this.currentId();
    return id === null ? null : this.open(id).catch(() => null);
  }

  /** Removes what crashed builds left. The caller holds the lock. */
  async clean(): Promise<void> {
    await mkdir(this.directory, { recursive: true });
    const complete = new Set(await this.ids());
    for (const name of await readdir(this.directory)) {
      const isTemporary = name.startsWith(BUILDING) || name.endsWith('.tmp') || name.startsWith(`${LOCK}.`);
      const isIncomplete = SNAPSHOT_ID.test(name) && !complete.has(name);
      if (isTemporary || isIncomplete) await rm(join(this.directory, name), { recursive: true, force: true });
    }
  }

  /** Creates a new directory to build in, invisible to gateways. */
  async begin(): Promise<string> {
    const directory = join(this.directory, `${BUILDING}${randomUUID()}`);
    await mkdir(directory, { recursive: true });
    return directory;
  }

  /** Writes the manifest and renames the directory. The snapshot is then complete, but not yet served. */
  async seal(directory: string, manifest: Manifest): Promise<Published> {
    for (const folder of await foldersOf(directory)) await syncDirectory(folder);
    await writeFlushed(join(directory, MANIFEST), JSON.stringify(manifest));
    await syncDirectory(directory);
    const target = join(this.directory, manifest.id);
    const exists = (await this.ids()).includes(manifest.id);
    if (exists) await rm(directory, { recursive: true });
    else await rename(directory, target);
    await syncDirectory(this.directory);
    return { id: manifest.id, directory: target, manifest };
  }

  /** Serves a complete snapshot. */
  async publish(id: string): Promise<void> {
    await this.open(id);
    await replaceFile(join(this.directory, CURRENT_POINTER), id);
  }

  /**
   * Removes all but the newest `keep` snapshots, and never the newest two: gateways may still read the previous one.
   * @returns the removed ids.
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
 * Serves an earlier snapshot again.
 * @param to its id; by default the newest one older than the served one.
 * @returns the id now served.
 * @throws {CommandError} when there is no earlier snapshot.
 */
export async function rollback(storage: SnapshotStorage, to?: string): Promise<string> {
  const current = await storage.currentId();
  const target = to ?? (await storage.ids()).findLast((id) => current !== null && id < current);
  if (target === undefined) throw new CommandError('there is no earlier snapshot to roll back to');
  await storage.publish(target);
  return target;
}
