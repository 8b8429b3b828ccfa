/** A history as a small line without axes: the table beside it has the latest figure. */
import nunjucks from 'nunjucks';
import type { Sparkline } from '../../../data/schema/snapshot.ts';
import { yearsText } from '../figures.ts';

const WIDTH = 120;
const HEIGHT = 28;
/** Room for the stroke and the mark of the last value. */
const MARGIN = 3;
const GREATEST = 99;

const rounded = (value: number): number => Math.round(value * 10) / 10;

export function sparkline({ from, heights }: Sparkline): nunjucks.runtime.SafeString {
  const step = (WIDTH - 2 * MARGIN) / Math.max(1, heights.length - 1);
  const x = (at: number): number => rounded(MARGIN + at * step);
  const y = (height: number): number =>
    rounded(HEIGHT - MARGIN - (height / GREATEST) * (HEIGHT - 2 * MARGIN));
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
  const text = `Line of ${yearsText(from, from + last)}`;
  return new nunjucks.runtime.SafeString(
    `<svg class="sparkline" viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}" role="img" aria-label="${text}"><path d="${path}"/>${mark}</svg>`,
  );
}
