/**
 * Makes `world.json`, the geometry of the maps, out of Natural Earth's countries (public domain, package `world-atlas`).
 *
 * Borders are simplified as one topology, so that neighbours still meet, projected, and rounded to whole units of a map
 * 1,000 units wide. What would be smaller than a dot becomes a dot, and dots that would cover each other are moved apart.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { parse } from 'csv-parse/sync';
import { geoCentroid, geoEqualEarth, geoPath } from 'd3-geo';
import { feature } from 'topojson-client';
import { presimplify, simplify, sphericalTriangleArea } from 'topojson-simplify';
import type { World } from '../../gateway/site/charts/map.ts';

type Ring = [longitude: number, latitude: number][];
/** Its outline, then its holes. */
type Polygon = Ring[];
type Point = [x: number, y: number];

const WIDTH = 1_000;
/** East of it lies all of Russia, so that no country is cut in two. */
const CENTRAL_MERIDIAN = 11;
/** Steradians of the smallest bend that is kept: about half a square unit. */
const BEND_MIN = 2e-5;
/** In square units of the map. */
const ISLAND_MIN = 1.5;
const SHAPE_MIN = 8;
/** Distance of the centres of dots, two radii and a gap. */
const DOT_DISTANCE = 6.5;
/** Latitudes: what is drawn ends above Antarctica, which has no figures. */
const SOUTH = -57;
const NORTH = 84;

/** Parts of the atlas without a code, by name. Those of no country of the table go with the one that the UN counts them to. */
const UNCODED: Readonly<Record<string, string>> = { Kosovo: 'XKX', Somaliland: 'SOM', 'N. Cyprus': 'CYP' };

/** What the atlas draws as a part of another country, which has other parts: bounds of longitude and latitude. */
const TERRITORIES = [
  { iso3: 'GUF', of: 'FRA', west: -55, south: 2, east: -51, north: 6 },
  { iso3: 'GLP', of: 'FRA', west: -62, south: 15.7, east: -60.9, north: 16.6 },
  { iso3: 'MTQ', of: 'FRA', west: -61.4, south: 14.3, east: -60.7, north: 15 },
  { iso3: 'REU', of: 'FRA', west: 55, south: -22, east: 56, north: -20 },
  { iso3: 'MYT', of: 'FRA', west: 44.9, south: -13.2, east: 45.5, north: -12.5 },
  { iso3: 'SJM', of: 'NOR', west: 8, south: 74, east: 36, north: 82 },
] as const;

/** What the atlas leaves out. */
const PLACES: Readonly<Record<string, Point>> = {
  BES: [-68.27, 12.18],
  CCK: [96.83, -12.15],
  CXR: [105.63, -10.49],
  GIB: [-5.35, 36.14],
  TKL: [-171.85, -9.2],
  TUV: [179.2, -8.52],
};

interface Country {
  iso3: string;
  m49: string;
  enabled: string;
}

const require = createRequire(import.meta.url);
const TABLE = new URL('../../data/countries.csv', import.meta.url);
export const WORLD_FILE = new URL('../../gateway/site/charts/world.json', import.meta.url);

const countries: Country[] = parse(readFileSync(TABLE), { columns: true });

const projection = geoEqualEarth().rotate([-CENTRAL_MERIDIAN, 0]).precision(0.5);
projection.fitWidth(WIDTH, { type: 'Sphere' });
const [, top] = project([CENTRAL_MERIDIAN, NORTH]);
const [, bottom] = project([CENTRAL_MERIDIAN, SOUTH]);
projection.translate([projection.translate()[0], projection.translate()[1] - top]);

/** The text of `world.json`. */
export function makeWorld(): string {
  const atlas = readAtlas();
  const simplified = polygonsByCountry(simplify(presimplify(atlas, sphericalTriangleArea), BEND_MIN));
  const exact = polygonsByCountry(atlas);
  const shapes: Record<string, string> = {};
  const centres = new Map<string, Point>();
  for (const { iso3, enabled } of countries) {
    if (enabled !== 'true') continue;
    const polygons = exact.get(iso3) ?? [];
    const area = geoPath(projection).area({ type: 'MultiPolygon', coordinates: polygons });
    if (area < SHAPE_MIN) centres.set(iso3, project(PLACES[iso3] ?? centreOfLargest(iso3, polygons)));
    else shapes[iso3] = pathOf(simplified.get(iso3) ?? []);
  }
  const dots = Object.fromEntries(apart(centres));
  const world: World = { width: WIDTH, height: Math.ceil(bottom - top), shapes, dots };
  return `${JSON.stringify(world, null, 1)}\n`;
}

type Atlas = Parameters<typeof presimplify>[0];

function readAtlas(): Atlas {
  return JSON.parse(readFileSync(require.resolve('world-atlas/countries-50m.json'), 'utf8')) as Atlas;
}

