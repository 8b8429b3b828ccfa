/** Figures of one indicator for pages: all countries in one year, or the history of some places. They are those of the API. */
import type { CountryRecord, IndicatorRecord } from '../../data/schema/records.ts';
import { GROUP_MARK, type RowDetail } from '../api/operations/operations.ts';
import {
  type ColumnArrays,
  countRows,
  type Edition,
  type IndicatorColumns,
  NO_DELTA,
  NO_RANK,
  type RowFilter,
} from '../api/snapshot/snapshot.ts';

export interface Figure {
  value: number;
  ciLo: number | null;
  ciHi: number | null;
  /** Null for indicators that are not ranked, and for projections. */
  rank: number | null;
  /** Rank last year minus rank this year: positive is up. */
  rankDelta: number | null;
  projected: boolean;
}

export interface CountryFigure extends Figure {
  country: CountryRecord;
}

/** Every country that has a figure of one year. */
export interface YearFigures {
  year: number;
  /** By rank, then by name; without ranks by value, largest first. */
  figures: readonly CountryFigure[];
  /** Countries without one, by name. */
  missing: readonly CountryRecord[];
}

/** The year that pages open on: the newest that most countries have. Null for a series without figures. */
export async function openingYear(
  edition: Edition,
  { id, coverage }: IndicatorRecord,
): Promise<number | null> {
  const entry = await edition.indicator(id);
  return entry?.opening?.year ?? coverage?.latest_year ?? coverage?.yr_max ?? null;
}

/** As the build decides it for the years that pages open on. */
const COMPARABLE_SHARE = 0.9;

/**
 * Whether at least 90 % of the countries that are ranked in a year or in the one before are ranked in both.
 * @throws {QueryTimeout} {QueueFull} {SnapshotUnreadable}
 */
export async function hasComparableRanks(
  edition: Edition,
  { opening, isComparable, columns }: ShownSeries,
  year: number,
): Promise<boolean> {
  if (year === opening && isComparable !== null) return isComparable;
  const held = await columns({ from: year - 1, to: year });
  const isRanked = (iso3: string, one: number): boolean =>
    (held.columns.rank[held.rowOf(iso3, one)] ?? NO_RANK) !== NO_RANK;
  const rankedIn = (one: number) => edition.countries.filter(({ record: { iso3 } }) => isRanked(iso3, one));
  const [now, before] = [rankedIn(year), rankedIn(year - 1)];
  const both = now.filter(({ record: { iso3 } }) => isRanked(iso3, year - 1));
  return both.length >= COMPARABLE_SHARE * Math.max(now.length, before.length);
}

/** Every country that has a figure of that year. @throws {QueryTimeout} {QueueFull} {SnapshotUnreadable} */
export async function openingFigures(edition: Edition, series: ShownSeries): Promise<YearFigures | null> {
  return series.opening === null ? null : yearFigures(edition, series, series.opening);
}

/** What is said of a figure, or of why there is none. */
export type Remark = Pick<RowDetail, 'status' | 'reason' | 'group'>;

/** A series as pages show it: as published, or what is derived from it. */
export interface ShownSeries {
  /** With the name, the unit and the direction of what is shown. */
  record: IndicatorRecord;
  /** Whose figures it takes: the series first. */
  credited: readonly IndicatorRecord[];
  /** The year that pages open on; null for a series without figures. */
  opening: number | null;
  /** Whether its ranks compare with those of the year before; null where the build has not decided it. */
  isComparable: boolean | null;
  /** Columns that hold at least the rows of countries that pass, with the ranks of these years. @throws {QueryTimeout} {QueueFull} {SnapshotUnreadable} */
  columns(filter: RowFilter): IndicatorColumns | Promise<IndicatorColumns>;
  /** Rows of groups that are places; null without any. */
  groups: IndicatorColumns | null;
  /** Of that year, by the code of the place. */
  remarks: ReadonlyMap<string, Remark>;
  /** Of another year. @throws {QueryTimeout} {QueueFull} {SnapshotUnreadable} */
  remarksOn(year: number): Promise<ReadonlyMap<string, Remark>>;
}

/** @throws {SnapshotUnreadable} */
export async function publishedSeries(edition: Edition, record: IndicatorRecord): Promise<ShownSeries> {
  const excerpt = await edition.excerpt(record.id);
  const said = [...(excerpt?.statuses ?? [])].map(([iso3, status]) => [iso3, { status }] as const);
  return {
    record,
    credited: [record],
    groups: null,
    remarks: new Map(said),
    opening: await openingYear(edition, record),
    isComparable: (await edition.indicator(record.id))?.opening?.is_comparable ?? null,
    columns: (filter) => readColumns(edition, record.id, filter),
    async remarksOn(year) {
      const countries = edition.countries.map(({ record: { iso3 } }) => iso3);
      const rows = await edition.observations.details(record.id, { countries, from: year, to: year });
      return new Map(rows.map(({ iso3, status }) => [iso3, { status }]));
    },
  };
}

