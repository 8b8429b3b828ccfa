/** Series that hold little: few countries, years that ended, rows without values. */

import type { FoundDoubt } from '../../../data/schema/quality.ts';
import type { QualityKindName } from '../../../data/schema/quality-kinds.ts';
import type { CheckedSeries, QualityCheck } from '../check.ts';
import { counted, figure } from '../wording.ts';

/** A comparison needs three countries. */
const FEWEST_COUNTRIES = 3;
/** A series on the front of a topic should tell of the last years. Censuses and surveys come in at most five. */
const MOST_YEARS_OLD = 5;

/** Share of rows without a value, above which most of what is read and paid for is empty or nearly so. */
const MOST_EMPTY = 1 / 3;

const about = (
  { planned, record }: CheckedSeries,
  kind: QualityKindName,
  extent: number,
  message: string,
): FoundDoubt => ({
  kind,
  provider: planned.providerId,
  indicator: record.id,
  other: null,
  countries: [],
  years: null,
  extent,
  message,
});

function fewCountries(series: CheckedSeries): FoundDoubt[] {
  const { countries, values } = series.statistics;
  if (countries === 0 || countries >= FEWEST_COUNTRIES) return [];
  const message = `${counted(values, 'value', 'values')} of ${counted(countries, 'country', 'countries')}.`;
  return [about(series, 'few_countries', FEWEST_COUNTRIES - countries, message)];
}

function ended(series: CheckedSeries, currentYear: number): FoundDoubt[] {
  const { record, statistics } = series;
  const age = currentYear - (statistics.latest_year ?? currentYear);
  if (!(record.featured || record.preferred) || age <= MOST_YEARS_OLD) return [];
  const message = `${record.featured ? 'Featured' : 'Preferred'}, but the newest observed value is of ${statistics.latest_year}.`;
  return [about(series, 'series_ended', age, message)];
}

function empty(series: CheckedSeries): FoundDoubt[] {
  const { rows, nulls } = series.statistics;
  return nulls > MOST_EMPTY * rows
    ? [about(series, 'mostly_empty', nulls, `${figure(nulls)} of ${figure(rows)} rows have no value.`)]
    : [];
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
