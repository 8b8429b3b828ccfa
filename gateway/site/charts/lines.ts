/**
 * The histories of one to six places as lines: bounds as bands, missing years as gaps, projections dashed, and the name
 * of each place at the end of its line. Paths are rounded to whole units, so that no figure can be read back exactly.
 */
import { extent } from 'd3-array';
import { scaleLinear, scaleLog } from 'd3-scale';
import { area, line } from 'd3-shape';
import type { Sparkline } from '../../../data/schema/snapshot.ts';
import { type Html, html } from '../../web/templates.ts';
import { figureText } from '../figures.ts';
import type { History, Point } from '../series.ts';
import {
  type Box,
  type Drawing,
  linearScale,
  measureText,
  type Scale,
  SERIES_MAX,
  series,
  shortened,
  spread,
  textAt,
  textWidth,
  valueAxis,
  yearAxis,
} from './drawing.ts';

/** Share of the width that names at the ends of lines may take. */
const NAMES_MAX = 0.3;
/** Values that begin above this share of the largest one are shown without zero. */
const ZERO_BELOW = 0.4;

/** @param histories of at most six places; those without a figure are left out. @param isOpen the words may say earlier figures */
export function lineChart(
  histories: readonly History[],
  unit: string | null,
  isOpen = false,
  isLog = false,
): Drawing {
  const shown = histories.filter(({ points }) => points.length > 0).slice(0, SERIES_MAX);
  const plan = planLines(shown, isLog);
  return { description: describe(shown, unit, isOpen), body: (box) => draw(plan, box) };
}

/** What rose or fell, from what to what: the first figure and the newest measured one of each place. */
function describe(histories: readonly History[], unit: string | null, isOpen: boolean): string {
  if (histories.length === 0) return 'No figures.';
  return histories
    .map(({ place, points }) => {
      const first = points[0] as Point;
      const last = (points.findLast(({ projected }) => !projected) ?? points.at(-1)) as Point;
      const end = `${measureText(last.value, unit)} in ${last.year}`;
      if (first.year === last.year) return `${place.name}: ${end}.`;
      const from = isOpen ? `${figureText(first.value)} in ${first.year}` : String(first.year);
      return `${place.name} ${movement(first.value, last.value)} from ${from} to ${end}.`;
    })
    .join(' ');
}

const movement = (from: number, to: number): string =>
  to > from ? 'rose' : to < from ? 'fell' : 'did not change';

/** What is drawn, whatever the box. */
function planLines(histories: readonly History[], isLog: boolean) {
  const step = usualStep(histories.map(({ points }) => points));
  const years = histories.flatMap(({ points }) => points.map(({ year }) => year));
  return {
    lines: histories.map((history) => ({ history, runs: yearRuns(history.points, step) })),
    years: extent(years) as [number, number],
    domain: isLog ? logDomain(histories) : valueDomain(histories),
    isLog,
  };
}

function draw({ lines, years, domain, isLog }: ReturnType<typeof planLines>, box: Box): string {
  const { width, height, font } = box;
  if (lines.length === 0)
    return textAt(width / 2, height / 2, 'No figures', { size: font, anchor: 'middle' });
  const range = [height - font * 2, font] as const;
  const y = isLog ? scaleLog(domain, range).clamp(true) : linearScale(domain, range).nice();
  const axis = valueAxis(y, box);
  const histories = lines.map(({ history }) => history);
  const names = Math.min(
    NAMES_MAX * width,
    Math.max(...histories.map(({ place }) => textWidth(place.name, font))) + font,
  );
  const x = scaleLinear(years, [axis.width, width - names]);
  const labels = nameLabels(histories, [x, y], font, names - font);
  const drawn = lines.map(({ runs }, at) =>
    series(at, bands(runs, x, y) + runs.map((run) => runPath(run, x, y)).join('') + labels[at]),
  );
  return (
    axis.marks({ from: axis.width, to: width - names }) +
    yearAxis(x, years, box) +
    drawn.join('') +
    plotArea(x, years, [font, height - font * 2])
  );
}

/** Says a script which years lie where. */
function plotArea(x: Scale, [from, to]: readonly [number, number], [top, bottom]: [number, number]): string {
  const [left = 0, right = 0] = x.range();
  // A scale of one year has it in the middle.
  const years = from === to ? [from - 1, to + 1] : [from, to];
  return `<path data-years="${years.join(' ')}" d="M${left} ${Math.round(top)}H${right}V${Math.round(bottom)}" fill="none"/>`;
}

/** Points that one line joins. A projected one begins with the last measured point before it. */
interface Run {
  points: readonly Point[];
  isProjected: boolean;
}

/**
 * Years from one point to the next where none is missing: the most frequent distance, since many series have a figure
 * every second or fifth year only.
 */
