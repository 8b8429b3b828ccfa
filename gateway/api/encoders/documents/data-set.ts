/** What documents about a data set tell, whatever their vocabulary: an indicator, those of a provider, or an edition. */
import type { IndicatorRecord, IndicatorSource } from '../../../../data/schema/records.ts';
import type { Column } from '../tables/table.ts';
import type { Citation } from './citations.ts';

export const PUBLISHER = 'Almanac';

export interface DescribedColumn extends Column {
  description: string;
  /** Null where its values have none, or not the same in all rows. */
  unit: string | null;
}

/** A file that can be downloaded. */
export interface DataFile {
  /** With its extension. */
  name: string;
  title: string;
  /** Absolute. */
  url: string;
  mediaType: string;
  format: 'csv' | 'parquet';
  columns: readonly DescribedColumn[];
  /** False where the file may have others, too. */
  hasAllColumns: boolean;
  /** Those that identify a row. */
  key: readonly string[];
  /** Null for a file that is written when it is asked for. */
  content: { bytes: number; sha256: string } | null;
}

export interface DataSet {
  citation: Citation;
  /** Plain text. */
  description: string;
  keywords: readonly string[];
  indicators: readonly IndicatorRecord[];
  /** Who collected the figures. */
  sources: readonly Pick<IndicatorSource, 'name' | 'url'>[];
  /** None where there is none for export. */
  files: readonly DataFile[];
}

export interface Licence {
  licence: string;
  licence_url: string | null;
}

/** Each once. */
export function licencesOf(indicators: readonly IndicatorRecord[]): Licence[] {
  const distinct = new Map<string, Licence>();
  for (const { licence, licence_url } of indicators)
    distinct.set(JSON.stringify([licence, licence_url]), { licence, licence_url });
  return [...distinct.values()];
}

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
