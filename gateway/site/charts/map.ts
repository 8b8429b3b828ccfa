/**
 * A map of the world in which the colour of a country says into which class its figure of one year falls. Small countries
 * are dots, and what has no figure is hatched.
 *
 * On a page the outlines come from one cached file, so that a map costs the page some kilobytes; elsewhere they stand in
 * the picture.
 */
import { readFileSync } from 'node:fs';
import { bisectLeft, bisectRight, group } from 'd3-array';
import type { CountryRecord } from '../../../data/schema/records.ts';
import { figureText } from '../figures.ts';
import type { CountryFigure, YearFigures } from '../series.ts';
import {
  type Box,
  coloured,
  type Drawing,
  FAINT,
  INK,
  measureText,
  textAt,
  textWidth,
  titleElement,
} from './drawing.ts';

/** Equal Earth, in whole units of a map 1,000 units wide. `test/world/write-world.ts` makes it. */
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
const STROKE = 0.4;

/** What the map of a continent shows: left, top, width and height. Islands beyond the date line lie outside of that of Oceania. */
const VIEWS: Readonly<Record<string, readonly [number, number, number, number]>> = {
  'un-africa': [400, 100, 232, 272],
  'un-americas': [40, 0, 425, 435],
  'un-asia': [530, 48, 340, 240],
  'un-europe': [425, 6, 200, 116],
  'un-oceania': [755, 205, 245, 205],
};

/** Groups of countries that a map can be zoomed to. */
export const CONTINENTS: readonly string[] = Object.keys(VIEWS);

export const WORLD = JSON.parse(readFileSync(new URL('world.json', import.meta.url), 'utf8')) as World;

export interface MapOptions {
  unit: string | null;
  /** Path of the file of outlines; undefined: they stand in the picture, with a legend below. */
  outlines: string | undefined;
  /** Says the figure of each country where somebody points at it, and of some in words. */
  hasTitles: boolean;
  /** What else is said of a country where somebody points at it. */
  notes?(figure: CountryFigure): readonly string[];
  /** A group of countries: the others are pale, and a map of a continent shows no more than it. */
  group?: { id: string; members: ReadonlySet<string> } | undefined;
  /** The values that classes are made of, so that all years share them; default those of the year. */
  classed?: readonly number[];
}

/** One entry of the legend. */
interface LegendEntry {
  className: string;
  text: string;
  colour: string;
}

export interface WorldMap extends Drawing {
  /** From the lowest class; what has no figure last. */
  legend: readonly LegendEntry[];
  /** The part of the world that is in sight, as an attribute of SVG; undefined for all of it. */
  viewBox: string | undefined;
}

const MISSING = { className: 'none', text: 'No figure', colour: FAINT } as const;
/** Share of the box that the legend takes, in heights of letters. */
const LEGEND_LINES = 2.6;

export function worldMap(year: YearFigures, options: MapOptions): WorldMap {
  const classes = classify(options.classed ?? year.figures.map(({ value }) => value));
  const legend = makeLegend(classes, year);
  return {
    legend,
    viewBox: VIEWS[options.group?.id ?? '']?.join(' '),
    description: describe(year, options),
    body: (box) => draw(year, classes, box, options) + (options.outlines ? '' : drawLegend(legend, box)),
  };
}

function describe({ figures, missing }: YearFigures, { unit, hasTitles }: MapOptions): string {
  const [first, last] = [figures[0], figures.at(-1)];
  if (first === undefined || last === undefined) return 'No country has a figure.';
  const without = missing.length === 0 ? '' : `, ${missing.length} have none`;
  const counts = `${figures.length} countries have a figure${without}.`;
  if (!hasTitles) return counts;
  const ends = [first, last].map(({ country, value }) => `${country.name}: ${measureText(value, unit)}`);
  return `${counts} First of the list is ${ends[0]}; last is ${ends[1]}.`;
}

function makeLegend({ bounds, colours }: Classes, { figures, missing }: YearFigures): LegendEntry[] {
  const entries = colours.map(({ className, light }, at) => ({
    className,
    colour: light,
    text: rangeText(bounds[at - 1], bounds[at]),
  }));
  return [...(figures.length > 0 ? entries : []), ...(missing.length > 0 ? [MISSING] : [])];
}

function rangeText(from: number | undefined, to: number | undefined): string {
  if (from === undefined) return to === undefined ? 'All values' : `below ${figureText(to)}`;
  return to === undefined ? `${figureText(from)} or more` : `${figureText(from)} to ${figureText(to)}`;
}

