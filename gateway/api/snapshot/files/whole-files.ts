/** Published files that are served as they are: the observations of an indicator, and the bundle of a provider. */
import { bundleFile, observationsFile, providerOf } from '../../../../data/schema/snapshot.ts';
import type { CatalogueEntry } from '../editions/catalogue.ts';
import { rowsOf } from '../rows/row-counts.ts';
import { SnapshotUnreadable } from './objects.ts';
import type { SnapshotFiles } from './snapshot-files.ts';

export interface StoredFile {
  sha256: string;
  bytes: number;
  /** Rows of observations, which are what it costs. */
  rows: number;
  /** Where it lies, in its whole size. @throws {SnapshotUnreadable} */
  path(): Promise<string>;
}

/** @param held the id that the edition has for the indicator. @throws {SnapshotUnreadable} */
export async function observationsOf(files: SnapshotFiles, held: string): Promise<StoredFile> {
  const rows = (await rowsOf(files, providerOf(held))).get(held);
  const file = rows === undefined ? null : await storedFile(files, observationsFile(held), rows);
  if (file === null) throw new SnapshotUnreadable(`snapshot ${files.manifest.id} has no figures of ${held}`);
  return file;
}

/**
 * The bundle of a provider; null where the edition has none or none any more, and where a series that it has was withheld
 * since.
 * @param entries of the provider in the edition. @throws {SnapshotUnreadable}
 */
export async function bundleOf(
  files: SnapshotFiles,
  provider: string,
  entries: Iterable<CatalogueEntry>,
): Promise<StoredFile | null> {
  const records = new Map([...entries].map(({ record }) => [record.id, record]));
  const rows = await rowsOf(files, provider);
  if ([...rows.keys()].some((id) => !records.has(id)) || !(await files.hasPrerendered())) return null;
  const bundled = [...records.values()].filter(({ access_tier }) => access_tier === 'open');
  const total = bundled.reduce((sum, { id }) => sum + (rows.get(id) ?? 0), 0);
  return storedFile(files, bundleFile(provider), total);
}

async function storedFile(files: SnapshotFiles, name: string, rows: number): Promise<StoredFile | null> {
  const ref = await files.find(name);
  if (ref === undefined) return null;
  return { sha256: ref.sha256, bytes: ref.bytes, rows, path: () => files.pathOf(name) };
}
