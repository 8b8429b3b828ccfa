/**
 * Labels that figures contradict.
 *
 * - Units, by the figures of the series itself: its range, and how it grows with population.
 * - Money whose conversion or prices are not those of its label. International dollars of poor countries are two to four
 *   times their dollars at market rates, so the ratio of an income to GDP per person varies least over countries when both
 *   are converted in the same way. In its base year, GDP in constant prices equals GDP in current prices.
 * - Rates that are the total of another series by the population: both measure one thing, so their labels must agree in all
 *   but the unit, and the factor between them must be the one that the unit of the rate names.
 */

import { listValue } from '@duckdb/node-api';
import { z } from 'zod';
import { sqlOf } from '../../../data/runtime/sql-files.ts';
import type { FoundDoubt } from '../../../data/schema/quality.ts';
import {
  type CheckContext,
  type CheckedSeries,
  doubtAbout,
  figure,
  type QualityCheck,
  quote,
} from '../check.ts';
import {
  type Aspect,
  type Claims,
  contradictions,
  isIncome,
  quantityOf,
  rangeOf,
  readClaims,
  says,
  tellingWords,
} from '../label-vocabulary.ts';

const sql = sqlOf(import.meta.url);

/** Rates do not rise with population: the greatest correlation of a right one is 0.5. Totals do, but for rare events. */
const RATE_RHO = 0.6;
const TOTAL_RHO = 0.1;
const MIN_RANKED = 60;

const growth = z.object({ id: z.string(), countries: z.int(), rho: z.number() });

/** Values outside the range that name or unit state: an index from 0 to 1, deaths per 1,000 births, years of life. */
function outOfRange({ record: { id, name, unit }, statistics: { min, max } }: CheckedSeries): FoundDoubt[] {
  const range = rangeOf(name, unit ?? '');
  if (!range || min === null || max === null || (min >= range.min && max <= range.max)) return [];
  const [worst, end] = max > range.max ? [max, range.max] : [min, range.min];
  const message = `${quote(range.words)} goes from ${figure(range.min)} to ${figure(range.max)}, but the figures from ${figure(min)} to ${figure(max)}.`;
  return [doubtAbout('figures_out_of_stated_range', id, message, Math.abs(worst - end))];
}

/** The series of total population: observed rather than projected, then of most countries. */
function populationSeries(series: ReadonlyMap<string, CheckedSeries>): CheckedSeries | undefined {
  const isTotal = ({ record: { name, unit } }: CheckedSeries): boolean =>
    unit === 'people' && [...tellingWords(name)].join() === '' && /^(?:total )?population\b/i.test(name);
  const projectedShare = ({ statistics: { projected, rows } }: CheckedSeries): number =>
    projected / Math.max(rows, 1);
  return [...series.values()]
    .filter(isTotal)
    .sort(
      (a, b) => projectedShare(a) - projectedShare(b) || b.statistics.countries - a.statistics.countries,
    )[0];
}

function againstPopulation(
  { record: { id, name, unit }, statistics }: CheckedSeries,
  rho: number,
): FoundDoubt[] {
  const quantity = quantityOf(name, unit ?? '');
  const hundredths = Math.round(rho * 100);
  const doubt = (message: string, extent: number): FoundDoubt[] => [
    doubtAbout('size_contradicts_unit', id, `${quote(unit ?? '')} is a ${quantity}, but ${message}.`, extent),
  ];
  const correlation = `with the population (rank correlation ${rho.toFixed(2)})`;
  if (quantity === 'rate' && rho > RATE_RHO)
    return doubt(`the figures grow ${correlation}, as totals do`, hundredths);
  return quantity === 'total' && rho < TOTAL_RHO && statistics.negative === 0
    ? doubt(`the figures do not grow ${correlation}, as rates do not`, 100 - hundredths)
    : [];
}

async function sizeDoubts({ duck, series }: CheckContext): Promise<FoundDoubt[]> {
  const population = populationSeries(series);
  if (!population) return [];
  const rows = await duck.select(growth, sql('growth-with-population'), {
    population: population.planned.number,
    min_countries: MIN_RANKED,
  });
  return rows.flatMap(({ id, rho }) => {
    const checked = series.get(id);
    return checked ? againstPopulation(checked, rho) : [];
  });
}

export const labelFigures: QualityCheck = {
  kinds: ['figures_out_of_stated_range', 'size_contradicts_unit'],
  find: async (context) => [
    ...[...context.series.values()].flatMap(outOfRange),
    ...(await sizeDoubts(context)),
  ],
};

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

