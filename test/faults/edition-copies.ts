/** A directory of snapshots with as many editions as wanted: copies of the served one under other times. */
import { createHash } from 'node:crypto';
import { cp, mkdir, symlink } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { SnapshotStorage } from '../../build/editions/snapshot-storage.ts';
import { compactTime } from '../../build/lake/provider-lake.ts';
import { replaceFile } from '../../data/runtime/durable-files.ts';
import { formatTimestamp } from '../../data/schema/records.ts';
import { EDITIONS, manifestPath, OBJECTS } from '../../data/schema/snapshot.ts';

const DAY_MS = 86_400_000;

/** @param count of editions in the end, the served one among them */
export async function copyEditions(from: SnapshotStorage, directory: string, count: number): Promise<void> {
  await mkdir(directory, { recursive: true });
  await symlink(resolve(from.directory, OBJECTS), join(directory, OBJECTS));
  for (const name of [EDITIONS, 'log.json', 'current'])
    await cp(join(from.directory, name), join(directory, name), { recursive: true });
  const storage = new SnapshotStorage(directory);
  const served = await storage.current();
  const { editions, checkpoint } = await storage.log();
  const last = editions.find(({ edition }) => edition === served?.id);
  if (!served || !last) throw new Error('nothing is published');
  const added = [];
  let base = last.base;
  for (let number = editions.length; number < count; number += 1) {
    const instant = Date.parse(last.published_at) - (count - number) * DAY_MS;
    const id = `${compactTime(instant)}-${number.toString(16).padStart(8, '0')}`;
    const text = JSON.stringify({ ...served.manifest, id, generated_at: formatTimestamp(instant) });
    await replaceFile(join(directory, manifestPath(id)), text);
    const manifest = createHash('sha256').update(text).digest('hex');
    added.push({ ...last, edition: id, published_at: formatTimestamp(instant), manifest, base });
    base = id;
  }
  const linked = editions.map((entry) => (entry === last ? { ...entry, base } : entry));
  await storage.writeLog({ editions: [...linked, ...added], checkpoint, rollbacks: [] });
}
