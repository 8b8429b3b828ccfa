/**
 * The histories of one to six countries as lines: bounds as bands, missing years as gaps, projections dashed, and the name
 * of each country at the end of its line. Paths are rounded to whole units, so that no figure can be read back exactly.
 */
import { extent } from 'd3-array';
import { type ScaleLinear, scaleLinear } from 'd3-scale';
import { area, line } from 'd3-shape';
import type { History, Point } from '../series.ts';
import { valueAxis, yearAxis } from './axes.ts';
import {
  type Box,
  type Drawing,
  measureText,
  SERIES_MAX,
  series,
  shortened,
  textAt,
  textWidth,
} from './drawing.ts';
import { type Run, usualStep, yearRuns } from './runs.ts';
import { spread } from './spread.ts';

type Scale = ScaleLinear<number, number>;

/** Share of the width that names at the ends of lines may take. */
const NAMES_MAX = 0.3;
/** Values that begin above this share of the largest one are shown without zero. */
const ZERO_BELOW = 0.4;

/** @param histories of at most six countries; those without a figure are left out */
export function lineChart(histories: readonly History[], unit: string | null): Drawing {
  const shown = histories.filter(({ points }) => points.length > 0).slice(0, SERIES_MAX);
  const plan = planOf(shown);
  return { description: describe(shown, unit), body: (box) => draw(plan, box) };
}

function describe(histories: readonly History[], unit: string | null): string {
  if (histories.length === 0) return 'No figures.';
  return histories
    .map(({ country, points }) => {
      const measured = points.filter(({ projected }) => !projected);
      const last = (measured.at(-1) ?? points.at(-1)) as Point;
      return `${country.name}: ${points[0]?.year} to ${points.at(-1)?.year}, ${measureText(last.value, unit)} in ${last.year}.`;
    })
    .join(' ');
}

/** What is drawn, whatever the box. */
interface Plan {
  lines: readonly { history: History; runs: readonly Run[] }[];
  years: [number, number];
  domain: [number, number];
}

function planOf(histories: readonly History[]): Plan {
  const step = usualStep(histories.map(({ points }) => points));
  const ends = histories.flatMap(({ points }) =>
    [points[0], points.at(-1)].flatMap((end) => end?.year ?? []),
  );
  return {
    lines: histories.map((history) => ({ history, runs: yearRuns(history.points, step) })),
    years: extent(ends) as [number, number],
    domain: valueDomain(histories),
  };
}

function draw({ lines, years, domain }: Plan, box: Box): string {
  const { width, height, font } = box;
  if (lines.length === 0)
    return textAt(width / 2, height / 2, 'No figures', { size: font, anchor: 'middle' });
  const y = scaleLinear(domain, [height - font * 2, font]).nice();
  const axis = valueAxis(y, box);
  const histories = lines.map(({ history }) => history);
  const names = Math.min(
    NAMES_MAX * width,
    Math.max(...histories.map(({ country }) => textWidth(country.name, font))) + font,
  );
  const x = scaleLinear(years, [axis.width, width - names]);
  const labels = nameLabels(histories, { x, y, font, room: names - font });
  const drawn = lines.map(({ runs }, at) =>
    series(at, bands(runs, x, y) + runs.map((run) => runPath(run, x, y)).join('') + labels[at]),
  );
  return axis.marks({ from: axis.width, to: width - names }) + yearAxis(x, years, box) + drawn.join('');
}

/** From zero where that does not flatten the lines. */
function valueDomain(histories: readonly History[]): [number, number] {
  let [low, high] = [Infinity, -Infinity];
  for (const { points } of histories)
    for (const { value, ciLo, ciHi } of points) {
      low = Math.min(low, value, ciLo ?? value, ciHi ?? value);
      high = Math.max(high, value, ciLo ?? value, ciHi ?? value);
    }
  if (low === high) return low === 0 ? [0, 1] : [Math.min(0, low * 2), Math.max(0, low * 2)];
  if (low > 0 && low < high * ZERO_BELOW) return [0, high];
  return high < 0 && high > low * ZERO_BELOW ? [low, 0] : [low, high];
}

/** A single point without neighbours is a dot. */
function runPath({ points, isProjected }: Run, x: Scale, y: Scale): string {
  const [first] = points;
  if (first && points.length === 1)
    return `<circle cx="${Math.round(x(first.year))}" cy="${Math.round(y(first.value))}" r="3" fill="currentColor"/>`;
  const path = line<Point>(
    ({ year }) => x(year),
    ({ value }) => y(value),
  ).digits(0)(points);
  const dashed = isProjected ? ' stroke-dasharray="4 4"' : '';
  return `<path d="${path}" fill="none" stroke="currentColor" stroke-width="2" stroke-linejoin="round"${dashed}/>`;
}

function bands(runs: readonly Run[], x: Scale, y: Scale): string {
  return runs
    .map(({ points }) => points.filter(({ ciLo, ciHi }) => ciLo !== null && ciHi !== null))
    .filter(({ length }) => length > 1)
    .map((points) => {
      const band = area<Point>(
        ({ year }) => x(year),
        ({ ciLo, value }) => y(ciLo ?? value),
        ({ ciHi, value }) => y(ciHi ?? value),
      ).digits(0)(points);
      return `<path d="${band}" fill="currentColor" fill-opacity="0.15"/>`;
    })
    .join('');
}

interface NamePlaces {
  x: Scale;
  y: Scale;
  font: number;
  room: number;
}

/** Beside the ends of the lines, moved apart where they would overlap. */
function nameLabels(histories: readonly History[], { x, y, font, room }: NamePlaces): string[] {
  const ends = histories.map(({ points }) => points.at(-1) as Point);
  const [bottom = 0, top = 0] = y.range();
  const heights = spread(
    ends.map(({ value }) => y(value)),
    { distance: font * 1.2, from: top, to: bottom },
  );
  const right = x.range()[1] ?? 0;
  return histories.map(({ country }, at) =>
    textAt(right + font / 2, (heights[at] ?? 0) + font / 3, shortened(country.name, font, room), {
      size: font,
    }),
  );
}
