/** Axes of years and of values, with their grid. */
import { tickIncrement, ticks } from 'd3-array';
import type { ScaleContinuousNumeric } from 'd3-scale';
import { figureText } from '../figures.ts';
import { type Box, coloured, FAINT, RULE, textAt, textWidth } from './drawing.ts';

type Scale = ScaleContinuousNumeric<number, number>;

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

/** Of a logarithmic scale powers of ten, with their two- and fivefold where there is room. */
function valueTicks(scale: Scale, count: number): number[] {
  if (!('base' in scale)) return scale.ticks(count);
  const [from = 1, to = 1] = scale.domain();
  const exponents = Array.from(
    { length: Math.ceil(Math.log10(to)) - Math.floor(Math.log10(from)) + 1 },
    (_, at) => Math.floor(Math.log10(from)) + at,
  );
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