function draw({ figures, missing }: YearFigures, classes: Classes, box: Box, options: MapOptions): string {
  const { unit, outlines, hasTitles, notes } = options;
  const legendHeight = outlines === undefined ? box.font * LEGEND_LINES : 0;
  const scale = Math.min(box.width / WORLD.width, (box.height - legendHeight) / WORLD.height);
  const zoom = (VIEWS[options.group?.id ?? '']?.[2] ?? WORLD.width) / WORLD.width;
  const nameOf = (figure: CountryFigure): string => {
    const lines = [`${figure.country.name}: ${measureText(figure.value, unit)}`, ...(notes?.(figure) ?? [])];
    return hasTitles ? titleElement(lines.join('\n')) : '';
  };
  const byClass = group(figures, ({ value }) => classOf(value, classes));
  const shown = classes.colours.map(({ className, light }, at) => {
    const shapes = (byClass.get(at) ?? []).map((each) => drawShape(each.country, options, nameOf(each)));
    return `<g class="${className}" color="${light}" fill="currentColor">${shapes.join('')}</g>`;
  });
  const withoutName = ({ name }: CountryRecord): string =>
    hasTitles ? titleElement(`${name}: no figure`) : '';
  const hatched = missing.map((country) => drawShape(country, options, withoutName(country))).join('');
  const stroke = Number((STROKE * zoom).toFixed(2));
  const left = Math.round((box.width - WORLD.width * scale) / 2);
  const transform =
    left === 0 && scale === 1 ? '' : ` transform="translate(${left} 0) scale(${scale.toFixed(4)})"`;
  return (
    hatching(box.id) +
    `<g class="world" color="${FAINT}" stroke="currentColor" stroke-width="${stroke}"${transform}>${shown.join('')}` +
    `<g class="none" color="${MISSING.colour}" fill="url(#${box.id}-hatch)" stroke="currentColor" stroke-width="${stroke}">${hatched}</g></g>`
  );
}

/** Empty for a country that the map does not know. */
function drawShape({ iso3 }: CountryRecord, { outlines, group }: MapOptions, title: string): string {
  const dot = WORLD.dots[iso3];
  const pale = group === undefined || group.members.has(iso3) ? '' : ' pale';
  if (dot) {
    const radius = VIEWS[group?.id ?? ''] ? DOT_RADIUS / 2 : DOT_RADIUS;
    const place = `cx="${dot[0]}" cy="${dot[1]}" r="${radius}" data-iso3="${iso3}"`;
    return element('circle', `class="dot${pale}" ${place}`, title);
  }
  if (!WORLD.shapes[iso3]) return '';
  const className = pale && ' class="pale"';
  if (outlines) return element('use', `href="${outlines}#${iso3}"${className}`, title);
  return element('path', `d="${WORLD.shapes[iso3]}"${className}`, title);
}

const element = (name: string, attributes: string, content: string): string =>
  content === '' ? `<${name} ${attributes}/>` : `<${name} ${attributes}>${content}</${name}>`;

const hatching = (id: string): string =>
  `<defs><pattern id="${id}-hatch" width="4" height="4" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">` +
  `<path d="M0 0V4" class="none" color="${MISSING.colour}" stroke="currentColor" stroke-width="1"/></pattern></defs>`;

/** Swatches with their ranges in one row below the map, or in two where they do not fit. */
function drawLegend(legend: readonly LegendEntry[], { width, height, font, id }: Box): string {
  const widths = legend.map(({ text }) => textWidth(text, font) + font * 2.2);
  const rows = widths.reduce((sum, each) => sum + each, 0) <= width ? 1 : 2;
  const perRow = Math.ceil(legend.length / rows);
  return legend
    .map((entry, at) => {
      const row = Math.floor(at / perRow);
      const x = widths.slice(row * perRow, at).reduce((sum, each) => sum + each, 0);
      return legendEntry(entry, { x, y: height - (rows - row) * font * 1.4 + font }, { font, id });
    })
    .join('');
}

function legendEntry(
  { className, colour, text }: LegendEntry,
  { x, y }: { x: number; y: number },
  { font, id }: Pick<Box, 'font' | 'id'>,
): string {
  const fill = className === MISSING.className ? `url(#${id}-hatch)` : 'currentColor';
  const swatch = `<rect x="${Math.round(x)}" y="${Math.round(y - font * 0.85)}" width="${font}" height="${font}" fill="${fill}" stroke="${FAINT}" stroke-width="0.5"/>`;
  return (
    coloured(className, colour, swatch) +
    coloured('ink', INK, textAt(x + font * 1.4, y, text, { size: font }))
  );
}

