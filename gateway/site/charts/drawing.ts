/**
 * What all charts share: colours, text and its places, axes. A chart is drawn into a box by a pure function and knows nothing
 * of where it is shown; `frame.ts` makes a picture of it.
 *
 * Every colour is both a class and a presentation attribute `color`, and marks are drawn in `currentColor`: pictures that
 * stand alone need no stylesheet, and pages change the colours by class. Nothing has a style attribute, which the security
 * policy refuses.
 */
import { tickIncrement, ticks } from 'd3-array';
import { type ScaleContinuousNumeric, scaleLinear } from 'd3-scale';
import { escapedXml } from '../../api/encoders/encoders.ts';
import { figureText } from '../figures.ts';

export interface Box {
  width: number;
  height: number;
  /** Height of letters. */
  font: number;
  /** The picture's id, unique on its page: ids of its parts begin with it. */
  id: string;
}

export interface Drawing {
  /** The chart in words, for those who do not see it. */
  description: string;
  body(box: Box): string;
}

export const INK = '#1f2428';
export const FAINT = '#575f66';
export const RULE = '#d9dad5';
/** Colours of series, in their order: told apart by colour-blind people, and dark enough for text on white. */
export const SERIES_COLOURS = ['#0072b2', '#b85000', '#007a57', '#ab4f86', '#8a6d00', '#3d4a52'] as const;
export const SERIES_MAX = SERIES_COLOURS.length;

/** Marks of one colour. The stylesheet of pages knows the class. */
export const coloured = (className: string, colour: string, marks: string): string =>
  marks === '' ? '' : `<g class="${className}" color="${colour}">${marks}</g>`;

export const series = (at: number, marks: string): string =>
  coloured(`c${at}`, SERIES_COLOURS[at % SERIES_MAX] ?? INK, marks);

interface TextOptions {
  size: number;
  anchor?: 'start' | 'middle' | 'end';
  isBold?: boolean;
  /** Stands out from marks below it. */
  hasHalo?: boolean;
}

/** In the colour of the group. @param y of the base line */
export function textAt(
  x: number,
  y: number,
  content: string,
  { size, anchor = 'start', isBold, hasHalo }: TextOptions,
): string {
  const anchored = anchor === 'start' ? '' : ` text-anchor="${anchor}"`;
  const bold = isBold ? ' font-weight="600"' : '';
  const halo = hasHalo ? ' class="halo" stroke="#fff" stroke-width="3" paint-order="stroke"' : '';
  return `<text x="${Math.round(x)}" y="${Math.round(y)}" font-size="${size}"${anchored}${bold}${halo} fill="currentColor">${escapedXml(content)}</text>`;
}

export const titleElement = (text: string): string => `<title>${escapedXml(text)}</title>`;

/** `77.9 years`, `5.1 %` */
export const measureText = (value: number, unit: string | null): string =>
  unit === null ? figureText(value) : `${figureText(value)} ${unit}`;

const NARROW = /[iljtfrI.,:;'|()[\] ]/;
const WIDE = /[mwMW@%]/;
const CAPITAL = /[A-Z0-9]/;

/** How wide a text is in a wide sans-serif font, at most: nothing here can measure it. */
export function textWidth(text: string, size: number): number {
  let ems = 0;
  for (const letter of text)
    ems += NARROW.test(letter) ? 0.38 : WIDE.test(letter) ? 0.97 : CAPITAL.test(letter) ? 0.7 : 0.61;
  return ems * size;
}

/** The text as far as it fits, with an ellipsis where it does not. */
export function shortened(text: string, size: number, width: number): string {
  if (textWidth(text, size) <= width) return text;
  // By halves: a name may have tens of thousands of letters.
  let [length, beyond] = [1, text.length];
  while (beyond - length > 1) {
    const middle = (length + beyond) >> 1;
    if (textWidth(`${text.slice(0, middle)}…`, size) > width) beyond = middle;
    else length = middle;
  }
  return `${text.slice(0, length).trimEnd()}…`;
}

/** Lines of whole words; the last one is shortened where the text needs more lines than there are. */
export function wrapped(text: string, size: number, width: number, linesMax: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(/\s+/)) {
    const longer = line === '' ? word : `${line} ${word}`;
    if (line !== '' && textWidth(longer, size) > width) {
      lines.push(line);
      line = word;
    } else line = longer;
  }
  lines.push(line);
  if (lines.length <= linesMax) return lines;
  const rest = lines.slice(linesMax - 1).join(' ');
  return [...lines.slice(0, linesMax - 1), shortened(rest, size, width)];
}

/** Where labels may lie along a line. */
interface Room {
  /** Least distance of two labels. */
  distance: number;
  from: number;
  to: number;
}

/**
 * Moves places as little as needed so that none are closer than the distance and all lie in the room: labels that would
 * overlap form a block around the middle of their places. @returns places in the order given
 */
export function spread(wanted: readonly number[], { distance, from, to }: Room): number[] {
  const order = wanted.map((_, at) => at).sort((a, b) => (wanted[a] ?? 0) - (wanted[b] ?? 0));
  const blocks: { members: number[]; start: number }[] = [];
  for (const member of order) {
    let block = { members: [member], start: wanted[member] ?? 0 };
    for (let above = blocks.at(-1); above && overlaps(above, block, distance); above = blocks.at(-1)) {
      blocks.pop();
      const members = [...above.members, ...block.members];
      const ideal = members.reduce((sum, each, at) => sum + (wanted[each] ?? 0) - at * distance, 0);
      block = { members, start: ideal / members.length };
    }
    block.start = Math.max(from, Math.min(block.start, to - (block.members.length - 1) * distance));
    blocks.push(block);
  }
  // From the last to the first: a block that was held back by the end pushes those before it.
  const places = new Array<number>(wanted.length).fill(from);
  let next = Infinity;
  for (const { members, start } of blocks.toReversed())
    for (const [at, member] of [...members.entries()].reverse()) {
      next = Math.min(start + at * distance, next - distance);
      places[member] = next;
    }
  return places;
}

