/**
 * Values that the unit does not allow (shares above 100 %, negative sizes, absurd magnitudes), and countries whose latest
 * value does not fit those of other countries, or their number of inhabitants.
 *
 * Which values are possible is read from the name and the unit by words of statistics, never by ids. In doubt a range is
 * open: a ratio whose part may exceed its whole (trade in % of GDP), a flow that may be negative (net, balance, change).
 */

import { listValue } from '@duckdb/node-api';
import { z } from 'zod';
import { sqlOf } from '../../../data/runtime/sql-files.ts';
import type { FoundDoubt } from '../../../data/schema/quality.ts';
import { type IndicatorRecord, iso3 } from '../../../data/schema/records.ts';
import {
  andMore,
  type CheckContext,
  type CheckedSeries,
  counted,
  countryName,
  doubtAbout,
  figure,
  type QualityCheck,
} from '../check.ts';

const sql = sqlOf(import.meta.url);

/** Parts that were rounded one by one may exceed their whole by this much of the range. */
const SLACK = 0.001;
/** Smaller than every negative value of substance, in parts of the series' third quartile: rounding around zero. */
const NEGLIGIBLE = 1e-6;

const outlier = z.object({
  id: z.string(),
  found: z.int(),
  countries: z.array(iso3),
  first_year: z.int(),
  last_year: z.int(),
  worst: z.object({ iso3, year: z.int(), value: z.number() }),
});

interface Suspect {
  series: CheckedSeries;
  range: ValueRange;
  low: number;
  high: number;
}

function findSuspect(series: CheckedSeries): Suspect | null {
  const range = valueRange(series.record);
  const { min, max, q3 } = series.statistics;
  const { low, high } = range;
  const slack = low !== null && high !== null ? SLACK * (high - low) : NEGLIGIBLE * Math.abs(q3 ?? 0);
  const limits = {
    low: low === null ? -Infinity : low - slack,
    high: high === null ? Infinity : high + slack,
  };
  const isOutside = min !== null && max !== null && (min < limits.low || max > limits.high);
  return isOutside ? { series, range, ...limits } : null;
}

async function findImpossible(context: CheckContext): Promise<FoundDoubt[]> {
  const suspects = [...context.series.values()].map(findSuspect).filter((suspect) => suspect !== null);
  const doubts: FoundDoubt[] = [];
  for (const { low, high, series, range } of suspects) {
    const files = context.files([series.record.id]);
    const rows = await context.duck.select(outlier, sql('out-of-range'), { files, low, high });
    doubts.push(...rows.map((row) => impossible(context, series, range, row)));
  }
  return doubts;
}

function impossible(
  { curated }: CheckContext,
  { record }: CheckedSeries,
  { type, low, high }: ValueRange,
  { found, countries, first_year, last_year, worst }: z.infer<typeof outlier>,
): FoundDoubt {
  const limits = high === null ? 'below 0' : `outside ${figure(low ?? 0)} to ${figure(high)}`;
  const unit = type === 'share' ? '%' : record.unit;
  const where = `${counted(countries.length, 'country', 'countries')} lie ${limits}`;
  const all = found > 1 ? `; ${figure(found)} values of ${where}${type === 'share' ? ' %' : ''}` : '';
  const message = `${countryName(curated, worst.iso3)} is ${figure(worst.value)} ${unit} in ${worst.year}${all}.`;
  const kind = type === 'share' ? 'share_out_of_range' : 'negative_value';
  return doubtAbout(kind, record.id, message, found, { countries, years: [first_year, last_year] });
}

const IN_PERCENT = /%|\bper ?cent\b/iu;
const FEWEST_VALUES = 100;
/** No ratio in per cent is typically above this, not even trade or debt in % of GDP. */
const HIGHEST_MEDIAN_PERCENT = 300;
/**
 * The most that any country has, by unit: people, square kilometres, and money. World output is some 10^14 US$ a year, and
 * no country's people exceed 1.5 billion.
 */
const GREATEST: readonly (readonly [RegExp, number])[] = [
  [/^(?:people|persons|population|children|women|men|males|females|boys|girls|pupils|births|deaths)$/iu, 2e9],
  [/^thousands? of (?:people|persons)$|^(?:people|persons),? thousands?$/iu, 2e6],
  [/^millions? of (?:people|persons)$/iu, 2e3],
  [/^(?:km²|km2|sq\.? km)$/iu, 2e7],
  [/^(?:current |constant \d* ?)?(?:us|international) ?(?:\$|dollars?)$/iu, 1e15],
  [/^millions? of (?:us|international) ?(?:\$|dollars?)$/iu, 1e9],
  [/^billions? of (?:us|international) ?(?:\$|dollars?)$/iu, 1e6],
];

