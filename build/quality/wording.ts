/** Words of findings: names of countries, figures and counts, as a reader expects them in an English sentence. */
import type { Curated } from '../../data/curated/curated.ts';

/** `26,347`, `533.2`, `0.0512`: at least four digits. */
export const figure = (value: number): string =>
  value.toLocaleString(
    'en',
    Math.abs(value) >= 1000 ? { maximumFractionDigits: 0 } : { maximumSignificantDigits: 4 },
  );

/** `1 country`, `2 countries`. */
export const counted = (count: number, one: string, many: string): string =>
  `${count.toLocaleString('en')} ${count === 1 ? one : many}`;

/** The name of a country; its code when it is unknown. */
export const countryName = ({ countries }: Pick<Curated, 'countries'>, iso3: string): string =>
  countries.find((country) => country.iso3 === iso3)?.name ?? iso3;
