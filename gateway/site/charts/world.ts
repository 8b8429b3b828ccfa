/** Geometry of the maps: Equal Earth, in whole units of a map 1,000 units wide. `test/world/write-world.ts` makes it. */
import { readFileSync } from 'node:fs';

export interface World {
  width: number;
  height: number;
  /** By ISO3, the data of an SVG path. */
  shapes: Readonly<Record<string, string>>;
  /** By ISO3, the centre of a country that is too small to be seen. */
  dots: Readonly<Record<string, readonly [x: number, y: number]>>;
}

/** In units of the map. */
export const DOT_RADIUS = 3;

export const WORLD = JSON.parse(readFileSync(new URL('world.json', import.meta.url), 'utf8')) as World;
