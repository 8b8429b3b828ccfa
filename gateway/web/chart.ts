/** Geometry of bar charts that templates draw as inline SVG, with a summary as their text alternative. */

export interface Point {
  label: string;
  value: number;
}

interface Bar extends Point {
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface Chart {
  /** Unique on its page; element ids are derived from it. */
  id: string;
  title: string;
  summary: string;
  width: number;
  height: number;
  baseline: number;
  bars: Bar[];
  /** Labels of the first and last bar. */
  first: string;
  last: string;
  max: number;
  /** Value of the last bar. */
  today: number;
  total: number;
}

const WIDTH = 600;
const HEIGHT = 100;
const BASELINE = 99;
const TOP = 4;
/** Share of a bar's slot that stays empty. */
const GAP = 0.25;
/** Keeps one request visible beside millions. */
const MIN_BAR_HEIGHT = 1.5;

const integers = new Intl.NumberFormat('en');

/** @param points one a day or year, oldest first. */
export function barChart(
  id: string,
  title: string,
  points: readonly Point[],
  period: 'days' | 'years' = 'days',
): Chart {
  const max = Math.max(0, ...points.map(({ value }) => value));
  const total = points.reduce((sum, { value }) => sum + value, 0);
  const step = WIDTH / Math.max(1, points.length);
  const bars = points.map(({ label, value }, index) => {
    const height = value > 0 ? Math.max(MIN_BAR_HEIGHT, (value / max) * (BASELINE - TOP)) : 0;
    return {
      label,
      value,
      x: round(index * step + (step * GAP) / 2),
      y: round(BASELINE - height),
      width: round(step * (1 - GAP)),
      height: round(height),
    };
  });
  const peak = points.find(({ value }) => value === max);
  const highest = `highest ${period === 'days' ? 'on' : 'in'} ${peak?.label ?? ''}: ${integers.format(max)}.`;
  // Sums over years mean nothing: the same countries have a value again.
  const sum = period === 'days' ? `${integers.format(total)} in ${points.length} days; ` : '';
  const summary = max === 0 ? `Nothing in ${points.length} ${period}.` : `${sum}${highest}`;
  return {
    id,
    title,
    summary,
    width: WIDTH,
    height: HEIGHT,
    baseline: BASELINE,
    bars,
    first: points[0]?.label ?? '',
    last: points.at(-1)?.label ?? '',
    max,
    today: points.at(-1)?.value ?? 0,
    total,
  };
}

const round = (value: number): number => Math.round(value * 100) / 100;
