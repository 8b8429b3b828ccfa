/**
 * The figures that the page of an indicator shows: the ranking of its latest year, the map of a year, and the histories of
 * some countries with links to choose others, which need no script.
 */
import { type CountryRecord, type IndicatorRecord, isForecastStatus } from '../../../data/schema/records.ts';
import { countryCodes, text } from '../../api/operations/operations.ts';
import { type Edition, wellKnownFirst } from '../../api/snapshot/snapshot.ts';
import { ASSET_PATHS } from '../assets.ts';
import { pageChart, pageMap } from '../charts/frame.ts';
import { columnDecimals } from '../figures.ts';
import { type Filters, withQuery } from '../lists.ts';
import { linesPicture, mapOfYear } from '../pictures.ts';
import { type CountryFigure, type YearFigures, yearFigures } from '../series.ts';
import { PICTURED_MAX } from '../subjects.ts';

/** Codes that one address may hold. */
const CODES_MAX = 50;
/** Characters of a code, when it is shown again. */
const CODE_LENGTH_MAX = 20;

/** Codes separated by commas, in upper case; none is an error, since a page says which it does not know. */
export const countryCodeList = () =>
  text().transform((sent) =>
    sent
      .split(',', CODES_MAX)
      .map((code) => code.trim().toUpperCase().slice(0, CODE_LENGTH_MAX))
      .filter((code) => code !== ''),
  );

/** @param sent codes of countries; undefined for well-known ones that have figures. @param page where links lead */
export function chooseCountries(
  edition: Edition,
  sent: readonly string[] | undefined,
  latest: YearFigures | null,
  page: { path: string; filters: Filters },
) {
  const held = latest?.figures.map(({ country }) => country.iso3) ?? [];
  const codes = sent === undefined || sent.length === 0 ? wellKnownFirst(held) : countryCodes(sent, edition);
  const found = codes.flatMap((code) => edition.countriesByCode.get(code) ?? []);
  const countries = found.slice(0, PICTURED_MAX);
  const problems = codes
    .filter((code) => !edition.countriesByCode.has(code))
    .map((code) => `There is no country “${code}”.`);
  if (found.length > PICTURED_MAX)
    problems.push(`Only ${PICTURED_MAX} countries are drawn: remove one to add another.`);
  const codesWithout = (left?: CountryRecord): string =>
    countries.flatMap((country) => (country === left ? [] : country.iso3)).join(',');
  return {
    countries,
    /** With the page without each; null for the only one. */
    chosen: countries.map((country) => ({
      country,
      removal:
        countries.length === 1
          ? null
          : withQuery(page.path, { ...page.filters, countries: codesWithout(country) }),
    })),
    /** `KEN,BRA` */
    codes: codesWithout(),
    /** What was asked for and is not shown, as sentences. */
    problems,
    isFull: countries.length === PICTURED_MAX,
  };
}

/** @param asked a year; any that the series does not reach stands for the latest one */
export async function shownMap(
  edition: Edition,
  record: IndicatorRecord,
  latest: YearFigures,
  asked: number | undefined,
) {
  const years = yearsToChoose(record);
  const year = asked !== undefined && years.includes(asked) ? asked : latest.year;
  const held = year === latest.year ? latest : await yearFigures(edition, record, year);
  const drawn = mapOfYear(record, held, latest, ASSET_PATHS.outlines);
  return {
    /** Null where no country has a figure of the year. */
    picture: drawn ? pageMap(drawn.drawing, drawn.labels, 'map-picture') : null,
    legend: drawn?.drawing.legend ?? [],
    year,
    years,
  };
}

/** From the newest with any figure to the oldest. */
function yearsToChoose({ coverage }: IndicatorRecord): number[] {
  if (coverage === null || coverage.yr_min === null || coverage.yr_max === null) return [];
  const { yr_min, yr_max } = coverage;
  return Array.from({ length: yr_max - yr_min + 1 }, (_, before) => yr_max - before);
}

/** The lines of the countries, and what they have in the latest year. */
export async function shownLines(
  edition: Edition,
  record: IndicatorRecord,
  { figures }: YearFigures,
  countries: readonly CountryRecord[],
) {
  const drawn = await linesPicture(edition, record, countries);
  return {
    /** Null where none of the countries has a figure. */
    picture: drawn ? pageChart(drawn.drawing, drawn.labels, 'lines-picture') : null,
    rows: countries.map((country) => ({
      country,
      figure: figures.find((figure) => figure.country.iso3 === country.iso3) ?? null,
    })),
  };
}

/** @param statuses what the source says of figures, by ISO3 */
export function shownRanking(
  { figures }: Pick<YearFigures, 'figures'>,
  { no_rank }: Pick<IndicatorRecord, 'no_rank'>,
  statuses: ReadonlyMap<string, string>,
) {
  const ranked = figures.filter(({ rank }) => rank !== null);
  const [first, last] = [ranked[0], ranked.at(-1)];
  return {
    hasRanks: !no_rank,
    hasBounds: figures.some(({ ciLo, ciHi }) => ciLo !== null || ciHi !== null),
    /** Digits after the point that figures have at least. */
    decimals: columnDecimals(figures.map(({ value }) => value)),
    rows: figures.map((figure) => ({ ...figure, marks: marksBeside(figure, statuses) })),
    /** The countries at both ends; null where there is none. */
    ends: first && last && first !== last ? { first, last, ranked: ranked.length } : null,
  };
}

/** `projected`, and what the source says: a forecast is one that is projected. */
function marksBeside({ country, projected }: CountryFigure, statuses: ReadonlyMap<string, string>): string[] {
  const said = statuses.get(country.iso3)?.split(', ') ?? [];
  return [...(projected ? ['projected'] : []), ...said.filter((word) => !isForecastStatus(word))];
}
