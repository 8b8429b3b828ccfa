/**
 * Reads figures back out of pictures as people do: by the labels of axes and legends, and by where marks are. Marks and
 * ticks are each rounded to whole units, which bounds by how much a reading may differ.
 */
import { WORLD } from '../../../gateway/site/charts/map.ts';
import { unescaped } from './page-text.ts';

const ROUNDING = 0.5;
/** Figures are shown with four digits. */
const SHOWN_SHARE = 5e-4;

const WORDS: Readonly<Record<string, number>> = { million: 1e6, billion: 1e9, trillion: 1e12 };
const FIGURE = /^(-?[\d,]+(?:\.\d+)?(?:e[-+]?\d+)?)(?: (million|billion|trillion))?/;

/** The number at the beginning of a text, such as `34.05 million people`. */
export function readFigure(text: string): number {
  const [, digits, word = ''] = FIGURE.exec(text) ?? [];
  if (digits === undefined) throw new Error(`no figure in “${text}”`);
  return Number(digits.replaceAll(',', '')) * (WORDS[word] ?? 1);
}

/** Whether a text shows the value as far as four digits can. */
export const shows = (text: string, value: number): boolean =>
  Math.abs(readFigure(text) - value) <= Math.abs(value) * SHOWN_SHARE * (1 + 1e-9);

/** The whole `svg` elements of a page that have one of the classes of charts. */
export const chartsIn = (html: string, className: 'map' | 'wide' | 'narrow'): string[] =>
  [...html.matchAll(new RegExp(`<svg class="chart ${className}" .*?</svg>`, 'gs'))].map(([svg]) => svg);

export const descriptionOf = (svg: string): string =>
  unescaped(/<desc[^>]*>(.*?)<\/desc>/s.exec(svg)?.[1] ?? '');

/** What the groups of one class hold, in their order. */
const groupsOf = (svg: string, className: string): string[] =>
  [...svg.matchAll(new RegExp(`<g class="${className}"[^>]*>(.*?)</g>`, 'gs'))].map(
    ([, marks = '']) => marks,
  );

/** Where a value lies, and by how many units a mark may be beside that place. */
interface Place {
  at: number;
  error: number;
}
export type Scale = (value: number) => Place;

interface Tick {
  value: number;
  at: number;
}

/** Through the outermost ticks. A single one gives the place of its own value only. */
function scaleThrough(ticks: readonly Tick[], isLog = false): Scale {
  const [first, last] = [ticks[0], ticks.at(-1)];
  if (first === undefined || last === undefined) throw new Error('an axis has no ticks');
  const of = (value: number): number => (isLog ? Math.log10(value) : value);
  const span = of(last.value) - of(first.value);
  return (value) => {
    if (value === first.value) return { at: first.at, error: 2 * ROUNDING };
    if (span === 0) throw new Error(`one tick, at ${first.value}, does not say where ${value} lies`);
    const share = (of(value) - of(first.value)) / span;
    const beside = Math.abs(share) + Math.abs(1 - share);
    return { at: first.at + share * (last.at - first.at), error: ROUNDING * (1 + beside) + 1e-6 };
  };
}

export const isAt = (mark: number, { at, error }: Place): boolean => Math.abs(mark - at) <= error;

const TEXT = (anchor: string): RegExp => new RegExp(`<text [^>]*text-anchor="${anchor}"[^>]*>([^<]*)<`, 'g');
const labels = (groups: readonly string[], anchor: string): number[] =>
  groups.flatMap((marks) => [...marks.matchAll(TEXT(anchor))].map(([, text = '']) => readFigure(text)));

