/** Axes of years and of values, with their grid. */
import { tickIncrement, ticks } from 'd3-array';
import type { ScaleContinuousNumeric } from 'd3-scale';
import { figureText } from '../figures.ts';
import { type Box, coloured, FAINT, RULE, textAt, textWidth } from './drawing.ts';

type Scale = ScaleContinuousNumeric<number, number>;

/** Heights of letters between two ticks of values, and widths of letters between two years. */
const LINES_PER_TICK = 4;
const LETTERS_PER_YEAR = 5;

interface Axis {
  /** What its labels take on the left. */
  width: number;
  marks(across: { from: number; to: number }): string;
}

/** Labels on the left of horizontal rules. The rule at zero is darker. */
export function valueAxis(y: Scale, { height, font }: Box): Axis {
  const at = y.ticks(Math.max(2, Math.round(height / font / LINES_PER_TICK)));
  const labels = at.map(figureText);
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