/** @throws {QueryTimeout} {QueueFull} {SnapshotUnreadable} */
export async function yearFigures(edition: Edition, series: ShownSeries, year: number): Promise<YearFigures> {
  const held = await series.columns({ from: year, to: year });
  const figures: CountryFigure[] = [];
  const missing: CountryRecord[] = [];
  for (const { record: country } of edition.countries) {
    const figure = figureAt(held.columns, held.rowOf(country.iso3, year));
    if (figure === null) missing.push(country);
    else figures.push({ country, ...figure });
  }
  return { year, figures: figures.sort(byRank), missing };
}

/** The field of each rank: how many countries are ranked. */
export const countRanked = ({ figures }: Pick<YearFigures, 'figures'>): number =>
  figures.filter(({ rank }) => rank !== null).length;

/** The sort is stable, and countries come by name. */
const byRank = (a: CountryFigure, b: CountryFigure): number =>
  a.rank === null && b.rank === null ? b.value - a.value : (a.rank ?? Infinity) - (b.rank ?? Infinity);

export interface Point extends Figure {
  year: number;
}

/** A country, or a group that is one place. */
export interface DrawnPlace {
  /** ISO3, or `@` and the id of a group. */
  code: string;
  name: string;
  /** Its page. */
  path: string;
}

export const asPlace = ({ iso3, name }: CountryRecord): DrawnPlace => ({
  code: iso3,
  name,
  path: `/countries/${iso3}`,
});

/** The figures of one place, oldest first; years without one are left out. */
export interface History {
  place: DrawnPlace;
  points: readonly Point[];
}

/** Histories of places that the edition has, in the order asked for. @throws {QueryTimeout} {QueueFull} {SnapshotUnreadable} */
export async function histories(
  { columns, groups }: ShownSeries,
  places: readonly DrawnPlace[],
): Promise<History[]> {
  const countries = places.map(({ code }) => code).filter((code) => !code.startsWith(GROUP_MARK));
  const ofCountries = await columns({ countries: countries.sort() });
  return places.map((place) => {
    const points: Point[] = [];
    const held = place.code.startsWith(GROUP_MARK) ? groups : ofCountries;
    if (held === null) return { place, points };
    for (const { start, end } of held.select({ countries: [place.code] })) {
      for (let row = start; row < end; row++) {
        const figure = figureAt(held.columns, row);
        if (figure !== null) points.push({ year: held.columns.year[row] as number, ...figure });
      }
    }
    return { place, points };
  });
}

/** How many rows the API has of some countries. @throws {QueryTimeout} {QueueFull} {SnapshotUnreadable} */
export async function countRowsFor(
  edition: Edition,
  { id }: IndicatorRecord,
  codes: readonly string[],
): Promise<number> {
  const filter = { countries: codes.toSorted() };
  const held = await readColumns(edition, id, filter);
  return countRows(held.select(filter));
}

/** Columns that hold at least the rows that pass, from the excerpt where it has them. */
async function readColumns(edition: Edition, id: string, filter: RowFilter): Promise<IndicatorColumns> {
  const excerpt = await edition.excerpt(id);
  return excerpt?.covers(filter) ? excerpt.columns : edition.observations.columns(id, filter);
}

/** Null where there is no value. */
function figureAt(columns: ColumnArrays, row: number): Figure | null {
  const value = numberAt(columns.value, row);
  if (value === null) return null;
  const rank = columns.rank[row] ?? NO_RANK;
  const delta = columns.rankDelta[row] ?? NO_DELTA;
  return {
    value,
    ciLo: numberAt(columns.ciLo, row),
    ciHi: numberAt(columns.ciHi, row),
    rank: rank === NO_RANK ? null : rank,
    rankDelta: delta === NO_DELTA ? null : delta,
    projected: columns.projected[row] === 1,
  };
}

function numberAt(column: Float64Array | null, row: number): number | null {
  const value = column?.[row];
  return value === undefined || Number.isNaN(value) ? null : value;
}

/** @param code ISO3, or `@` and the id of a group; @param groups those that are places */
export function findPlace(
  { countriesByCode }: Edition,
  code: string,
  groups: ReadonlyMap<string, DrawnPlace>,
): DrawnPlace | undefined {
  const country = countriesByCode.get(code);
  return country === undefined ? groups.get(code) : asPlace(country);
}
