/**
 * What a run was made with besides the upstream files: the definition, the place table, the spine, the bounds, and the
 * version of this code. When any of it changes, an unchanged upstream must be read again.
 */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Counts up when ingestion judges rows differently than before. */
const INGESTION_VERSION = 3;

export async function inputDigest(curatedDir: string, providerId: string, source: unknown): Promise<string> {
  const hash = createHash('sha256').update(JSON.stringify([INGESTION_VERSION, source]));
  for (const file of [
    'countries.csv',
    'places.csv',
    `providers/${providerId}.yaml`,
    `overlay/${providerId}.csv`,
  ]) {
    hash.update(file).update(await readFile(join(curatedDir, file)).catch(() => 'absent'));
  }
  return hash.digest('hex');
}
