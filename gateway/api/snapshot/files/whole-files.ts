/**
 * Published files that are served as they are, the observations of an indicator and the bundle of a provider, and how many
 * rows they have. The proofs say so: no observations are read.
 */
import { type ProviderProofs, proofsFile } from '../../../../data/schema/proofs.ts';
import { bundleFile, observationsFile, providerOf } from '../../../../data/schema/snapshot.ts';
import type { CatalogueEntry } from '../editions/catalogue.ts';
import { type SnapshotFiles, SnapshotUnreadable } from './snapshot-files.ts';

type RowCounts = ReadonlyMap<string, number>;

/** Rows of each indicator. @throws {SnapshotUnreadable} */
export async function rowCounts(files: SnapshotFiles): Promise<RowCounts> {
  const counts = new Map<string, number>();
  for (const provider of Object.keys(files.manifest.providers))
    for (const [id, rows] of await rowsOf(files, provider)) counts.set(id, rows);
  return counts;
}

/** By the ids that the edition has: those that were published, also if they were withheld since. @throws {SnapshotUnreadable} */
const rowsOf = async (files: SnapshotFiles, provider: string): Promise<RowCounts> =>
  (await files.shared(proofsFile(provider), 'rows', readRows)) ?? new Map();

function readRows(text: string): RowCounts {
  const { indicators }: ProviderProofs = JSON.parse(text);
  return new Map(Object.entries(indicators).map(([id, { rows }]) => [id, rows]));
}

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