/** The scale of values: horizontal rules with labels on the left. @param isLog whether distances are ratios */
export function valueScale(svg: string, isLog = false): Scale {
  const rules = [...svg.matchAll(/<g class="(?:zero|grid)"[^>]*><path d="M-?\d+ (-?\d+)H/g)];
  const values = labels(groupsOf(svg, 'faint'), 'end');
  if (values.length !== rules.length) throw new Error(`${rules.length} rules, ${values.length} labels`);
  return scaleThrough(
    rules.map(([, y], index) => ({ value: values[index] ?? Number.NaN, at: Number(y) })),
    isLog,
  );
}

/** The scale of years, or of values across: short marks with labels below the chart. */
export function scaleBelow(svg: string, isLog = false): Scale {
  const groups = groupsOf(svg, 'faint');
  const marks = groups.flatMap((group) => [...group.matchAll(/<path d="M(-?\d+) -?\d+v4"/g)]);
  const values = labels(groups, 'middle');
  if (values.length !== marks.length) throw new Error(`${marks.length} marks, ${values.length} labels`);
  return scaleThrough(
    marks.map(([, x], index) => ({ value: values[index] ?? Number.NaN, at: Number(x) })),
    isLog,
  );
}

export interface Vertex {
  x: number;
  y: number;
  isDashed: boolean;
}

export interface DrawnLine {
  name: string;
  vertices: Vertex[];
  /** Upper and lower edge of each band, in the order of years. */
  bands: { x: number; upper: number; lower: number }[];
}

const pointsOf = (path: string): { x: number; y: number }[] =>
  [...path.matchAll(/(-?\d+),(-?\d+)/g)].map(([, x, y]) => ({ x: Number(x), y: Number(y) }));

/** The line of the chart's nth country; undefined where it has none. */
export function lineIn(svg: string, nth: number): DrawnLine | undefined {
  const [marks] = groupsOf(svg, `c${nth}`);
  if (marks === undefined) return undefined;
  const line: DrawnLine = { name: '', vertices: [], bands: [] };
  line.name = unescaped(/<text[^>]*>([^<]*)</.exec(marks)?.[1] ?? '');
  for (const [tag, name] of marks.matchAll(/<(path|circle) [^>]*>/g)) {
    const attribute = (of: string): string => new RegExp(` ${of}="([^"]*)"`).exec(tag)?.[1] ?? '';
    if (name === 'circle') {
      line.vertices.push({ x: Number(attribute('cx')), y: Number(attribute('cy')), isDashed: false });
      continue;
    }
    const points = pointsOf(attribute('d'));
    if (attribute('fill-opacity') !== '') line.bands.push(...bandOf(points));
    else addRun(line.vertices, points, attribute('stroke-dasharray') !== '');
  }
  return line;
}

/** A dashed run that continues a line repeats its last point. */
function addRun(vertices: Vertex[], points: readonly { x: number; y: number }[], isDashed: boolean): void {
  const [first] = points;
  const last = vertices.at(-1);
  const isRepeated = isDashed && first && last && first.x === last.x && first.y === last.y;
  for (const point of isRepeated ? points.slice(1) : points) vertices.push({ ...point, isDashed });
}

/** The upper edge comes first, the lower one back from its end. */
function bandOf(points: readonly { x: number; y: number }[]): DrawnLine['bands'] {
  const half = points.length / 2;
  return points.slice(0, half).map(({ x, y }, at) => ({
    x,
    upper: y,
    lower: points.at(-1 - at)?.y ?? Number.NaN,
  }));
}

export interface MapShape {
  /** The class that its colour stands for, or `none`. */
  className: string;
  /** What it says where somebody points at it; null where it says nothing. */
  title: string | null;
}

const CODES_OF_DOTS = new Map(Object.entries(WORLD.dots).map(([code, [x, y]]) => [`${x} ${y}`, code]));
const CODES_OF_PATHS = new Map(Object.entries(WORLD.shapes).map(([code, path]) => [path, code]));

/** The countries of a map by ISO3, however their outlines are given. @throws for a country that is drawn twice */
export function mapIn(svg: string): Map<string, MapShape> {
  const found = new Map<string, MapShape>();
  for (const [, className = '', marks = ''] of svg.matchAll(
    /<g class="([sd]\d|none)" color="[^"]+" fill="[^"]+"[^>]*>(.*?)<\/g>/gs,
  ))
    for (const [shape, , rest] of marks.matchAll(/<(use|circle|path) [^>]*?(\/>|>.*?<\/\1>)/gs)) {
      const code = codeOf(shape);
      if (found.has(code)) throw new Error(`${code} is drawn twice`);
      const title = /<title>(.*?)<\/title>/s.exec(rest ?? '')?.[1];
      found.set(code, { className, title: title === undefined ? null : unescaped(title) });
    }
  return found;
}

function codeOf(shape: string): string {
  const [, x, y] = / cx="([^"]+)" cy="([^"]+)"/.exec(shape) ?? [];
  const code =
    /href="[^"#]+#([A-Z]{3})"/.exec(shape)?.[1] ??
    CODES_OF_DOTS.get(`${x} ${y}`) ??
    CODES_OF_PATHS.get(/ d="([^"]+)"/.exec(shape)?.[1] ?? '');
  if (code === undefined) throw new Error(`no country has the shape ${shape.slice(0, 80)}`);
  return code;
}

export interface LegendRange {
  className: string;
  /** Infinite where the class is open. A value equal to `from` belongs to the class. */
  from: number;
  to: number;
}

/** Classes of a legend in HTML, from the lowest; without the entry for missing figures. */
export const legendIn = (html: string): LegendRange[] =>
  [...html.matchAll(/<span class="swatch ([sd]\d)"><\/span>([^<]*)</g)].map(
    ([, className = '', range = '']) => {
      const text = unescaped(range);
      if (text === 'All values') return { className, from: -Infinity, to: Infinity };
      if (text.startsWith('below ')) return { className, from: -Infinity, to: readFigure(text.slice(6)) };
      if (text.endsWith(' or more')) return { className, from: readFigure(text), to: Infinity };
      const [from = '', to = ''] = text.split(' to ');
      return { className, from: readFigure(from), to: readFigure(to) };
    },
  );

/** Whether a value lies in a class, as far as four digits of its bounds say. */
export const isInRange = (value: number, { from, to }: LegendRange): boolean => {
  const slack = (bound: number): number => (Number.isFinite(bound) ? Math.abs(bound) * SHOWN_SHARE : 0);
  return value >= from - slack(from) && value < to + slack(to);
};

/** Centres of the dots without a name, in their order. */
export const otherDots = (svg: string): { x: number; y: number }[] =>
  groupsOf(svg, 'others').flatMap((marks) => circlesIn(marks));

/** The dot and the name of the nth country that is named. */
export function namedDot(svg: string, nth: number): { x: number; y: number; name: string } | undefined {
  const [marks] = groupsOf(svg, `c${nth}`);
  const [circle] = circlesIn(marks ?? '');
  const name = /<text[^>]*>([^<]*)</.exec(marks ?? '')?.[1];
  return circle && name !== undefined ? { ...circle, name: unescaped(name) } : undefined;
}

const circlesIn = (marks: string): { x: number; y: number }[] =>
  [...marks.matchAll(/<circle cx="(-?\d+)" cy="(-?\d+)"/g)].map(([, x, y]) => ({
    x: Number(x),
    y: Number(y),
  }));