const readLabelClaims = ({ record: { name, unit } }: CheckedSeries): Claims =>
  readClaims(`${name}, ${unit ?? ''}`);

/** The conversion that a label claims; null when it claims none or both. */
function claimedConversion(claims: Claims): Conversion | null {
  if (says(claims, 'currency', 'national')) return null;
  // Purchasing power parities are expressed in dollars, too.
  if (says(claims, 'currency', 'international')) return 'international';
  return says(claims, 'currency', 'US') ? 'us' : null;
}

const isPerPerson = (series: CheckedSeries): boolean =>
  /\bper (?:person|capita|head|worker|hour|employee|day)|\/ ?(?:capita|employee|person|worker|working hour)|per person/i.test(
    `${series.record.name} ${series.record.unit ?? ''}`,
  );
const isGdpPerPerson = (series: CheckedSeries): boolean =>
  /\bgdp (?:per|\/) ?(?:capita|person)\b|\bgdp\/capita\b/i.test(series.record.name) &&
  says(readLabelClaims(series), 'measure', 'money') &&
  !/growth|employ|worker|hour|index/i.test(series.record.name);

/** GDP per person in current prices by a conversion: the series with the most countries. */
function referenceFor(conversion: Conversion, all: readonly CheckedSeries[]): CheckedSeries | undefined {
  const fits = all.filter((series) => {
    const claims = readLabelClaims(series);
    const isCurrent = says(claims, 'prices', 'current');
    return isCurrent && isGdpPerPerson(series) && claimedConversion(claims) === conversion;
  });
  return fits.sort((a, b) => b.statistics.countries - a.statistics.countries)[0];
}

/** The conversion that the figures tell; null when neither is clearly nearer. */
function toldConversion(us: number, international: number): Conversion | null {
  if (international <= CLEARLY * us) return 'international';
  return us <= CLEARLY * international ? 'us' : null;
}

function conversionDoubt(series: CheckedSeries, found: Basis): FoundDoubt[] {
  const claimed = claimedConversion(readLabelClaims(series));
  const [us, international] = isPerPerson(series)
    ? [found.us, found.international]
    : [found.total_us, found.total_international];
  if (claimed === null || us === null || international === null) return [];
  const told = toldConversion(us, international);
  if (told === null || told === claimed) return [];
  const { id, name, unit } = series.record;
  const message = `${quote(`${name}, ${unit ?? ''}`)} claims ${NAMES[claimed]}, but over countries the figures follow GDP per person in ${NAMES[told]}.`;
  return [doubtAbout('conversion_contradicts_label', id, message)];
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
  const claims = readLabelClaims(series);
  const conversion = claimedConversion(claims);
  if (conversion === null || !isGdpPerPerson(series)) return [];
  const distances = (years ?? []).map((row) => ({
    year: row.year,
    median: row[conversion],
    spread: row[`${conversion}_spread`],
  }));
  const told = toldBaseYear(distances);
  if (told === null) return [];
  if (says(claims, 'prices', 'current')) {
    const medians = distances.map(({ median }) => median);
    if (Math.max(...medians) - Math.min(...medians) <= DRIFT) return [];
    const message = `${quote(unit ?? '')} claims current prices, but the figures are in the prices of ${told}.`;
    return [doubtAbout('base_year_contradicts_label', id, message)];
  }
  const stated = [...(claims.get('base year')?.keys() ?? [])].map(Number);
  const atStated = distances.find(({ year }) => stated.includes(year));
  const isOff = atStated !== undefined && Math.abs(atStated.median) >= FAR;
  const off = Math.min(...stated.map((year) => Math.abs(year - told)));
  if (!isOff || off <= BASE_YEAR_SLACK) return [];
  const message = `${quote(unit ?? '')} names ${stated.join(' and ')}, but the figures equal current prices in ${told}.`;
  return [doubtAbout('base_year_contradicts_label', id, message, off)];
}

