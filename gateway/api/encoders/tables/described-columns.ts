/** The columns of files of observations, in words. */

import type { DescribedColumn } from '../documents/data-set.ts';
import type { ColumnType } from './table.ts';

interface Meaning {
  type: ColumnType;
  description: string;
  /** In the unit of the indicator. */
  hasUnit?: true;
}

const MEANINGS = {
  indicator: { type: 'text', description: 'Id of the indicator' },
  iso3: { type: 'text', description: 'The country, by its ISO 3166-1 alpha-3 code' },
  year: { type: 'integer', description: 'Calendar year' },
  value: { type: 'double', description: 'The figure; missing where there is none', hasUnit: true },
  ci_lo: { type: 'double', description: 'Lower bound of the figure', hasUnit: true },
  ci_hi: { type: 'double', description: 'Upper bound of the figure', hasUnit: true },
  rank: { type: 'integer', description: 'Rank among the countries in that year; equal figures share one' },
  rank_delta_1y: { type: 'integer', description: 'Rank in the year before minus rank; positive is up' },
  projected: { type: 'boolean', description: 'Whether the figure is a forecast' },
  status: { type: 'text', description: 'Status of the figure, in words of SDMX CL_OBS_STATUS' },
  rank_lo: { type: 'integer', description: 'Best rank that the bounds allow' },
  rank_hi: { type: 'integer', description: 'Worst rank that the bounds allow' },
} as const satisfies Record<string, Meaning>;

export type ObservationColumn = keyof typeof MEANINGS;

/** @param unit of the figures; null where they have none, or not the same in all rows. */
export const describedColumns = (
  names: readonly ObservationColumn[],
  unit: string | null,
): DescribedColumn[] =>
  names.map((name) => {
    const { type, description, hasUnit }: Meaning = MEANINGS[name];
    return { name, type, description, unit: hasUnit ? unit : null };
  });
