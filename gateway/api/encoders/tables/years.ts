/** Years in documents that describe data sets. */
import type { IndicatorRecord } from '../../../../data/schema/records.ts';

/** From the first to the last year with a figure; null without figures. */
export function yearsOf(indicators: readonly IndicatorRecord[]): { first: number; last: number } | null {
  const years = indicators.flatMap(({ coverage }) => [coverage?.yr_min, coverage?.yr_max]);
  const known = years.filter((year) => typeof year === 'number');
  return known.length === 0
    ? null
    : {
        first: known.reduce((least, year) => Math.min(least, year)),
        last: known.reduce((most, year) => Math.max(most, year)),
      };
}

/** A year as ISO 8601 and XML Schema write it: at least four digits. */
export const isoYear = (year: number): string =>
  `${year < 0 ? '-' : ''}${String(Math.abs(year)).padStart(4, '0')}`;