function polygonsByCountry(topology: Atlas): Map<string, Polygon[]> {
  const byNumber = new Map(countries.map(({ m49, iso3 }) => [m49.padStart(3, '0'), iso3]));
  const found = new Map<string, Polygon[]>();
  const collection = feature(topology, topology.objects.countries as never) as unknown as {
    features: { id?: string; properties: { name: string }; geometry: { type: string; coordinates: never } }[];
  };
  for (const { id, properties, geometry } of collection.features) {
    const iso3 = UNCODED[properties.name] ?? byNumber.get(id ?? '');
    if (iso3 === undefined) continue;
    const polygons: Polygon[] = geometry.type === 'Polygon' ? [geometry.coordinates] : geometry.coordinates;
    for (const polygon of polygons) {
      const owner = territoryOf(iso3, polygon) ?? iso3;
      found.set(owner, [...(found.get(owner) ?? []), polygon]);
    }
  }
  return found;
}

function territoryOf(iso3: string, polygon: Polygon): string | undefined {
  const [longitude, latitude] = geoCentroid({ type: 'Polygon', coordinates: polygon });
  return TERRITORIES.find(
    ({ of, west, south, east, north }) =>
      of === iso3 && longitude > west && longitude < east && latitude > south && latitude < north,
  )?.iso3;
}

function project(place: Point): Point {
  const projected = projection(place);
  if (projected === null) throw new Error(`no place on the map: ${place}`);
  return projected;
}

function centreOfLargest(iso3: string, polygons: readonly Polygon[]): Point {
  const byArea = polygons.toSorted((a, b) => areaOf(b) - areaOf(a));
  if (byArea[0] === undefined) throw new Error(`the atlas has no ${iso3}: give its place`);
  return geoCentroid({ type: 'Polygon', coordinates: byArea[0] });
}

function areaOf(coordinates: Polygon): number {
  return geoPath(projection).area({ type: 'Polygon', coordinates });
}

/** All but the smallest islands, as one path of relative lines. */
function pathOf(polygons: readonly Polygon[]): string {
  const rings = polygons.flatMap((polygon) => {
    const path = geoPath(projection)({ type: 'Polygon', coordinates: polygon }) ?? '';
    return path.split('M').slice(1).map(wholeUnits);
  });
  const sized = rings.map((ring) => ({ ring, area: Math.abs(areaWithin(ring)) }));
  const largest = Math.max(...sized.map(({ area }) => area));
  return sized
    .filter(({ ring, area }) => ring.length > 2 && area >= Math.min(ISLAND_MIN, largest))
    .map(({ ring }) => relativePath(ring))
    .join('');
}

/** @param text `0.1,0.2L3.4,5.6Z` */
function wholeUnits(text: string): Point[] {
  const points = text
    .replace('Z', '')
    .split('L')
    .map((pair): Point => {
      const [x = '', y = ''] = pair.split(',');
      return [Math.round(Number(x)), Math.round(Number(y))];
    });
  return points.filter(([x, y], at) => {
    const [lastX, lastY] = points.at(at - 1) ?? [];
    return x !== lastX || y !== lastY;
  });
}

function areaWithin(ring: readonly Point[]): number {
  let sum = 0;
  for (const [at, [x, y]] of ring.entries()) {
    const [lastX, lastY] = ring.at(at - 1) as Point;
    sum += lastX * y - x * lastY;
  }
  return sum / 2;
}

/** `M12,34l5-6 7 8z` */
function relativePath([first, ...rest]: readonly Point[]): string {
  let [x, y] = first as Point;
  let path = `M${x},${y}l`;
  let isFirst = true;
  for (const point of rest) {
    const [right, down] = [point[0] - x, point[1] - y];
    path += `${right < 0 || isFirst ? '' : ' '}${right}${down < 0 ? '' : ' '}${down}`;
    isFirst = false;
    [x, y] = point;
  }
  return `${path}z`;
}

/** Dots that lie closer than their distance, moved apart by halves until none do. */
function apart(places: ReadonlyMap<string, Point>): [string, Point][] {
  const moved = [...places].map(([iso3, [x, y]]): [string, Point] => [iso3, [x, y]]);
  for (let round = 0; round < 500; round++) {
    for (const [at, [, a]] of moved.entries()) for (const [, b] of moved.slice(at + 1)) push(a, b);
  }
  return moved.map(([iso3, [x, y]]) => [iso3, [tenths(x), tenths(y)]]);
}

function push(a: Point, b: Point): void {
  const [right, down] = [b[0] - a[0], b[1] - a[1]];
  const distance = Math.hypot(right, down);
  if (distance >= DOT_DISTANCE) return;
  const share = (DOT_DISTANCE - distance) / 2 / Math.max(distance, 1e-6);
  a[0] -= right * share;
  a[1] -= down * share;
  b[0] += right * share;
  b[1] += down * share;
}

function tenths(value: number): number {
  return Math.round(value * 10) / 10;
}
