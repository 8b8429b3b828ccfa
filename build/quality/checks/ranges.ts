/** Values that the unit does not allow: shares above 100 %, negative sizes, absurd magnitudes. */
import { z } from 'zod';
import { readSql } from '../../../data/runtime/sql-files.ts';
import type { FoundDoubt } from '../../../data/schema/quality.ts';
import { iso3 } from '../../../data/schema/records.ts';
import type { CheckContext, CheckedSeries, QualityCheck } from '../check.ts';
import { type ValueRange, valueRange } from '../value-range.ts';
import { counted, countryName, figure } from '../wording.ts';

const OUT_OF_RANGE = readSql(import.meta.url, 'sql/out-of-range.sql');

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

function suspectOf(series: CheckedSeries): Suspect | null {
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
  const suspects = [...context.series.values()].map(suspectOf).filter((suspect) => suspect !== null);
  const doubts: FoundDoubt[] = [];
  for (const { low, high, series, range } of suspects) {
    const rows = await context.duck.rows(OUT_OF_RANGE, {
      files: context.files([series.record.id]),
      low,
      high,
    });
    doubts.push(
      ...z
        .array(outlier)
        .parse(rows)
        .map((row) => impossible(context, series, range, row)),
    );
  }
  return doubts;
}

function impossible(
  { curated }: CheckContext,
  { planned, record }: CheckedSeries,
  { type, low, high }: ValueRange,
  { found, countries, first_year, last_year, worst }: z.infer<typeof outlier>,
): FoundDoubt {
  const limits = high === null ? 'below 0' : `outside ${figure(low ?? 0)} to ${figure(high)}`;
  const unit = type === 'share' ? '%' : record.unit;
  const where = `${counted(countries.length, 'country', 'countries')} lie ${limits}`;
  const all = found > 1 ? `; ${figure(found)} values of ${where}${type === 'share' ? ' %' : ''}` : '';
  return {
    kind: type === 'share' ? 'share_out_of_range' : 'negative_value',
    provider: planned.providerId,
    indicator: record.id,
    other: null,
    countries,
    years: [first_year, last_year],
    extent: found,
    message: `${countryName(curated, worst.iso3)} is ${figure(worst.value)} ${unit} in ${worst.year}${all}.`,
  };
}

const PERCENT = /%|\bper ?cent\b/iu;
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

/** Finds series whose figures as a whole do not fit their unit. */
async function findWrongMagnitudes({ series }: CheckContext): Promise<FoundDoubt[]> {
  return [...series.values()].flatMap(({ planned, record, statistics }) => {
    const reason = wrongMagnitude(record.unit ?? '', statistics);
    return reason === null
      ? []
      : [
          {
            kind: 'magnitude_contradicts_unit' as const,
            provider: planned.providerId,
            indicator: record.id,
            other: null,
            countries: [],
            years: null,
            extent: statistics.values,
            message: `The unit is "${record.unit}", but ${reason}.`,
          },
        ];
  });
}

function wrongMagnitude(
  unit: string,
  { values, min, median, max }: CheckedSeries['statistics'],
): string | null {
  if (min === null || max === null || median === null) return null;
  if (PERCENT.test(unit) && values >= FEWEST_VALUES) {
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
  find: async (context) => [...(await findImpossible(context)), ...(await findWrongMagnitudes(context))],
};