function usualStep(histories: readonly (readonly Point[])[]): number {
  const counts = new Map<number, number>();
  for (const points of histories) {
    let before = Infinity;
    for (const { year } of points) {
      if (year > before) counts.set(year - before, (counts.get(year - before) ?? 0) + 1);
      before = year;
    }
  }
  const [usual] = [...counts].sort(([a, n], [b, m]) => m - n || a - b);
  return usual?.[0] ?? 1;
}

/** Breaks where a year is missing, and where measured figures end and projected ones begin. @param points oldest first */
function yearRuns(points: readonly Point[], step: number): Run[] {
  const runs: { points: Point[]; isProjected: boolean }[] = [];
  let last: Point | undefined;
  for (const point of points) {
    const run = runs.at(-1);
    const isJoined = last !== undefined && point.year - last.year <= step;
    if (run && isJoined && run.isProjected === point.projected) run.points.push(point);
    else runs.push({ points: joinedStart(last, point, isJoined), isProjected: point.projected });
    last = point;
  }
  return runs;
}

/** A projection continues the measured line; what follows a projection without a gap is joined by a dashed line, too. */
function joinedStart(last: Point | undefined, point: Point, isJoined: boolean): Point[] {
  return isJoined && last !== undefined && point.projected ? [last, point] : [point];
}

/** What bounds have beyond it is drawn at its ends. @param histories of figures above zero */
function logDomain(histories: readonly History[]): [number, number] {
  const values = histories.flatMap(({ points }) => points.map(({ value }) => value));
  const [low = 1, high = 1] = extent(values);
  return low === high ? [low / 2, high * 2] : [low, high];
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

/** Beside the ends of the lines, moved apart where they would overlap. */
function nameLabels(
  histories: readonly History[],
  [x, y]: [Scale, Scale],
  font: number,
  room: number,
): string[] {
  const ends = histories.map(({ points }) => points.at(-1) as Point);
  const [bottom = 0, top = 0] = y.range();
  const heights = spread(
    ends.map(({ value }) => y(value)),
    { distance: font * 1.2, from: top, to: bottom },
  );
  const right = x.range()[1] ?? 0;
  return histories.map(({ place }, at) =>
    textAt(right + font / 2, (heights[at] ?? 0) + font / 3, shortened(place.name, font, room), {
      size: font,
    }),
  );
}

/** In pixels. */
const SPARK_WIDTH = 120;
const SPARK_HEIGHT = 28;
/** Room for the stroke and the mark of the last value. */
const SPARK_MARGIN = 3;
const SPARK_GREATEST = 99;

const rounded = (value: number): number => Math.round(value * 10) / 10;

/** `Rose from 1990 to 2023, highest in 2019` */
function sparkText(from: number, heights: Sparkline['heights']): string {
  const years = heights.flatMap((height, at) => (height === null ? [] : [{ year: from + at, height }]));
  const [first, last] = [years[0], years.at(-1)];
  if (first === undefined || last === undefined || first === last) return `One figure, of ${from}`;
  const text = `${movement(first.height, last.height)} from ${first.year} to ${last.year}`;
  const extremes = [
    ['highest', years.reduce((a, b) => (b.height > a.height ? b : a))] as const,
    ['lowest', years.reduce((a, b) => (b.height < a.height ? b : a))] as const,
  ]
    .filter(([, { height }]) => height !== first.height && height !== last.height)
    .map(([word, { year }]) => `, ${word} in ${year}`);
  return text.charAt(0).toUpperCase() + text.slice(1) + extremes.join('');
}

/** A history as a small line without axes: the table beside it has the latest figure. */
export function sparkline({ from, heights }: Sparkline): Html {
  const step = (SPARK_WIDTH - 2 * SPARK_MARGIN) / Math.max(1, heights.length - 1);
  const x = (at: number): number => rounded(SPARK_MARGIN + at * step);
  const y = (height: number): number =>
    rounded(SPARK_HEIGHT - SPARK_MARGIN - (height / SPARK_GREATEST) * (SPARK_HEIGHT - 2 * SPARK_MARGIN));
  let path = '';
  for (const [at, height] of heights.entries()) {
    if (height === null) continue;
    const isAlone = (heights[at - 1] ?? null) === null;
    path += `${isAlone ? 'M' : 'L'}${x(at)} ${y(height)}`;
    // A stroke of no length shows a single value between gaps.
    if (isAlone && (heights[at + 1] ?? null) === null) path += 'h0';
  }
  const last = heights.length - 1;
  const mark = `<circle cx="${x(last)}" cy="${y(heights[last] ?? 0)}" r="2.2"/>`;
  const text = sparkText(from, heights);
  return html(
    `<svg class="sparkline" viewBox="0 0 ${SPARK_WIDTH} ${SPARK_HEIGHT}" width="${SPARK_WIDTH}" height="${SPARK_HEIGHT}" role="img" aria-label="${text}"><path d="${path}"/>${mark}</svg>`,
  );
}
