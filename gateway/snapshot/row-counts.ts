/** How many rows each indicator of an edition has. The proofs say so: no observations are read. */
import { type ProviderProofs, proofsFile } from '../../data/schema/proofs.ts';
import type { SnapshotFiles } from './snapshot-files.ts';

/** By the id that the edition has; withheld indicators are among them. @throws {SnapshotUnreadable} */
export async function rowCounts(files: SnapshotFiles): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  for (const provider of Object.keys(files.manifest.providers)) {
    const proofs = await files.json<ProviderProofs>(proofsFile(provider));
    for (const [id, { rows }] of Object.entries(proofs?.indicators ?? {})) counts.set(id, rows);
  }
  return counts;
}