const overlaps = (
  above: { members: number[]; start: number },
  below: { start: number },
  distance: number,
): boolean => below.start < above.start + above.members.length * distance;

export type Scale = ScaleContinuousNumeric<number, number>;

/** Distances of greater figures are no numbers any more, and ticks between smaller ones cannot be told apart. */
const GREATEST = 1e300;
const LEAST = 1e-300;

/** The figure as far as a scale can show it. */
export const drawable = (value: number): number =>
  Math.abs(value) < LEAST ? 0 : Math.max(-GREATEST, Math.min(GREATEST, value));

/** What lies beyond the domain is drawn at its end. */
export const linearScale = ([from, to]: readonly [number, number], range: readonly [number, number]) =>
  scaleLinear([drawable(from), drawable(to)], range).clamp(true);

/** Heights of letters between two ticks of values. */
const LINES_PER_TICK = 4;
/** Heights of letters for a value and for a year on an axis below a chart. */
const LETTERS_PER_VALUE = 8;
const LETTERS_PER_YEAR = 5;

interface Axis {
  /** What its labels take on the left. */
  width: number;
  marks(across: { from: number; to: number }): string;
}

/** Labels on the left of horizontal rules. The rule at zero is darker. */
export function valueAxis(y: Scale, { height, font }: Box): Axis {
  const at = valueTicks(y, Math.max(2, Math.round(height / font / LINES_PER_TICK)));
  const labels = at.map((value) => figureText(value));
  const width = Math.ceil(Math.max(0, ...labels.map((label) => textWidth(label, font))) + font / 2);
  return {
    width,
    marks({ from, to }) {
      const rules = at.map((value) => horizontal(from, to, y(value), value === 0 ? 'zero' : 'grid'));
      const texts = at.map((value, index) =>
        textAt(width - font / 2, y(value) + font / 3, labels[index] ?? '', { size: font, anchor: 'end' }),
      );
      return rules.join('') + coloured('faint', FAINT, texts.join(''));
    },
  };
}

interface Below {
  bottom: number;
  font: number;
  /** What labels must not go beyond. */
  width: number;
}

/** Labels and short marks below a chart. */
export function valueAxisBelow(x: Scale, { bottom, font, width }: Below): string {
  const [left = 0, right = 0] = x.range();
  const count = Math.max(2, Math.floor((right - left) / font / LETTERS_PER_VALUE));
  const marks = valueTicks(x, count).map((value) => {
    const tick = `<path d="M${Math.round(x(value))} ${Math.round(bottom)}v4" stroke="currentColor"/>`;
    const label = figureText(value);
    const middle = Math.min(x(value), width - textWidth(label, font) / 2);
    return tick + textAt(middle, bottom + font * 1.5, label, { size: font, anchor: 'middle' });
  });
  return coloured('faint', FAINT, marks.join(''));
}

/** Of more powers of ten for each tick that there is room for, some are left out. */
const POWERS_PER_TICK = 3;

/** A logarithmic scale has powers of ten, with their two- and fivefold where there is room. */
function valueTicks(scale: Scale, count: number): number[] {
  if (!('base' in scale)) return scale.ticks(count);
  const [from = 1, to = 1] = scale.domain();
  const exponents = Array.from(
    { length: Math.ceil(Math.log10(to)) - Math.floor(Math.log10(from)) + 1 },
    (_, at) => Math.floor(Math.log10(from)) + at,
  ).filter((_, at, { length }) => at % Math.ceil(length / count / POWERS_PER_TICK) === 0);
  const steps = exponents.length * 3 <= count * 1.5 ? [1, 2, 5] : [1];
  const all = exponents.flatMap((exponent) => steps.map((step) => Number(`${step}e${exponent}`)));
  return all.filter((value) => value >= from && value <= to);
}

function horizontal(from: number, to: number, y: number, kind: 'zero' | 'grid'): string {
  const path = `<path d="M${Math.round(from)} ${Math.round(y)}H${Math.round(to)}" stroke="currentColor"/>`;
  return coloured(kind, kind === 'zero' ? FAINT : RULE, path);
}

/** Whole years below the chart. */
export function yearAxis(x: Scale, [from, to]: readonly [number, number], { height, font }: Box): string {
  const [left = 0, right = 0] = x.range();
  const count = Math.max(1, Math.floor((right - left) / font / LETTERS_PER_YEAR));
  const years = tickIncrement(from, to, count) < 1 ? wholeYears(from, to) : ticks(from, to, count);
  const marks = years.map((year) => {
    const tick = `<path d="M${Math.round(x(year))} ${Math.round(height - font * 2)}v4" stroke="currentColor"/>`;
    return tick + textAt(x(year), height - font / 2, String(year), { size: font, anchor: 'middle' });
  });
  return coloured('faint', FAINT, marks.join(''));
}

const wholeYears = (from: number, to: number): number[] =>
  Array.from({ length: to - from + 1 }, (_, at) => from + at);
