/**
 * Stores that earlier versions wrote, as zip files beside this one, and in their `answers.json` what the gateway of that
 * version answered while it served each snapshot. `atlas` is open, `census` is for display.
 *
 *   old-layout.zip    version 0.1.0: a directory for each snapshot
 *   plain-store.zip   the first store by content: kept JSON is not compressed, latest values are one file a provider
 */
import { createReadStream } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { openZip } from '../../../build/connectors/zip.ts';
import { World } from '../world.ts';

/** By snapshot, then by path. */
export type StoredAnswers = Record<string, Record<string, { status: number; text: string }>>;

/** A world with such a store, and the recorded answers. */
export async function storedWorld(file: string): Promise<{ world: World; answers: StoredAnswers }> {
  const gates = { max_row_drop: 1, max_country_drop: 1 };
  const world = await World.create({ atlas: { gates }, census: { gates, access_tier: 'display' } });
  const zip = await openZip(createReadStream(join(import.meta.dirname, file)));
  let answers: StoredAnswers = {};
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

/** An answer without the echo of `as_of`, which is the last member of `meta`. */
export const withoutEcho = (text: string, asOf: string): string => text.replace(`,"as_of":"${asOf}"`, '');
