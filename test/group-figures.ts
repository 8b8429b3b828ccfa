/** Figures of groups by their definition, from those of their members. Shares no code with the product. */
export interface Row {
  year: number;
  value: number;
  projected: boolean;
}
export interface Country {
  iso3: string;
  figures: Row[];
  divisors: Row[];
}

export const inYear = (rows: readonly Row[], year: number): Row | undefined =>
  rows.find((row) => row.year === year);
/** Of the year, else the newest before it, else the first after it. */
export const last = (rows: readonly Row[], year: number): number | undefined =>
  (rows.findLast((row) => row.year <= year) ?? rows[0])?.value;
export const total = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0);

export function expectedSum(countries: readonly Country[], year: number) {
  const having = countries.filter(({ figures }) => figures.length > 0);
  const present = having.flatMap(({ figures }) => inYear(figures, year) ?? []);
  const sizes = total(having.map(({ figures }) => Math.abs(last(figures, year) ?? 0)));
  const people = (some: readonly Country[]): number =>
    total(some.map(({ divisors }) => Math.max(0, last(divisors, year) ?? 0)));
  const share =
    sizes > 0 ? total(present.map(({ value }) => Math.abs(value))) / sizes : present.length / having.length;
  const everybody = people(countries);
  return {
    value: total(present.map(({ value }) => value)),
    counted: present.length,
    coverage: everybody > 0 ? share * (people(having) / everybody) : share,
    projected: present.some(({ projected }) => projected),
  };
}

export function expectedMean(countries: readonly Country[], year: number) {
  const pairs = countries.flatMap(({ figures, divisors }) => {
    const [figure, weight] = [inYear(figures, year), inYear(divisors, year)];
    return figure && weight && weight.value > 0 ? [{ figure, weight }] : [];
  });
  const weights = total(pairs.map(({ weight }) => weight.value));
  const all = total(countries.map(({ divisors }) => Math.max(0, last(divisors, year) ?? 0)));
  return {
    value: total(pairs.map(({ figure, weight }) => weight.value * figure.value)) / weights,
    counted: pairs.length,
    coverage: all > 0 ? weights / all : 0,
    projected: pairs.some(({ figure, weight }) => figure.projected || weight.projected),
  };
}
