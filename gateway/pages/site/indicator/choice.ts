/** Which countries are drawn as lines, and how to choose others without a script. */
import type { CountryRecord } from '../../../../data/schema/records.ts';
import { countryCodes } from '../../../operations/country-groups.ts';
import { text } from '../../../operations/parameters.ts';
import type { Edition } from '../../../snapshot/edition.ts';
import { wellKnownFirst } from '../../../snapshot/example-values.ts';
import { type Filters, withQuery } from '../paging.ts';
import type { YearFigures } from '../series.ts';

/** More lines cannot be told apart. */
export const LINES_MAX = 6;

/** Codes that one address may hold. */
const CODES_MAX = 50;
/** Of a code, when it is shown again. */
const CODE_LENGTH_MAX = 20;

/** Codes separated by commas, in upper case; none is an error, since a page says which it does not know. */
export const countryCodeList = () =>
  text().transform((sent) =>
    sent
      .split(',', CODES_MAX)
      .map((code) => code.trim().toUpperCase().slice(0, CODE_LENGTH_MAX))
      .filter((code) => code !== ''),
  );

interface Chosen {
  country: CountryRecord;
  /** The page without it. */
  removal: string;
}

export interface Choice {
  countries: readonly CountryRecord[];
  chosen: readonly Chosen[];
  /** `KEN,BRA` */
  codes: string;
  /** What was sent and is no country of the edition, or one too many. */
  ignored: readonly string[];
  isFull: boolean;
}

/** @param sent codes of countries; undefined for well-known ones that have figures */
export function chooseCountries(
  edition: Edition,
  sent: readonly string[] | undefined,
  latest: YearFigures | null,
  page: { path: string; filters: Filters },
): Choice {
  const codes = sent === undefined ? wellKnown(latest) : countryCodes(sent, edition);
  const known = codes.flatMap((code) => edition.countriesByCode.get(code) ?? []);
  const countries = known.slice(0, LINES_MAX);
  const without = ({ iso3 }: CountryRecord) =>
    countries
      .filter((other) => other.iso3 !== iso3)
      .map((other) => other.iso3)
      .join(',');
  return {
    countries,
    chosen: countries.map((country) => ({
      country,
      removal: withQuery(page.path, { ...page.filters, countries: without(country) }),
    })),
    codes: countries.map(({ iso3 }) => iso3).join(','),
    ignored: [
      ...codes.filter((code) => !edition.countriesByCode.has(code)),
      ...known.slice(LINES_MAX).map(({ name }) => name),
    ],
    isFull: countries.length === LINES_MAX,
  };
}

const wellKnown = (latest: YearFigures | null): string[] =>
  latest === null ? [] : wellKnownFirst(latest.figures.map(({ country }) => country.iso3));
