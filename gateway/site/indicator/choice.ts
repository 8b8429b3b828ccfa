/** Which countries are drawn as lines, and how to choose others without a script. */
import type { CountryRecord } from '../../../data/schema/records.ts';
import { countryCodes } from '../../api/operations/catalogue/country-groups.ts';
import { text } from '../../api/operations/parameters/parameters.ts';
import type { Edition } from '../../api/snapshot/editions/edition.ts';
import { wellKnownFirst } from '../../api/snapshot/editions/example-values.ts';
import { type Filters, withQuery } from '../paging.ts';
import { PICTURED_MAX } from '../parameters.ts';
import type { YearFigures } from '../series.ts';

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
  /** The page without it; null for the only one. */
  removal: string | null;
}

export interface Choice {
  countries: readonly CountryRecord[];
  chosen: readonly Chosen[];
  /** `KEN,BRA` */
  codes: string;
  /** What was asked for and is not shown, as sentences. */
  problems: readonly string[];
  isFull: boolean;
}

/** @param sent codes of countries; undefined for well-known ones that have figures. @param page where links lead */
export function chooseCountries(
  edition: Edition,
  sent: readonly string[] | undefined,
  latest: YearFigures | null,
  page: { path: string; filters: Filters },
): Choice {
  const codes = sent === undefined || sent.length === 0 ? wellKnown(latest) : countryCodes(sent, edition);
  const found = codes.flatMap((code) => edition.countriesByCode.get(code) ?? []);
  const countries = found.slice(0, PICTURED_MAX);
  const problems = codes
    .filter((code) => !edition.countriesByCode.has(code))
    .map((code) => `There is no country “${code}”.`);
  if (found.length > PICTURED_MAX)
    problems.push(`Only ${PICTURED_MAX} countries are drawn: remove one to add another.`);
  return {
    countries,
    chosen: countries.map((country) => ({ country, removal: removalOf(country, countries, page) })),
    codes: codesOf(countries),
    problems,
    isFull: countries.length === PICTURED_MAX,
  };
}

const codesOf = (countries: readonly CountryRecord[]): string => countries.map(({ iso3 }) => iso3).join(',');

function removalOf(
  country: CountryRecord,
  countries: readonly CountryRecord[],
  { path, filters }: { path: string; filters: Filters },
): string | null {
  const others = countries.filter((other) => other !== country);
  return others.length === 0 ? null : withQuery(path, { ...filters, countries: codesOf(others) });
}

const wellKnown = (latest: YearFigures | null): string[] =>
  latest === null ? [] : wellKnownFirst(latest.figures.map(({ country }) => country.iso3));
