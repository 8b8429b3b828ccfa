/** Stored forms carry their version, and whoever reads another one names it. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { SnapshotStorage } from '../../build/editions/snapshot-storage.ts';
import { emptyRecord, ProviderLake } from '../../build/lake/lake.ts';
import { LAKE_FORMAT } from '../../data/schema/lake.ts';
import { LOG_FORMAT, manifestPath, PUBLICATION_LOG, SNAPSHOT_FORMAT } from '../../data/schema/snapshot.ts';
import { readManifest } from '../../gateway/api/snapshot/files/manifest.ts';
import { PublicationLogFile } from '../../gateway/api/snapshot/files/publication-log.ts';
import { useDirectory } from '../after-tests.ts';
import { FIXTURE_ID, publishFixture } from '../gateway/fixture-snapshot.ts';

const root = await useDirectory();
const refusal = (format: number) => `it has format ${format + 1}; this program reads format ${format}`;

/** Makes a file one of the next format. @returns which one it had */
async function raiseFormat(file: string): Promise<number> {
  const stored: { format: number } = JSON.parse(await readFile(file, 'utf8'));
  await writeFile(file, JSON.stringify({ ...stored, format: stored.format + 1 }));
  return stored.format;
}

it('a run of the lake', async () => {
  const lake = new ProviderLake(join(root, 'lake'), 'atlas');
  const { id, directory } = await lake.begin(0);
  await lake.finish(directory, { ...emptyRecord(id, 'atlas', 0), status: 'succeeded' });
  expect((await lake.current())?.record).toEqual({ ...emptyRecord(id, 'atlas', 0), status: 'succeeded' });
  expect(await raiseFormat(lake.recordFile(id))).toBe(LAKE_FORMAT);
  await expect(lake.current()).rejects.toThrow(`${lake.recordFile(id)}: ${refusal(LAKE_FORMAT)}`);
});

it('the log of editions', async () => {
  const storage = new SnapshotStorage(root);
  await storage.writeLog({ editions: [], checkpoint: '', rollbacks: [] });
  await storage.writeLog(await storage.log());
  expect(await raiseFormat(join(root, PUBLICATION_LOG))).toBe(LOG_FORMAT);
  await expect(storage.log()).rejects.toThrow(refusal(LOG_FORMAT));
  const served = new PublicationLogFile(root);
  await served.check();
  expect(served.error?.message).toContain(refusal(LOG_FORMAT));
});

it('the manifest of an edition', async () => {
  const snapshots = join(root, 'snapshots');
  await publishFixture(snapshots);
  expect(await raiseFormat(join(snapshots, manifestPath(FIXTURE_ID)))).toBe(SNAPSHOT_FORMAT);
  await expect(readManifest(snapshots, FIXTURE_ID)).rejects.toThrow(
    `bad manifest: ${refusal(SNAPSHOT_FORMAT)}`,
  );
});
