/**
 * Money whose conversion or prices are not those of its label. International dollars of poor countries are two to four
 * times their dollars at market rates, so the ratio of an income to GDP per person varies least over countries when both
 * are converted in the same way. In its base year, GDP in constant prices equals GDP in current prices.
 */
import { z } from 'zod';
import { readSql } from '../../../data/runtime/sql-files.ts';
import type { FoundDoubt } from '../../../data/schema/quality.ts';
import type { CheckContext, CheckedSeries, QualityCheck } from '../check.ts';
import { type Claims, isIncome, readClaims } from '../label-vocabulary.ts';
import { populationSeries } from './label-figures.ts';
import { labelDoubt, quote } from './label-words.ts';

const PRICE_BASIS = readSql(import.meta.url, 'sql/price-basis.sql');

const MIN_VALUES = 200;
const MIN_COUNTRIES = 30;
/** The spread by the right conversion is at most this share of the other. */
const CLEARLY = 0.9;
/** Logarithms: figures of the base year are this near to current prices, and those of a wrong one this far. */
const NEAR = 0.01;
const FAR = 0.03;
/** In the base year the figures are those in current prices, in nearly every country. */
const SAME_SPREAD = 0.05;
/** Revised editions put figures a year off. */
const BASE_YEAR_SLACK = 1;
/** How far the distance from current prices may drift over the years, when the label says current prices. */
const DRIFT = 0.15;

const basis = z.object({
  id: z.string(),
  n: z.int(),
  us: z.number().nullable(),
  international: z.number().nullable(),
  total_us: z.number().nullable(),
  total_international: z.number().nullable(),
  years: z
    .array(
      z.object({
        year: z.int(),
        us: z.number(),
        international: z.number(),
        us_spread: z.number(),
        international_spread: z.number(),
      }),
    )
    .nullable(),
});
type Basis = z.infer<typeof basis>;
type Conversion = 'us' | 'international';

const NAMES: Record<Conversion, string> = {
  us: 'US dollars at market rates',
  international: 'international dollars',
};

const claimsOf = ({ record: { name, unit } }: CheckedSeries): Claims => readClaims(`${name}, ${unit ?? ''}`);

/** The conversion that a label claims; null when it claims none or both. */
function claimedConversion(claims: Claims): Conversion | null {
  const currency = claims.get('currency');
  if (currency?.has('national') === true) return null;
  // Purchasing power parities are expressed in dollars, too.
  if (currency?.has('international') === true) return 'international';
  return currency?.has('US') === true ? 'us' : null;
}

const isPerPerson = (series: CheckedSeries): boolean =>
  /\bper (?:person|capita|head|worker|hour|employee|day)|\/ ?(?:capita|employee|person|worker|working hour)|per person/i.test(
    `${series.record.name} ${series.record.unit ?? ''}`,
  );
const isGdpPerPerson = (series: CheckedSeries): boolean =>
  /\bgdp (?:per|\/) ?(?:capita|person)\b|\bgdp\/capita\b/i.test(series.record.name) &&
  claimsOf(series).get('measure')?.has('money') === true &&
  !/growth|employ|worker|hour|index/i.test(series.record.name);

/** GDP per person in current prices by a conversion: the series with the most countries. */
function referenceFor(conversion: Conversion, all: readonly CheckedSeries[]): CheckedSeries | undefined {
  const fits = all.filter((series) => {
    const claims = claimsOf(series);
    return (
      isGdpPerPerson(series) &&
      claims.get('prices')?.has('current') === true &&
      claimedConversion(claims) === conversion
    );
  });
  return fits.sort((a, b) => b.statistics.countries - a.statistics.countries)[0];
}

/** The conversion that the figures tell; null when neither is clearly nearer. */
export function toldConversion(us: number, international: number): Conversion | null {
  if (international <= CLEARLY * us) return 'international';
  return us <= CLEARLY * international ? 'us' : null;
}

