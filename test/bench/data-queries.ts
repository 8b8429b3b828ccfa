/** The `/v1/data` queries of the bench. */
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { observationsFile } from '../../data/schema/snapshot.ts';
import type { CatalogueIndex } from '../shown-snapshot.ts';

const COLD_INDICATORS = 400;
const COUNTRIES = ['BRA', 'IND', 'SWE'];
const YEARS = 20;
/** Rows of a typical whole indicator. */
const WHOLE_ROWS = 9_000;

export interface DataQuery {
  indicator: string;
  countries: string[];
  from: number;
  to: number;
}

export const dataPath = ({ indicator, countries, from, to }: DataQuery): string =>
  `/v1/data?indicator=${encodeURIComponent(indicator)}&countries=${countries.join(',')}&from=${from}&to=${to}`;

const exportable = (catalogue: CatalogueIndex) =>
  catalogue.indicators.flatMap(({ record }) =>
    record.access_tier === 'open' && record.coverage ? [{ ...record, coverage: record.coverage }] : [],
  );

/** Three countries × twenty years of many indicators, those with the widest coverage first. */
export function slices(catalogue: CatalogueIndex): DataQuery[] {
  return exportable(catalogue)
    .toSorted((a, b) => b.coverage.n_countries - a.coverage.n_countries)
    .slice(0, COLD_INDICATORS)
    .map(({ id, coverage }) => {
      const to = coverage.latest_year ?? 0;
      return { indicator: id, countries: COUNTRIES, from: to - YEARS + 1, to };
    });
}

/** A repeated query. Its indicator has a ranking. */
export function hotQuery(catalogue: CatalogueIndex): DataQuery {
  const ranked = new Set(catalogue.indicators.flatMap(({ record }) => (record.no_rank ? [] : [record.id])));
  const found = slices(catalogue).find(({ indicator }) => ranked.has(indicator));
  if (!found) throw new Error('the snapshot has no open indicator that is ranked');
  return found;
}

/** The indicator whose countries × years are closest to `WHOLE_ROWS`. */
export function wholeIndicator(catalogue: CatalogueIndex): string {
  const distance = ({
    yr_min,
    yr_max,
    n_countries,
  }: {
    yr_min: number | null;
    yr_max: number | null;
    n_countries: number;
  }) => Math.abs(n_countries * ((yr_max ?? 0) - (yr_min ?? 0) + 1) - WHOLE_ROWS);
  const [nearest] = exportable(catalogue).toSorted((a, b) => distance(a.coverage) - distance(b.coverage));
  if (!nearest) throw new Error('the snapshot has no open indicator');
  return nearest.id;
}

/** The indicator with the largest file. @param dir shows files under their names */
export async function largestFile(catalogue: CatalogueIndex, dir: string): Promise<string> {
  const sizes = await Promise.all(
    exportable(catalogue).map(async ({ id }) => ({ id, ...(await stat(join(dir, observationsFile(id)))) })),
  );
  const [largest] = sizes.toSorted((a, b) => b.size - a.size);
  if (!largest) throw new Error('the snapshot has no open indicator');
  return largest.id;
}
