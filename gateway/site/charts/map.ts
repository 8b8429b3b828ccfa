/**
 * A map of the world in which the colour of a country says into which class its figure of one year falls. Small countries
 * are dots, and what has no figure is hatched.
 *
 * On a page the outlines come from one cached file, so that a map costs the page some kilobytes; elsewhere they stand in
 * the picture.
 */
import { group } from 'd3-array';
import type { CountryRecord } from '../../../data/schema/records.ts';
import { figureText } from '../figures.ts';
import type { CountryFigure, YearFigures } from '../series.ts';
import { type Classes, classify, classOf } from './classes.ts';
import {
  type Box,
  coloured,
  type Drawing,
  FAINT,
  INK,
  measureText,
  textAt,
  textWidth,
  titleOf,
} from './drawing.ts';
import { DOT_RADIUS, WORLD } from './world.ts';

export interface MapOptions {
  unit: string | null;
  /** Path of the file of outlines; undefined: they stand in the picture, with a legend below. */
  outlines: string | undefined;
  /** Says the figure of each country where somebody points at it, and of some in words. For the latest year only. */
  hasTitles: boolean;
}

/** One entry of the legend. */
export interface LegendEntry {
  className: string;
  text: string;
  colour: string;
}

export interface WorldMap extends Drawing {
  /** From the lowest class; what has no figure last. */
  legend: readonly LegendEntry[];
}

const MISSING = { className: 'none', text: 'No figure', colour: FAINT } as const;
/** Share of the box that the legend takes, in heights of letters. */
const LEGEND_LINES = 2.6;

export function worldMap(year: YearFigures, options: MapOptions): WorldMap {
  const classes = classify(year.figures.map(({ value }) => value));
  const legend = legendOf(classes, year);
  return {
    legend,
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

function legendOf({ bounds, colours }: Classes, { figures, missing }: YearFigures): LegendEntry[] {
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

function draw(
  { figures, missing }: YearFigures,
  classes: Classes,
  box: Box,
  { unit, outlines, hasTitles }: MapOptions,
): string {
  const legendHeight = outlines === undefined ? box.font * LEGEND_LINES : 0;
  const scale = Math.min(box.width / WORLD.width, (box.height - legendHeight) / WORLD.height);
  const nameOf = ({ country, value }: CountryFigure): string =>
    hasTitles ? titleOf(`${country.name}: ${measureText(value, unit)}`) : '';
  const byClass = group(figures, ({ value }) => classOf(value, classes));
  const shown = classes.colours.map(({ className, light }, at) => {
    const shapes = (byClass.get(at) ?? []).map((each) => shapeOf(each.country, outlines, nameOf(each)));
    return `<g class="${className}" color="${light}" fill="currentColor">${shapes.join('')}</g>`;
  });
  const withoutName = ({ name }: CountryRecord): string => (hasTitles ? titleOf(`${name}: no figure`) : '');
  const hatched = missing.map((country) => shapeOf(country, outlines, withoutName(country))).join('');
  const left = Math.round((box.width - WORLD.width * scale) / 2);
  const transform =
    left === 0 && scale === 1 ? '' : ` transform="translate(${left} 0) scale(${scale.toFixed(4)})"`;
  return (
    hatching(box.id) +
    `<g class="world" color="${FAINT}" stroke="currentColor" stroke-width="0.4"${transform}>${shown.join('')}` +
    `<g class="none" color="${MISSING.colour}" fill="url(#${box.id}-hatch)" stroke="currentColor" stroke-width="0.4">${hatched}</g></g>`
  );
}

/** Empty for a country that the map does not know. */
function shapeOf({ iso3 }: CountryRecord, outlines: string | undefined, title: string): string {
  const dot = WORLD.dots[iso3];
  if (dot) return element('circle', `class="dot" cx="${dot[0]}" cy="${dot[1]}" r="${DOT_RADIUS}"`, title);
  if (!WORLD.shapes[iso3]) return '';
  if (outlines) return element('use', `href="${outlines}#${iso3}"`, title);
  return element('path', `d="${WORLD.shapes[iso3]}"`, title);
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
