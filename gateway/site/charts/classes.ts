/** Classes of a map: a few ranges of values that about as many countries fall into, with bounds that people can read. */
import { bisectLeft, bisectRight } from 'd3-array';

export interface Classes {
  /** Where the next class begins: a value equal to a bound belongs to the class above it. Ascending. */
  bounds: readonly number[];
  /** By class, from the lowest, a colour of `SEQUENTIAL` or `DIVERGING`. */
  colours: readonly Colour[];
}

export interface Colour {
  className: string;
  light: string;
}

const CLASSES_MAX = 6;
/** Values on both sides of zero get colours of their own where each side has this share of the countries. */
const SIDE_MIN = 1 / 8;
const DIGITS_MIN = 2;
const DIGITS_MAX = 15;

const palette = (prefix: string, colours: readonly string[]): Colour[] =>
  colours.map((light, at) => ({ className: `${prefix}${at}`, light }));

/** From pale to dark, as colour-blind people see it, too. */
export const SEQUENTIAL = palette('s', ['#e6f0c8', '#b4dcba', '#72c1b4', '#379fa9', '#1f7397', '#173f6b']);
/** Brown below zero and green above it. */
export const DIVERGING = palette('d', ['#8c510a', '#cf9a45', '#f0deb4', '#c2e4df', '#55aea4', '#01665e']);

export function classify(values: readonly number[]): Classes {
  const sorted = values.toSorted((a, b) => a - b);
  const negative = sorted.filter((value) => value < 0);
  const positive = sorted.filter((value) => value > 0);
  if (Math.min(negative.length, positive.length) >= values.length * SIDE_MIN && values.length > 0)
    return aroundZero(negative, positive);
  const bounds = boundsOf(sorted, CLASSES_MAX);
  return { bounds, colours: pick(SEQUENTIAL, bounds.length + 1) };
}

/** @returns the number of the value's class, from 0 */
export const classOf = (value: number, { bounds }: Classes): number => bisectRight(bounds, value);

function aroundZero(negative: readonly number[], positive: readonly number[]): Classes {
  const side = CLASSES_MAX / 2;
  const [below, above] = [boundsOf(negative, side), boundsOf(positive, side)];
  return {
    bounds: [...below, 0, ...above],
    colours: [
      ...DIVERGING.slice(side - below.length - 1, side),
      ...DIVERGING.slice(side, side + above.length + 1),
    ],
  };
}

/** Where equal shares of the values begin, without those that would leave a class empty. */
function boundsOf(sorted: readonly number[], count: number): number[] {
  const distinct = [...new Set(sorted)];
  if (distinct.length <= count) return readable(distinct.slice(1), sorted);
  const starts = Array.from({ length: count - 1 }, (_, at) => Math.ceil(((at + 1) * sorted.length) / count));
  const bounds = new Set(starts.map((start) => sorted[start] as number));
  return readable(
    [...bounds].filter((bound) => bound > (sorted[0] as number)),
    sorted,
  );
}

/** The bounds with as few digits as keep them apart and every class filled. */
function readable(bounds: readonly number[], sorted: readonly number[]): number[] {
  for (let digits = DIGITS_MIN; digits <= DIGITS_MAX; digits++) {
    const rounded = bounds.map((bound) => Number(bound.toPrecision(digits)));
    if (isFilled(rounded, sorted)) return rounded;
  }
  return [...bounds];
}

function isFilled(bounds: readonly number[], sorted: readonly number[]): boolean {
  const starts = [0, ...bounds.map((bound) => bisectLeft(sorted, bound)), sorted.length];
  return starts.every((start, at) => at === 0 || start > (starts[at - 1] ?? 0));
}

/** Colours as far apart as so many can be. */
function pick(colours: readonly Colour[], count: number): Colour[] {
  const last = colours.length - 1;
  return Array.from(
    { length: count },
    (_, at) => colours[Math.round((at * last) / Math.max(1, count - 1))] as Colour,
  );
}
