/** Figures of one series, and how two series compare. */

export interface Figure {
  iso3: string;
  year: number;
  value: number | null;
  ciLo: number | null;
  ciHi: number | null;
  projected: boolean | null;
  status: string | null;
}

/** A row with a value. */
export type Measured = Figure & { value: number };

export const measured = (figures: readonly Figure[]): Measured[] =>
  figures.filter((one): one is Measured => one.value !== null);

export const valuesOf = (figures: readonly Figure[]): number[] => measured(figures).map(({ value }) => value);

export const countriesOf = (figures: readonly Figure[]): string[] => [
  ...new Set(measured(figures).map(({ iso3 }) => iso3)),
];

export const yearsOf = (figures: readonly Figure[]): number[] =>
  [...new Set(measured(figures).map(({ year }) => year))].sort((a, b) => a - b);

/** NaN for no numbers. */
export function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  const upper = sorted[sorted.length >> 1] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[(sorted.length >> 1) - 1] ?? Number.NaN) + upper) / 2;
}

export const greatest = (numbers: readonly number[]): number =>
  numbers.reduce((most, one) => Math.max(most, one), Number.NEGATIVE_INFINITY);
export const least = (numbers: readonly number[]): number =>
  numbers.reduce((most, one) => Math.min(most, one), Number.POSITIVE_INFINITY);

/** Multiplies values and bounds of the figures that are chosen. */
export const scale = (
  figures: readonly Figure[],
  factor: number,
  isChosen: (figure: Figure) => boolean = () => true,
): Figure[] => {
  const times = (number: number | null): number | null => (number === null ? null : number * factor);
  return figures.map((one) =>
    isChosen(one) ? { ...one, value: times(one.value), ciLo: times(one.ciLo), ciHi: times(one.ciHi) } : one,
  );
};

export interface Comparison {
  /** Countries and years with a value in both. */
  points: number;
  countries: number;
  /** Median of |a − b| / max(|a|, |b|). */
  difference: number;
}

/** Compares two series where both have a value, optionally of some countries only. */
export function compare(
  a: readonly Figure[],
  b: readonly Figure[],
  isCountry: (iso3: string) => boolean = () => true,
): Comparison {
  const known = new Map(measured(b).map(({ iso3, year, value }) => [`${iso3}${year}`, value]));
  const differences: number[] = [];
  const countries = new Set<string>();
  for (const { iso3, year, value } of measured(a)) {
    const other = known.get(`${iso3}${year}`);
    if (other === undefined || !isCountry(iso3)) continue;
    countries.add(iso3);
    const size = Math.max(Math.abs(value), Math.abs(other));
    differences.push(size === 0 ? 0 : Math.abs(value - other) / size);
  }
  return { points: differences.length, countries: countries.size, difference: median(differences) };
}