/** Why the figures of a series as a whole do not fit its unit; null when they do. */
function wrongMagnitude(
  unit: string,
  { values, min, median, max }: CheckedSeries['statistics'],
): string | null {
  if (min === null || max === null || median === null) return null;
  if (IN_PERCENT.test(unit) && values >= FEWEST_VALUES) {
    if (max <= 1 && min >= -1)
      return `all ${figure(values)} values lie between ${figure(min)} and ${figure(max)}, like fractions of 1`;
    if (median > HIGHEST_MEDIAN_PERCENT) return `half of the values are above ${figure(median)}`;
  }
  const greatest = GREATEST.find(([pattern]) => pattern.test(unit))?.[1];
  return greatest !== undefined && max > greatest
    ? `the greatest value is ${figure(max)}, more than any country has`
    : null;
}

export const ranges: QualityCheck = {
  kinds: ['share_out_of_range', 'negative_value', 'magnitude_contradicts_unit'],
  find: async (context) => [
    ...(await findImpossible(context)),
    ...[...context.series.values()].flatMap(({ record: { id, unit }, statistics }) => {
      const reason = wrongMagnitude(unit ?? '', statistics);
      const message = `The unit is "${unit}", but ${reason}.`;
      return reason === null
        ? []
        : [doubtAbout('magnitude_contradicts_unit', id, message, statistics.values)];
    }),
  ],
};

export interface ValueRange {
  /** Null where there is no limit. */
  low: number | null;
  high: number | null;
  /** `share`: per cent of a whole. `quantity`: counts or measures something. */
  type: 'share' | 'quantity' | 'open';
}

const OPEN: ValueRange = { low: null, high: null, type: 'open' };

/** `1=low to 6=high`, `scale 0-1`, `index from 0 to 100`, `points from -10 to 10`: checked by what the label states. */
const STATED_RANGE =
  /^(?:scale|index|score|points?)\b\D*?-?\d+\s*(?:to|[-–])\s*-?\d|^-?\d+ ?=.*?(?: to |[;,] ?)-?\d+ ?=/iu;

/** Differences, flows in both directions and rates of change. */
const MAY_BE_NEGATIVE =
  /\b(?:net(?! enrol| attend| barter| reproduc)|balance|growth|change|increase|inflation|deflator|gap|savings?|lending|borrowing|spread|premium|interest|libor|aid|oda|assistance|grants?|inventor(?:y|ies)|investments?|capital formation|value added|deviation|anomal(?:y|ies)|temperature|difference|returns?|profit|surplus|deficit|transfers?|score|elevation|latitude|longitude|effect)\b/iu;
