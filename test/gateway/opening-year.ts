/** Which year the pages of a series open on, from its rows: the rule of the build, written a second time. */
import type { SeriesOpening } from '../../data/schema/snapshot.ts';

export interface OpeningRow {
  iso3: string;
  year: number;
  value: number | null;
  rank: number | null;
  projected?: boolean;
}

/** Undefined without a figure. */
export function openingOf(rows: readonly OpeningRow[]): SeriesOpening | undefined {
  const held = rows.filter(({ value }) => value !== null);
  const observed = held.filter(({ projected }) => !projected);
  const byYear = Map.groupBy(observed.length > 0 ? observed : held, ({ year }) => year);
  const most = Math.max(...[...byYear.values()].map((own) => own.length));
  const enough = [...byYear].filter(([, own]) => own.length / most >= 0.7).map(([year]) => year);
  if (enough.length === 0) return undefined;
  const year = Math.max(...enough);
  const rankedIn = (one: number): Set<string> =>
    new Set(held.filter((row) => row.year === one && row.rank !== null).map(({ iso3 }) => iso3));
  const [now, before] = [rankedIn(year), rankedIn(year - 1)];
  const both = [...now].filter((iso3) => before.has(iso3)).length;
  return { year, ranked: now.size, is_comparable: both / Math.max(now.size, before.size, 1) >= 0.9 };
}
