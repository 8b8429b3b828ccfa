/** Pictures as PNG, kept as long as their edition is served. */
import { ByteCache } from '../../snapshot/byte-cache.ts';
import type { Edition } from '../../snapshot/edition.ts';
import { PngRenderer } from './charts/png.ts';
import type { Asset, PageInput } from './page.ts';

const PNG = 'image/png';
/** Some hundred pictures. */
const KEPT_BYTES = 8 * 1024 * 1024;

const renderer = new PngRenderer();
const kept = new WeakMap<Edition, ByteCache<Buffer>>();

/**
 * @param name of the kind of picture
 * @param draw gives an SVG document; undefined where there is nothing to show
 * @throws {QueueFull}
 */
export async function pngAsset(
  name: string,
  { edition, path, query }: PageInput<unknown>,
  draw: () => Promise<string | undefined> | string,
): Promise<Asset | undefined> {
  const cache = kept.get(edition) ?? new ByteCache<Buffer>(KEPT_BYTES, ({ length }) => length);
  kept.set(edition, cache);
  const key = JSON.stringify([name, path, query]);
  const known = cache.get(key);
  if (known) return { bytes: known, mediaType: PNG };
  renderer.check();
  const svg = await draw();
  if (svg === undefined) return undefined;
  return { bytes: await cache.getOrMake(key, () => renderer.render(svg)), mediaType: PNG };
}
