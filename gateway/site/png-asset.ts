/** Pictures as PNG, kept as long as their edition is served. */

import type { Edition } from '../api/snapshot/editions/edition.ts';
import { ByteCache } from '../api/snapshot/files/byte-cache.ts';
import { type Draw, PngRenderer } from './charts/png.ts';
import type { Asset, PageInput } from './page.ts';

const MEDIA_TYPE = 'image/png';
/** Some hundred pictures. */
const KEPT_BYTES = 8 * 1024 * 1024;
/** What an entry takes besides its picture. */
const ENTRY_BYTES = 512;

interface Kept {
  /** Undefined where there is nothing to show. */
  png: Buffer | undefined;
}

const renderer = new PngRenderer();
const kept = new WeakMap<Edition, ByteCache<Kept>>();

/**
 * One picture for all who ask for it at the same time.
 * @param name of the kind of picture
 * @param draw called when its turn has come
 * @throws {QueueFull} before anything is read or drawn
 */
export async function pngAsset(
  name: string,
  { edition, path, query }: PageInput<unknown>,
  draw: Draw,
): Promise<Asset | undefined> {
  const cache = kept.get(edition) ?? new ByteCache<Kept>(KEPT_BYTES, bytesOf);
  kept.set(edition, cache);
  const key = JSON.stringify([name, path, query]);
  const { png } = await cache.getOrMake(key, async () => ({ png: await renderer.render(draw) }));
  return png && { bytes: png, mediaType: MEDIA_TYPE };
}

const bytesOf = ({ png }: Kept): number => ENTRY_BYTES + (png?.length ?? 0);
