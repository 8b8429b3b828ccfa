/** Two indicators of one year against each other, a dot a country, with the names of some. Skewed values have a log axis. */
import { extent, median } from 'd3-array';
import { scaleLog } from 'd3-scale';
import type { CountryRecord } from '../../../data/schema/records.ts';
import type { YearFigures } from '../series.ts';
import {
  type Box,
  coloured,
  type Drawing,
  drawable,
  FAINT,
  INK,
  linearScale,
  type Scale,
  SERIES_MAX,
  series,
  shortened,
  spread,
  textAt,
  textWidth,
  titleElement,
  valueAxis,
  valueAxisBelow,
} from './drawing.ts';

export interface Pair {
  country: CountryRecord;
  x: number;
  y: number;
}

interface ScatterOptions {
  /** Names of the axes, with their units. */
  across: string;
  up: string;
  /** ISO3 of the countries that are named and coloured. */
  chosen: readonly string[];
  /** Whether every dot says its country. */
  hasTitles: boolean;
}

/** The largest value is so many times the median: most countries would lie in a corner. */
const SKEWED_FROM = 10;
const RADIUS = 3.5;
/** Dots that overlap stay apart, and one alone still stands out from the page. */
export const OTHERS_OPACITY = 0.7;

/** The countries that have both, in the order of the first. */
export function pairFigures(across: YearFigures, up: YearFigures): Pair[] {
  const values = new Map(up.figures.map(({ country, value }) => [country.iso3, value]));
  return across.figures.flatMap(({ country, value: x }) => {
    const y = values.get(country.iso3);
    return y === undefined ? [] : [{ country, x, y }];
  });
}

export function scatterChart(pairs: readonly Pair[], options: ScatterOptions): Drawing {
  const { across, up } = options;
  const description = `${pairs.length} countries by ${across} (across) and ${up} (up).`;
  return { description, body: (box) => draw(pairs, options, box) };
}

function draw(pairs: readonly Pair[], { across, up, chosen, hasTitles }: ScatterOptions, box: Box): string {
  const { width, height, font } = box;
  if (pairs.length === 0)
    return textAt(width / 2, height / 2, 'No country has both', { size: font, anchor: 'middle' });
  const [top, bottom] = [font * 2.2, height - font * 3.2];
  const y = chooseScale(
    pairs.map((pair) => pair.y),
    [bottom, top],
  );
  const axis = valueAxis(y, { ...box, height: bottom - top });
  const left = axis.width + RADIUS;
  const right = width - font;
  const x = chooseScale(
    pairs.map((pair) => pair.x),
    [left, right],
  );
  const others = pairs.filter(({ country }) => !chosen.includes(country.iso3));
  const named = chosen.flatMap((code) => pairs.find(({ country }) => country.iso3 === code) ?? []);
  const titles =
    textAt(0, font, shortened(`↑ ${up}`, font, width), { size: font }) +
    textAt(width, height - font / 2, shortened(`${across} →`, font, width), { size: font, anchor: 'end' });
  return (
    axis.marks({ from: axis.width, to: right }) +
    valueAxisBelow(x, { bottom, font, width }) +
    coloured('ink', INK, titles) +
    coloured('others', FAINT, others.map((pair) => dot(pair, [x, y], OTHERS_OPACITY, hasTitles)).join('')) +
    namedDots(named.slice(0, SERIES_MAX), [x, y], { ...box, hasTitles })
  );
}

function chooseScale(values: readonly number[], range: [number, number]): Scale {
  const [low = 0, high = 0] = extent(values.map(drawable));
  const isSkewed = low > 0 && high > SKEWED_FROM * (median(values) ?? high);
  if (isSkewed) return scaleLog([low, high], range).clamp(true);
  return linearScale(low === high ? [low - 1, high + 1] : [low, high], range).nice();
}

const dot = (
  { country, x, y }: Pair,
  [across, up]: [Scale, Scale],
  opacity: number,
  hasTitle: boolean,
): string =>
  `<circle cx="${Math.round(across(x))}" cy="${Math.round(up(y))}" r="${RADIUS}" fill="currentColor" fill-opacity="${opacity}">${hasTitle ? titleElement(country.name) : ''}</circle>`;

/** Names stand beside their dots, on the side where there is room. */
function namedDots(
  pairs: readonly Pair[],
  [x, y]: [Scale, Scale],
  { width, font, hasTitles }: Box & { hasTitles: boolean },
): string {
  const [bottom = 0, top = 0] = y.range();
  const heights = spread(
    pairs.map((pair) => y(pair.y)),
    { distance: font * 1.1, from: top, to: bottom },
  );
  return pairs
    .map((pair, at) => {
      const { name } = pair.country;
      const fits = x(pair.x) + RADIUS + font + textWidth(name, font) < width;
      const place = x(pair.x) + (fits ? 1 : -1) * (RADIUS + font / 3);
      const anchor = fits ? 'start' : 'end';
      const shown = shortened(name, font, fits ? width - place : place);
      const label = textAt(place, (heights[at] ?? 0) + font / 3, shown, {
        size: font,
        anchor,
        isBold: true,
        hasHalo: true,
      });
      return series(at, dot(pair, [x, y], 1, hasTitles) + label);
    })
    .join('');
}
