/** Which files an edition still has, and may give away. */
import { rm, truncate } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { catalogueFile, type IndexedIndicator, observationsFile } from '../../../../data/schema/snapshot.ts';
import { toEntry } from '../../../../gateway/api/snapshot/editions/catalogue.ts';
import { SnapshotFiles } from '../../../../gateway/api/snapshot/files/snapshot-files.ts';
import { bundleOf, observationsOf } from '../../../../gateway/api/snapshot/files/whole-files.ts';
import { useDirectory } from '../../../after-tests.ts';
import { readManifest } from '../../fixture-log.ts';
import { FIXTURE_ID, fixturePath, writeFixture } from '../../fixture-snapshot.ts';
import { objectSource } from '../../object-source.ts';

const root = await useDirectory();
await writeFixture(root);

const open = async () => new SnapshotFiles(await readManifest(root, FIXTURE_ID), objectSource(root));
const entriesOf = async (files: SnapshotFiles, provider: string) =>
  ((await files.json<IndexedIndicator[]>(catalogueFile(provider))) ?? []).map(toEntry);

it('gives no bundle that has a series which was withheld since', async () => {
  const files = await open();
  const entries = await entriesOf(files, 'alpha');
  expect(await bundleOf(files, 'alpha', entries)).toMatchObject({ rows: 37 });
  // The record of a withheld series is deleted from the catalogue, its root stays among the proofs.
  expect(await bundleOf(files, 'alpha', entries.slice(1))).toBeNull();
});

it('gives no file that is not there in its whole size', async () => {
  const files = await open();
  const file = await observationsOf(files, 'alpha.life_expectancy');
  expect(file.rows).toBe(9);
  const path = await fixturePath(root, observationsFile('alpha.life_expectancy'));
  expect(await file.path()).toBe(path);
  await truncate(path, file.bytes - 1);
  await expect(file.path()).rejects.toThrow('cannot be read');
  await rm(path);
  await expect(file.path()).rejects.toThrow('cannot be read');
});
