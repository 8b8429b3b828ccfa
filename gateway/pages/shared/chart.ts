/**
 * Bar charts drawn at the server as inline SVG: geometry only, the template writes it. Every chart has a title, a
 * sentence that says the same in words, and its figures as a table.
 */

export interface Point {
  label: string;
  value: number;
}

export interface Bar extends Point {
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface Chart {
  /** Unique on its page: the text alternatives are found by it. */
  id: string;
  title: string;
  summary: string;
  width: number;
  height: number;
  baseline: number;
  bars: Bar[];
  first: string;
  last: string;
  most: number;
  /** What the last point, today, stands at. */
  today: number;
  total: number;
}

const WIDTH = 600;
const HEIGHT = 100;
const FLOOR = 99;
const TOP = 4;
const GAP = 0.25;
/** So that a day with one request among millions is still a mark. */
const LEAST_HEIGHT = 1.5;

const figures = new Intl.NumberFormat('en');

/** Bars over days, oldest first. */
export function barChart(id: string, title: string, points: readonly Point[]): Chart {
  const most = Math.max(0, ...points.map(({ value }) => value));
  const total = points.reduce((sum, { value }) => sum + value, 0);
  const step = WIDTH / Math.max(1, points.length);
  const bars = points.map(({ label, value }, index) => {
    const share = most === 0 ? 0 : value / most;
    const height = value > 0 ? Math.max(LEAST_HEIGHT, share * (FLOOR - TOP)) : 0;
    return {
      label,
      value,
      x: round(index * step + (step * GAP) / 2),
      y: round(FLOOR - height),
      width: round(step * (1 - GAP)),
      height: round(height),
    };
  });
  const peak = points.find(({ value }) => value === most);
  const summary =
    most === 0
      ? `Nothing in ${points.length} days.`
      : `${figures.format(total)} in ${points.length} days; most on ${peak?.label ?? ''}: ${figures.format(most)}.`;
  return {
    id,
    title,
    summary,
    width: WIDTH,
    height: HEIGHT,
    baseline: FLOOR,
    bars,
    first: points[0]?.label ?? '',
    last: points.at(-1)?.label ?? '',
    most,
    today: points.at(-1)?.value ?? 0,
    total,
  };
}

const round = (value: number): number => Math.round(value * 100) / 100;
