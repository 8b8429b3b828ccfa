/** Where the line of a series is drawn, where it is dashed and where it breaks. */
import type { Point } from '../series.ts';

/** Points that one line joins. A projected one begins with the last measured point before it. */
export interface Run {
  points: readonly Point[];
  isProjected: boolean;
}

/**
 * Years from one point to the next where none is missing: the most frequent distance, since many series have a figure
 * every second or fifth year only.
 */
export function usualStep(histories: readonly (readonly Point[])[]): number {
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
export function yearRuns(points: readonly Point[], step: number): Run[] {
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
