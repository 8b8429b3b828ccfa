/**
 * `old-layout.zip`: four snapshots as version 0.1.0 published them, the third one served, and in `answers.json` what its
 * gateway answered while it served each of them. `atlas` is open, `census` is for display; a series vanishes in the third.
 */
import { createReadStream } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { openZip } from '../../../build/connectors/zip.ts';
import { World } from '../world.ts';

/** Oldest first. */
export const OLD_IDS = [
  '20261120T120000Z-6a34d429',
  '20261121T120000Z-571dc639',
  '20261122T120000Z-a2aae6f1',
  '20261123T120000Z-85b40c1d',
] as const;

/** By snapshot, then by path. */
export type OldAnswers = Record<string, Record<string, { status: number; text: string }>>;

/** A world whose store is that of the earlier version, and the recorded answers. */
export async function oldWorld(): Promise<{ world: World; answers: OldAnswers }> {
  const gates = { max_row_drop: 1, max_country_drop: 1 };
  const world = await World.create({ atlas: { gates }, census: { gates, access_tier: 'display' } });
  const zip = await openZip(createReadStream(join(import.meta.dirname, 'old-layout.zip')));
  let answers: OldAnswers = {};
  for (const name of zip.names) {
    const bytes = await buffer(zip.stream(name));
    if (name === 'answers.json') {
      answers = JSON.parse(bytes.toString());
      continue;
    }
    await mkdir(dirname(join(world.directory, name)), { recursive: true });
    await writeFile(join(world.directory, name), bytes);
  }
  await zip.close();
  return { world, answers };
}
