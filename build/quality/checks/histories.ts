/**
 * Series by country and year: those that hold little (few countries, years that ended, rows without values), and odd
 * values in the history of single countries, as `anomalies.sql` finds them: slips, jumps, flips, frozen and copied values.
 */
import type { Curated } from '../../../data/curated/curated.ts';
import { type Anomaly, anomaly, type FoundDoubt } from '../../../data/schema/quality.ts';
import {
  andMore,
  type CheckedSeries,
  counted,
  countryName,
  doubtAbout,
  figure,
  type QualityCheck,
} from '../check.ts';

/** `a factor of 1,000`, for the distance of `decimal_slip` and `level_break`. */
const factor = (size: number): string =>
  `a factor of ${Number((10 ** Math.abs(size)).toPrecision(2)).toLocaleString('en')}`;

function describe({ kind, year, until, value, previous, next, size }: Anomaly, country: string): string {
  const around = [previous, next].filter((one) => one !== null).map(figure);
  const now = figure(value ?? 0);
  switch (kind) {
    case 'unit_change':
      return `Most countries change by ${factor(size)} from the year before to ${year}`;
    case 'same_figures_places':
      return `${country} and another country have the same ${counted(size, 'figure', 'figures')} from ${year} to ${until}`;
    case 'frozen_values':
      if (value === null)
        return `${counted(size, 'country repeats', 'countries repeat')} in ${year} the value of the year before`;
      return `${country} is ${now} in every year from ${year} to ${until}`;
    case 'level_break':
      return `${country} goes from ${around[0]} to ${now} in ${year}, by ${factor(size)}, and does not return`;
    default:
      return `${country} is ${now} in ${year}, between ${around.join(' and ')}`;
  }
}

/** About the anomalies of one kind in a series, the worst first. */
function findDoubt(curated: Curated, id: string, anomalies: readonly Anomaly[]): FoundDoubt[] {
  const [worst] = anomalies;
  if (!worst) return [];
  const { kind } = worst;
  const countries = [...new Set(anomalies.flatMap(({ iso3 }) => iso3 ?? []))].sort();
  const years: [number, number] = [
    Math.min(...anomalies.map(({ year }) => year)),
    Math.max(...anomalies.map(({ year, until }) => until ?? year)),
  ];
  const extent =
    kind === 'frozen_values' ? anomalies.reduce((sum, { size }) => sum + size, 0) : anomalies.length;
  const what = describe(worst, worst.iso3 === null ? '' : countryName(curated, worst.iso3));
  return [doubtAbout(kind, id, `${what}${andMore(countries)}.`, extent, { countries, years })];
}

export const histories: QualityCheck = {
  kinds: anomaly.shape.kind.options,
  find: async ({ curated, series }) =>
    [...series.values()].flatMap(({ record: { id }, statistics: { anomalies } }) =>
      [...Map.groupBy(anomalies, ({ kind }) => kind).values()].flatMap((own) => findDoubt(curated, id, own)),
    ),
};

/** A comparison needs three countries. */
const FEWEST_COUNTRIES = 3;
/** A featured series should have recent years. Censuses and surveys come in at most five. */
const MOST_YEARS_OLD = 5;

/** Share of rows without a value, above which most of what is read and paid for is empty or nearly so. */
const MOST_EMPTY = 1 / 3;

function fewCountries(series: CheckedSeries): FoundDoubt[] {
  const { countries, values } = series.statistics;
  if (countries === 0 || countries >= FEWEST_COUNTRIES) return [];
  const message = `${counted(values, 'value', 'values')} of ${counted(countries, 'country', 'countries')}.`;
  return [doubtAbout('few_countries', series.record.id, message, FEWEST_COUNTRIES - countries)];
}

function ended(series: CheckedSeries, currentYear: number): FoundDoubt[] {
  const { record, statistics } = series;
  const age = currentYear - (statistics.latest_year ?? currentYear);
  if (!(record.featured || record.preferred) || age <= MOST_YEARS_OLD) return [];
  const message = `${record.featured ? 'Featured' : 'Preferred'}, but the newest observed value is of ${statistics.latest_year}.`;
  return [doubtAbout('series_ended', record.id, message, age)];
}

function empty(series: CheckedSeries): FoundDoubt[] {
  const { rows, nulls } = series.statistics;
  const message = `${figure(nulls)} of ${figure(rows)} rows have no value.`;
  return nulls > MOST_EMPTY * rows ? [doubtAbout('mostly_empty', series.record.id, message, nulls)] : [];
}

export const coverage: QualityCheck = {
  kinds: ['few_countries', 'series_ended', 'mostly_empty'],
  find: async (context) =>
    [...context.series.values()].flatMap((series) => [
      ...fewCountries(series),
      ...ended(series, context.currentYear),
      ...empty(series),
    ]),
};
