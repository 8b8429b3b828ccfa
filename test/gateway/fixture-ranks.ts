/** A plain implementation of ranks, coverage and latest values for the fixture. */
import type { IndicatorRecord, TopicItem } from '../../data/schema/records.ts';
import type { FixtureIndicator, FixtureRow } from './fixture-data.ts';

export interface RankedRow extends FixtureRow {
  rank: number | null;
  rank_delta_1y: number | null;
}

/** Competition ranking within a year: one plus the number of strictly better ones. */
export function rankRows({ rows, no_rank, higher_is_better }: FixtureIndicator): RankedRow[] {
  const better = (a: number, b: number): boolean => (higher_is_better === false ? a < b : a > b);
  const years = Map.groupBy(rows, ({ year }) => year);
  const rankOf = ({ year, value }: FixtureRow): number | null => {
    if (no_rank || value === null) return null;
    const others = years.get(year) ?? [];
    return 1 + others.filter((row) => row.value !== null && better(row.value, value)).length;
  };
  return rows.map((row) => {
    const before = years.get(row.year - 1)?.find(({ iso3 }) => iso3 === row.iso3);
    const rank = rankOf(row);
    const previous = before ? rankOf(before) : null;
    return { ...row, rank, rank_delta_1y: rank === null || previous === null ? null : previous - rank };
  });
}

export function coverageOf(rows: RankedRow[]): IndicatorRecord['coverage'] {
  if (rows.length === 0) return null;
  const valued = rows.filter(({ value }) => value !== null);
  const years = valued.map(({ year }) => year);
  const observed = valued.filter(({ projected }) => !projected).map(({ year }) => year);
  const newest = (of: number[]): number | null => (of.length > 0 ? Math.max(...of) : null);
  return {
    n_countries: new Set(valued.map(({ iso3 }) => iso3)).size,
    yr_min: years.length > 0 ? Math.min(...years) : null,
    yr_max: newest(years),
    latest_year: newest(observed),
  };
}

/** The newest observed value, else the newest observed null, else no item. */
export function latestItem(record: IndicatorRecord, rows: RankedRow[], iso3: string): TopicItem | null {
  const observed = rows.filter((row) => row.iso3 === iso3 && !row.projected).sort((a, b) => b.year - a.year);
  const latest = observed.find(({ value }) => value !== null) ?? observed[0];
  if (!latest) return null;
  return {
    indicator: record.id,
    name: record.name,
    unit: record.unit,
    year: latest.year,
    value: latest.value,
    rank: latest.rank,
    rank_delta_1y: latest.rank_delta_1y,
    featured: record.featured,
  };
}
