/** How many rows each indicator of an edition has. The proofs say so: no observations are read. */
import { type ProviderProofs, proofsFile } from '../../../../data/schema/proofs.ts';
import type { SnapshotFiles } from '../files/snapshot-files.ts';

type RowCounts = ReadonlyMap<string, number>;

/** Of all indicators. @throws {SnapshotUnreadable} */
export async function rowCounts(files: SnapshotFiles): Promise<RowCounts> {
  const counts = new Map<string, number>();
  for (const provider of Object.keys(files.manifest.providers))
    for (const [id, rows] of await rowsOf(files, provider)) counts.set(id, rows);
  return counts;
}

/** By the ids that the edition has: those that were published, also if they were withheld since. @throws {SnapshotUnreadable} */
export const rowsOf = async (files: SnapshotFiles, provider: string): Promise<RowCounts> =>
  (await files.shared(proofsFile(provider), 'rows', readRows)) ?? new Map();

function readRows(text: string): RowCounts {
  const { indicators }: ProviderProofs = JSON.parse(text);
  return new Map(Object.entries(indicators).map(([id, { rows }]) => [id, rows]));
}