/** The file that maps of pages take their outlines from. */
export function outlinesFile(): string {
  const paths = Object.entries(WORLD.shapes).map(([iso3, path]) => `<path id="${iso3}" d="${path}"/>`);
  return `<svg xmlns="http://www.w3.org/2000/svg"><defs>${paths.join('')}</defs></svg>`;
}

/** A few ranges of values that about as many countries fall into, with bounds that people can read. */
interface Classes {
  /** Where the next class begins: a value equal to a bound belongs to the class above it. Ascending. */
  bounds: readonly number[];
  /** By class, from the lowest, a colour of `SEQUENTIAL` or `DIVERGING`. */
  colours: readonly Colour[];
}

interface Colour {
  className: string;
  light: string;
}

const CLASSES_MAX = 6;
/** Values on both sides of zero get colours of their own where each side has this share of the countries. */
const SIDE_MIN = 1 / 8;
const DIGITS_MIN = 2;
const DIGITS_MAX = 15;

const palette = (prefix: string, colours: readonly string[]): Colour[] =>
  colours.map((light, at) => ({ className: `${prefix}${at}`, light }));

/** From pale to dark, as colour-blind people see it, too. */
export const SEQUENTIAL = palette('s', ['#e6f0c8', '#b4dcba', '#72c1b4', '#379fa9', '#1f7397', '#173f6b']);
/** Brown below zero and green above it. */
export const DIVERGING = palette('d', ['#8c510a', '#cf9a45', '#f0deb4', '#c2e4df', '#55aea4', '#01665e']);

function classify(values: readonly number[]): Classes {
  const sorted = values.toSorted((a, b) => a - b);
  const negative = sorted.filter((value) => value < 0);
  const positive = sorted.filter((value) => value > 0);
  if (Math.min(negative.length, positive.length) >= values.length * SIDE_MIN && values.length > 0)
    return aroundZero(negative, positive);
  const bounds = findBounds(sorted, CLASSES_MAX);
  return { bounds, colours: pick(SEQUENTIAL, bounds.length + 1) };
}

/** @param classed the values that classes are made of. @returns tells the number of a value's class, from 0 */
export function classifier(classed: readonly number[]): (value: number) => number {
  const classes = classify(classed);
  return (value) => classOf(value, classes);
}

/** @returns the number of the value's class, from 0 */
const classOf = (value: number, { bounds }: Classes): number => bisectRight(bounds, value);

function aroundZero(negative: readonly number[], positive: readonly number[]): Classes {
  const side = CLASSES_MAX / 2;
  const [below, above] = [findBounds(negative, side), findBounds(positive, side)];
  return {
    bounds: [...below, 0, ...above],
    colours: [
      ...DIVERGING.slice(side - below.length - 1, side),
      ...DIVERGING.slice(side, side + above.length + 1),
    ],
  };
}

/** Where equal shares of the values begin, without those that would leave a class empty. */
function findBounds(sorted: readonly number[], count: number): number[] {
  const distinct = [...new Set(sorted)];
  if (distinct.length <= count) return readable(distinct.slice(1), sorted);
  const starts = Array.from({ length: count - 1 }, (_, at) => Math.ceil(((at + 1) * sorted.length) / count));
  const bounds = new Set(starts.map((start) => sorted[start] as number));
  return readable(
    [...bounds].filter((bound) => bound > (sorted[0] as number)),
    sorted,
  );
}

/** The bounds with as few digits as keep them apart and every class filled. */
function readable(bounds: readonly number[], sorted: readonly number[]): number[] {
  for (let digits = DIGITS_MIN; digits <= DIGITS_MAX; digits++) {
    const rounded = bounds.map((bound) => Number(bound.toPrecision(digits)));
    if (isFilled(rounded, sorted)) return rounded;
  }
  return [...bounds];
}

function isFilled(bounds: readonly number[], sorted: readonly number[]): boolean {
  const starts = [0, ...bounds.map((bound) => bisectLeft(sorted, bound)), sorted.length];
  return starts.every((start, at) => at === 0 || start > (starts[at - 1] ?? 0));
}

/** Colours as far apart as so many can be. */
function pick(colours: readonly Colour[], count: number): Colour[] {
  const last = colours.length - 1;
  return Array.from(
    { length: count },
    (_, at) => colours[Math.round((at * last) / Math.max(1, count - 1))] as Colour,
  );
}
