/** Ranks of what was derived: as those of published figures, among the countries with a figure in one year. */
import type { IndicatorRecord } from '../../../../data/schema/records.ts';
import { type IndicatorColumns, NO_RANK } from '../../snapshot/snapshot.ts';
import type { DerivedSeries } from './derived-series.ts';

/**
 * The derived columns, with ranks of one year and their changes since the year before.
 * @param asked null for the newest year with an observed figure; else the newest with a projected one
 * @param otherwise the year of a series without figures
 */
export async function rankDerived(
  { rows }: DerivedSeries,
  record: IndicatorRecord,
  asked: number | null,
  otherwise: number,
): Promise<{ columns: IndicatorColumns; resolved: number }> {
  const columns = await rows.columns(record.id);
  const resolved = asked ?? newestYear(columns, 0) ?? newestYear(columns, 1) ?? otherwise;
  rankYear(columns, record, resolved);
  return { columns, resolved };
}

/** Writes the ranks of one year into derived columns, and their changes since the year before. */
export function rankYear(columns: IndicatorColumns, record: IndicatorRecord, year: number): void {
  const isAscending = record.higher_is_better === false;
  const before = ranksIn(columns, year - 1, isAscending);
  for (const [country, { at, rank }] of ranksIn(columns, year, isAscending)) {
    columns.columns.rank[at] = rank;
    const earlier = before.get(country);
    if (earlier !== undefined) columns.columns.rankDelta[at] = earlier.rank - rank;
  }
}

function newestYear(
  { columns: { year, value, projected } }: IndicatorColumns,
  isProjected: 0 | 1,
): number | null {
  let newest: number | null = null;
  for (const [at, one] of year.entries())
    if (projected[at] === isProjected && !Number.isNaN(value[at]) && (newest === null || one > newest))
      newest = one;
  return newest;
}

/** Competition ranks (1, 2, 2, 4) by country, each with its row. */
function ranksIn(
  held: IndicatorColumns,
  year: number,
  isAscending: boolean,
): ReadonlyMap<string, { at: number; rank: number }> {
  const { value } = held.columns;
  const placed = held.countries
    .map((country) => ({ country, at: held.rowOf(country, year) }))
    .filter(({ at }) => at >= 0 && !Number.isNaN(value[at]))
    .map((one) => ({ ...one, key: (value[one.at] ?? 0) * (isAscending ? 1 : -1) }))
    .toSorted((a, b) => a.key - b.key);
  let rank = NO_RANK;
  return new Map(
    placed.map(({ country, at, key }, position) => {
      if (key !== placed[position - 1]?.key) rank = position + 1;
      return [country, { at, rank }];
    }),
  );
}