/** The same for a part of a whole, which is negative only as a difference. */
const SHARE_MAY_BE_NEGATIVE =
  /(?<!% )\b(?:net(?! enrol| attend)|balance|growth|change|difference)\b(?! \()/iu;

/** What is compared with something that it is no part of, so that it may exceed 100 %. */
const NOT_A_PART =
  /\b(?:gdp|gni|gnp|gross domestic product|gross(?! fixed)|debts?|credit|reserves|aid received|oda|ratio|rates?|libor|turnover|intake|completion rate|profits|assets|internal resources|detection|per (?:person|capita|student|pupil|head|year)|annual|(?:percent|%) (?:of )?men|years? in (?:percent|school)|prices?|capitali[sz]ation|liabilities)\b/iu;

/** Ratios and rates of a part to its whole nonetheless. */
const PART =
  /\b(?:literacy|(?:un)?employment|participation|prevalence|coverage|immuni[sz]ation|attendance|survival|dropout|repetition|poverty|headcount|access|share|cause of death|success)\b|% net\b/iu;

const PERCENT = /%|\bper ?cent\b|\bpercentage\b/iu;
const GROWTH_UNIT = /\b(?:annual|per year|a year|change|growth|points?)\b|^lending rate|of potential gdp/iu;

/** Counts, sizes, amounts and rates of them. An index relative to a year or a change has no unit of these. */
const QUANTITY =
  /\b(?:people|persons|population|number|deaths|cases|births|children|boys|girls|women|men|males|females|pupils|teachers|students|workers|subscriptions|subscribers|users|species|companies|firms|patents|applications|departures|arrivals|computers|vehicles|phones|billionaires|km²?|sq\. ?km|km2|route-km|hectares?|ha|kg|tonnes?|tons?|kilotonnes|kt|grams|micrograms|litres?|liters?|cubic|kwh|mwh|kilowatt|mj|toe|kcal|kilocalories|years?|months|weeks|days|hours|minutes|mm|mmhg|mmol|metres?|meters?|us\$|dollars?|international \$|ppp \$|lcu|national currency|teu|teeth|drinks|pounds|beds|doctors|physicians|nurses|households|dwellings|passengers|ratio|index, \d{4}|\d{4}(?:-\d{4})? = 100)\b|\$/iu;

/** Returns the range of values that the labels allow. */
export function valueRange({ name, unit }: Pick<IndicatorRecord, 'name' | 'unit'>): ValueRange {
  const text = unit ?? '';
  const labels = `${name} ${text}`;
  const quantity = { low: MAY_BE_NEGATIVE.test(labels) ? null : 0, high: null, type: 'quantity' } as const;
  if (STATED_RANGE.test(text)) return OPEN;
  if (!PERCENT.test(text)) return QUANTITY.test(text) ? quantity : OPEN;
  if (GROWTH_UNIT.test(text)) return OPEN;
  if (NOT_A_PART.test(labels) && !PART.test(name) && !/\b(\w+) given \(% of \1\)/iu.test(name))
    return quantity;
  return { low: SHARE_MAY_BE_NEGATIVE.test(labels) ? null : 0, high: 100, type: 'share' };
}

/** Series that no other check of figures looks at. */
export const unchecked: QualityCheck = {
  kinds: ['figures_not_checked'],
  find: async ({ unchecked: found }) =>
    [...found].map(([id, { reason, values }]) =>
      doubtAbout('figures_not_checked', id, `The figures are not checked: ${reason}.`, values),
    ),
};

/** Units in which countries cannot be compared: currencies, and indices of a country's own base year. */
const OWN_UNIT = /national currency|\bLCU\b|^index|\d{4} ?= ?100/iu;
const PEOPLE =
  /^(?:people|persons|children|women|men|boys|girls|males|females|births|deaths|pupils|students)$/iu;
const POPULATION = /^(?:total )?population(?:,? total)?$/iu;

/** The newest count of all inhabitants; of these, the one with the most countries. */
function newestPopulation(series: CheckContext['series']): CheckedSeries | undefined {
  return [...series.values()]
    .filter(({ record }) => POPULATION.test(record.name) && PEOPLE.test(record.unit ?? ''))
    .sort(
      ({ statistics: a }, { statistics: b }) =>
        (b.latest_year ?? 0) - (a.latest_year ?? 0) || b.countries - a.countries,
    )[0];
}

const numbersOf = (series: readonly CheckedSeries[]) =>
  listValue(series.map(({ planned }) => planned.number));

const farValue = z.object({
  id: z.string(),
  iso3,
  year: z.int(),
  value: z.number(),
  n: z.int(),
  distance: z.number(),
  is_high: z.boolean(),
});

async function findOutliers(context: CheckContext): Promise<FoundDoubt[]> {
  const comparable = [...context.series.values()].filter(
    ({ record, statistics }) => !OWN_UNIT.test(record.unit ?? '') && statistics.negative === 0,
  );
  if (comparable.length === 0) return [];
  const rows = await context.duck.select(farValue, sql('country-outliers'), {
    numbers: numbersOf(comparable),
    population: newestPopulation(context.series)?.planned.number ?? -1,
  });
  const byId = Map.groupBy(rows, ({ id }) => id);
  return [...byId].map(([id, found]) => {
    const sentences = found.map(({ iso3: country, year, value, n, distance, is_high }) => {
      const times = figure(Number((10 ** distance).toPrecision(2)));
      const where = is_high ? 'above' : 'below';
      return `${countryName(context.curated, country)} is ${figure(value)} in ${year}, ${times} times ${where} the next of ${n} countries`;
    });
    const countries = found.map((one) => one.iso3).sort();
    return doubtAbout('country_outlier', id, `${sentences.join('; ')}.`, found.length, { countries });
  });
}

const tooMany = z.object({
  id: z.string(),
  countries: z.array(iso3),
  worst: z.object({ iso3, year: z.int(), value: z.number(), people: z.number() }),
});

async function findMoreThanPopulation(context: CheckContext): Promise<FoundDoubt[]> {
  const population = newestPopulation(context.series);
  const people = [...context.series.values()].filter(({ record }) => PEOPLE.test(record.unit ?? ''));
  if (!population || people.length === 0) return [];
  const rows = await context.duck.select(tooMany, sql('more-than-population'), {
    numbers: numbersOf(people),
    population: population.planned.number,
  });
  return rows.map(({ id, countries, worst: { iso3: country, value, year, people: inhabitants } }) => {
    const unit = context.series.get(id)?.record.unit;
    const message = `${countryName(context.curated, country)} has ${figure(value)} ${unit} in ${year}, but ${figure(inhabitants)} inhabitants${andMore(countries)}.`;
    return doubtAbout('more_than_population', id, message, countries.length, { countries });
  });
}

export const countries: QualityCheck = {
  kinds: ['country_outlier', 'more_than_population'],
  find: async (context) => [...(await findOutliers(context)), ...(await findMoreThanPopulation(context))],
};