async function findMoneyDoubts({ duck, series, files }: CheckContext): Promise<FoundDoubt[]> {
  const all = [...series.values()];
  const [us, international] = [referenceFor('us', all), referenceFor('international', all)];
  const population = populationSeries(series);
  const incomes = all.filter(
    (one) =>
      isIncome(one.record.name) &&
      says(readLabelClaims(one), 'measure', 'money') &&
      one.statistics.negative === 0,
  );
  if (!us || !international || !population || incomes.length === 0) return [];
  const ids = new Set([...incomes, us, international, population].map(({ record }) => record.id));
  const rows = await duck.select(basis, sql('price-basis'), {
    files: files([...ids]),
    us: us.record.id,
    international: international.record.id,
    population: population.record.id,
    min_countries: MIN_COUNTRIES,
    min_values: MIN_VALUES,
  });
  const byId = new Map(rows.map((row) => [row.id, row]));
  return incomes.flatMap((one) => {
    const found = byId.get(one.record.id);
    return found ? [...conversionDoubt(one, found), ...baseYearDoubt(one, found)] : [];
  });
}

export const priceBasis: QualityCheck = {
  kinds: ['conversion_contradicts_label', 'base_year_contradicts_label'],
  find: findMoneyDoubts,
};

const MIN_COMMON = 60;
/** Populations are revised: this much of a difference, as a logarithm, in this share of the figures. */
const SLACK = 0.05;
const MIN_EQUAL_SHARE = 0.8;
/** How far the factor between rate and total may be from the one that the unit names. */
const FACTOR_SLACK = 1.2;
/** What a rate and its total say differently by their nature. */
const OF_UNITS: readonly Aspect[] = ['measure', 'denominator', 'base'];

const pair = z.object({ rate: z.string(), total: z.string(), common: z.int(), factor: z.number() });
type Pair = z.infer<typeof pair>;

/** The population of which the rate tells the cases: 1,000 or 100,000; null when its unit names none. */
function findDenominator(series: CheckedSeries): number | null {
  const [words] = readLabelClaims(series).get('denominator')?.keys() ?? [];
  const isOfPopulation = /\b(?:people|population|persons|residents)\b/i.test(
    `${series.record.name} ${series.record.unit}`,
  );
  return words === undefined || !isOfPopulation ? null : Number(words);
}

function pairDoubts({ common, factor }: Pair, rate: CheckedSeries, total: CheckedSeries): FoundDoubt[] {
  const [id, other] = [rate.record.id, total.record.id].sort();
  const denominator = findDenominator(rate);
  if (id === undefined || other === undefined || denominator === null) return [];
  const names = `${quote(rate.record.name)} is ${quote(total.record.name)} by the population, in ${common} figures`;
  const off = Math.max(factor / denominator, denominator / factor);
  if (off > FACTOR_SLACK) {
    const message = `${names}, but times ${figure(factor)} instead of ${figure(denominator)}.`;
    const extent = Math.round(Math.log10(off) * 10) / 10;
    return [doubtAbout('scale_contradicts_unit', id, message, extent, { other })];
  }
  const words = contradictions(readLabelClaims(rate), readLabelClaims(total)).filter(
    ({ aspect }) => !OF_UNITS.includes(aspect),
  );
  if (words.length === 0) return [];
  const parts = words.map(({ aspect, a, b }) => `${aspect} ${quote(a)} and ${quote(b)}`).join('; ');
  const message = `${names}, but the labels differ: ${parts}.`;
  return [doubtAbout('rate_of_another_total', id, message, words.length, { other })];
}

async function findRates({ duck, series, files }: CheckContext): Promise<FoundDoubt[]> {
  const all = [...series.values()];
  const population = populationSeries(series);
  const isTotal = ({ record: { name, unit } }: CheckedSeries): boolean =>
    quantityOf(name, unit ?? '') === 'total';
  const [rates, totals] = [all.filter((one) => findDenominator(one) !== null), all.filter(isTotal)].map(
    (list) => list.map(({ record }) => record.id),
  );
  if (!population || !rates?.length || !totals?.length) return [];
  const rows = await duck.select(pair, sql('rates-of-totals'), {
    files: files([...new Set([...rates, ...totals, population.record.id])]),
    rates: listValue(rates),
    totals: listValue(totals),
    population: population.record.id,
    min_common: MIN_COMMON,
    slack: SLACK,
    min_share: MIN_EQUAL_SHARE,
  });
  return rows.flatMap((found) => {
    const [rate, total] = [series.get(found.rate), series.get(found.total)];
    return rate && total ? pairDoubts(found, rate, total) : [];
  });
}

export const ratesOfTotals: QualityCheck = {
  kinds: ['rate_of_another_total', 'scale_contradicts_unit'],
  find: findRates,
};