function conversionDoubt(series: CheckedSeries, found: Basis): FoundDoubt[] {
  const claimed = claimedConversion(claimsOf(series));
  const [us, international] = isPerPerson(series)
    ? [found.us, found.international]
    : [found.total_us, found.total_international];
  if (claimed === null || us === null || international === null) return [];
  const told = toldConversion(us, international);
  if (told === null || told === claimed) return [];
  const { id, name, unit } = series.record;
  const message = `${quote(`${name}, ${unit ?? ''}`)} claims ${NAMES[claimed]}, but over countries the figures follow GDP per person in ${NAMES[told]}.`;
  return [labelDoubt('conversion_contradicts_label', id, message)];
}

interface Distance {
  year: number;
  /** Median over countries of the logarithm of the ratio to current prices, and its spread. */
  median: number;
  spread: number;
}

/** The year in which the figures equal current prices; null when there is none. */
function toldBaseYear(distances: readonly Distance[]): number | null {
  const [nearest] = distances.toSorted((a, b) => Math.abs(a.median) - Math.abs(b.median));
  return nearest && Math.abs(nearest.median) <= NEAR && nearest.spread <= SAME_SPREAD ? nearest.year : null;
}

function baseYearDoubt(series: CheckedSeries, { years }: Basis): FoundDoubt[] {
  const { id, unit } = series.record;
  const claims = claimsOf(series);
  const conversion = claimedConversion(claims);
  if (conversion === null || !isGdpPerPerson(series)) return [];
  const distances = (years ?? []).map((row) => ({
    year: row.year,
    median: row[conversion],
    spread: row[`${conversion}_spread`],
  }));
  const told = toldBaseYear(distances);
  if (told === null) return [];
  if (claims.get('prices')?.has('current') === true) {
    const medians = distances.map(({ median }) => median);
    if (Math.max(...medians) - Math.min(...medians) <= DRIFT) return [];
    const message = `${quote(unit ?? '')} claims current prices, but the figures are in the prices of ${told}.`;
    return [labelDoubt('base_year_contradicts_label', id, message)];
  }
  const stated = [...(claims.get('base year')?.keys() ?? [])].map(Number);
  const atStated = distances.find(({ year }) => stated.includes(year));
  const isOff = atStated !== undefined && Math.abs(atStated.median) >= FAR;
  const off = Math.min(...stated.map((year) => Math.abs(year - told)));
  if (!isOff || off <= BASE_YEAR_SLACK) return [];
  const message = `${quote(unit ?? '')} names ${stated.join(' and ')}, but the figures equal current prices in ${told}.`;
  return [labelDoubt('base_year_contradicts_label', id, message, off)];
}

async function findDoubts({ duck, series, files }: CheckContext): Promise<FoundDoubt[]> {
  const all = [...series.values()];
  const [us, international] = [referenceFor('us', all), referenceFor('international', all)];
  const population = populationSeries(series);
  const incomes = all.filter(
    (one) =>
      isIncome(one.record.name) &&
      claimsOf(one).get('measure')?.has('money') === true &&
      one.statistics.negative === 0,
  );
  if (!us || !international || !population || incomes.length === 0) return [];
  const ids = new Set([...incomes, us, international, population].map(({ record }) => record.id));
  const rows = await duck.rows(PRICE_BASIS, {
    files: files([...ids]),
    us: us.record.id,
    international: international.record.id,
    population: population.record.id,
    min_countries: MIN_COUNTRIES,
    min_values: MIN_VALUES,
  });
  const byId = new Map(
    z
      .array(basis)
      .parse(rows)
      .map((row) => [row.id, row]),
  );
  return incomes.flatMap((one) => {
    const found = byId.get(one.record.id);
    return found ? [...conversionDoubt(one, found), ...baseYearDoubt(one, found)] : [];
  });
}

export const priceBasis: QualityCheck = {
  kinds: ['conversion_contradicts_label', 'base_year_contradicts_label'],
  find: findDoubts,
};
