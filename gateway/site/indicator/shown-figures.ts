/**
 * The figures that the page of an indicator shows: map and ranking of one year, and the histories of some places with links to
 * choose others, which need no script.
 */
import type { Reason } from '../../../data/derived/derivation.ts';
import { type CountryRecord, type IndicatorRecord, isForecastStatus } from '../../../data/schema/records.ts';
import {
  countryCodes,
  GROUP_MARK,
  GROUPS,
  oneOf,
  servedMembers,
  text,
} from '../../api/operations/operations.ts';
import { type Edition, wellKnownFirst } from '../../api/snapshot/snapshot.ts';
import { ASSET_PATHS } from '../assets.ts';
import { pageChart, pageMap } from '../charts/frame.ts';
import { CONTINENTS } from '../charts/map.ts';
import type { ShownFigures } from '../derived.ts';
import { columnDecimals } from '../figures.ts';
import { type Filters, withQuery } from '../lists.ts';
import { type LinesView, linesPicture, mapOfYear, viewLines } from '../pictures.ts';
import {
  type CountryFigure,
  countRanked,
  type DrawnPlace,
  findPlace,
  type History,
  hasComparableRanks,
  histories,
  type Remark,
  type ShownSeries,
  type YearFigures,
  yearFigures,
} from '../series.ts';
import { noPlace, PICTURED_MAX } from '../subjects.ts';

/** @param sent codes of places; undefined for well-known ones that have figures. @param page where links lead */
export function choosePlaces(
  edition: Edition,
  sent: readonly string[] | undefined,
  latest: YearFigures | null,
  { groups, arePlaces }: ShownFigures,
  page: { path: string; filters: Filters },
) {
  const held = latest?.figures.map(({ country }) => country.iso3) ?? [];
  const codes =
    sent === undefined || sent.length === 0 ? wellKnownFirst(held) : countryCodes(sent, edition, arePlaces);
  const placeOf = (code: string) => findPlace(edition, code, groups);
  const found = codes.flatMap((code) => placeOf(code) ?? []);
  const places = found.slice(0, PICTURED_MAX);
  const problems = codes
    .filter((code) => placeOf(code) === undefined && !code.startsWith(GROUP_MARK))
    .map(noPlace);
  if (found.length > PICTURED_MAX)
    problems.push(`Only ${PICTURED_MAX} places are drawn: remove one to add another.`);
  const codesWithout = (left?: DrawnPlace): string =>
    places.flatMap((place) => (place === left ? [] : place.code)).join(',');
  return {
    places,
    /** With the page without each; null for the only one. */
    chosen: places.map((place) => ({
      place,
      removal:
        places.length === 1
          ? null
          : withQuery(page.path, { ...page.filters, countries: codesWithout(place) }),
    })),
    /** `KEN,BRA` */
    codes: codesWithout(),
    /** What was asked for and is not shown, as sentences. */
    problems,
    count: places.length,
    max: PICTURED_MAX,
  };
}

/** Another year than the page opens on, where one is asked for that the series reaches; else undefined. */
export const otherYear = ({ record, opening }: ShownSeries, asked: number | undefined): number | undefined =>
  asked !== undefined && asked !== opening && yearsToChoose(record).includes(asked) ? asked : undefined;

const COLUMNS = {
  rank: ({ rank }: CountryFigure) => rank,
  name: ({ country }: CountryFigure) => country.name,
  value: ({ value }: CountryFigure) => value,
  change: ({ rankDelta }: CountryFigure) => rankDelta,
} as const;
type ColumnName = keyof typeof COLUMNS;

/** What map and ranking of a year are made of, as an address says it. */
export const YEAR_VIEW = {
  /** The id of a group of countries. */
  group: text().optional(),
  /** A column of the ranking; with a minus the largest first, or the last by name. */
  sort: oneOf(['rank', '-rank', 'name', '-name', 'value', '-value', 'change', '-change'] as const).optional(),
};

interface YearView {
  /** The year, where it is not the one that the page opens on. */
  other: number | undefined;
  group?: string | undefined;
  sort?: string | undefined;
}

/** What is shown of one year, that the page opens on or another: a map and the ranking beside it. */
export async function shownYear(
  edition: Edition,
  series: ShownSeries,
  latest: YearFigures,
  { other, group: asked, sort }: YearView,
) {
  const { record } = series;
  const held = other === undefined ? latest : await yearFigures(edition, series, other);
  const known = GROUPS.get(asked ?? '');
  const group = known && { ...known, members: new Set(servedMembers(known, edition)) };
  const said = {
    record,
    sort,
    members: group?.members,
    remarks: other === undefined ? series.remarks : await series.remarksOn(other),
    isComparable: await hasComparableRanks(edition, series, held.year),
  };
  const isShown = other === undefined || record.access_tier === 'open';
  const ranking = isShown ? shownRanking(held, said) : null;
  const notes = (figure: CountryFigure): string[] => [
    ...(figure.rank === null ? [] : [`Rank ${figure.rank} of ${ranking?.ranked}`]),
    ...marksBeside(figure, said.remarks),
  ];
  const drawn = mapOfYear(series, held, latest, { outlines: ASSET_PATHS.outlines, notes, group });
  return {
    /** Null for the whole world. */
    group: group ?? null,
    /** The id of a group that there is not. */
    unknown: asked && !known ? asked.slice(0, 60) : null,
    continents: CONTINENTS.flatMap((id) => GROUPS.get(id) ?? []),
    groups: [...GROUPS.values()],
    year: held.year,
    map: {
      /** Null where no country has a figure of the year. */
      picture: drawn ? pageMap(drawn.drawing, drawn.labels, 'map-picture') : null,
      legend: drawn?.drawing.legend ?? [],
      years: yearsToChoose(record),
    },
    /** Null where the figures of the year may not be shown. */
    ranking,
  };
}

/** From the newest with any figure to the oldest. */
export function yearsToChoose({ coverage }: IndicatorRecord): number[] {
  if (coverage === null || coverage.yr_min === null || coverage.yr_max === null) return [];
  const { yr_min, yr_max } = coverage;
  return Array.from({ length: yr_max - yr_min + 1 }, (_, before) => yr_max - before);
}

/** The lines of some places, and what they have in the year that the page opens on. */
export async function shownLines(series: ShownSeries, places: readonly DrawnPlace[], view: LinesView) {
  const { histories: held, ...lines } = await drawnLines(series, places, 'lines', view);
  const rows = held.map(({ place, points }) => ({
    place,
    figure: points.find(({ year }) => year === series.opening) ?? null,
    note: noteOn(series.remarks.get(place.code)),
  }));
  return { ...lines, rows };
}

/** @param id of the picture, unique on the page */
export async function drawnLines(
  series: ShownSeries,
  places: readonly DrawnPlace[],
  id: string,
  view: LinesView = {},
) {
  const all = await histories(series, places);
  const { held, isLog, problems } = viewLines(all, view);
  const years = yearsOf(all);
  const shown = held.some(({ points }) => points.length > 0) ? yearsOf(held) : years;
  return {
    ...linesWithTable(series, held, id, pageChart, isLog),
    histories: all,
    isLog,
    problems,
    /** For a choice: all that there are, and the first and the last that are shown. */
    years,
    from: shown[0],
    to: shown.at(-1),
  };
}

/** In their order. */
const yearsOf = (all: readonly History[]): number[] =>
  [...new Set(all.flatMap(({ points }) => points.map(({ year }) => year)))].sort((a, b) => a - b);

/** Lines and the same as a table. @param draw makes the picture */
export function linesWithTable(
  series: ShownSeries,
  held: readonly History[],
  id: string,
  draw = pageChart,
  isLog = false,
) {
  const drawn = linesPicture(series, held, isLog);
  return {
    id,
    histories: held,
    /** Null where none of the places has a figure. */
    picture: drawn ? draw(drawn.drawing, drawn.labels, `${id}-picture`) : null,
    /** Null also for a series whose histories may only be shown as pictures. */
    table: drawn && series.record.access_tier === 'open' ? yearTable(held) : null,
  };
}

/** The places that have lines, and a row for each year of which any has a figure, the newest first. */
function yearTable(all: readonly History[]) {
  const held = all.filter(({ points }) => points.length > 0);
  const columns = held.map(({ points }) => new Map(points.map((point) => [point.year, point])));
  const years = yearsOf(held).reverse();
  return {
    places: held.map(({ place }) => place),
    /** Whether it may have exact figures: those of groups are derived. */
    exact: held.map(({ place }) => !place.code.startsWith(GROUP_MARK)),
    decimals: columnDecimals(held.flatMap(({ points }) => points.map(({ value }) => value))),
    rows: years.map((year) => ({ year, cells: columns.map((column) => column.get(year) ?? null) })),
  };
}

/** Of whom the figure of a group is, and why a figure is missing; empty for others. */
export function noteOn({ reason, group }: Remark = { status: null }): string {
  const members = group ? [`${group.counted} of ${group.members} members`] : [];
  return [...members, ...(reason ? [REASONS[reason]] : [])].join('; ');
}

const REASONS: Readonly<Record<Reason, string>> = {
  no_base: 'nothing to compare with',
  gap: 'no figure',
  break: 'the series breaks',
  zero: 'divided by 0',
  not_positive: 'a figure is not above 0',
  coverage: 'too few members, or others',
  territory: 'members may overlap',
  withheld: 'a member is withheld',
  overflow: 'too large',
};

/** What is said of the figures of one year besides them. */
interface Said {
  record: Pick<IndicatorRecord, 'no_rank'>;
  remarks: ReadonlyMap<string, Remark>;
  /** Whether the ranks compare with those of the year before. */
  isComparable: boolean;
  /** ISO3 of the countries that are listed; undefined for all. */
  members?: ReadonlySet<string> | undefined;
  sort?: string | undefined;
}

export function shownRanking(
  held: Pick<YearFigures, 'figures' | 'missing'>,
  { record: { no_rank }, remarks, isComparable, members, sort }: Said,
) {
  const isListed = ({ iso3 }: CountryRecord): boolean => members?.has(iso3) ?? true;
  const figures = held.figures.filter(({ country }) => isListed(country));
  const missing = held.missing.filter(isListed);
  const isRanked = ({ rank }: CountryFigure): boolean => rank !== null;
  const ends = figures.filter(isRanked);
  const [first, last] = [ends[0], ends.at(-1)];
  const hasChanges = !no_rank && isComparable;
  const isKnown = hasChanges ? sort : no_rank ? /name|value/.test(sort ?? '') : !sort?.endsWith('change');
  const order = isKnown ? sort : undefined;
  return {
    sort: order ?? (no_rank ? '-value' : 'rank'),
    /** How many countries are ranked: the field of each rank. */
    ranked: countRanked(held),
    listed: ends.length,
    hasRanks: !no_rank,
    hasChanges,
    hasBounds: figures.some(({ ciLo, ciHi }) => ciLo !== null || ciHi !== null),
    /** Digits after the point that figures have at least. */
    decimals: columnDecimals(figures.map(({ value }) => value)),
    rows: sorted(figures, order).map((figure) => ({ ...figure, marks: marksBeside(figure, remarks) })),
    missing: missing.map((country) => ({ country, note: noteOn(remarks.get(country.iso3)) })),
    /** The countries at both ends; null where there is none. */
    ends: first && last && first !== last ? { first, last } : null,
  };
}

/** By a column, those without a value in it last. The sort is stable. @param sort undefined leaves the order */
function sorted(figures: readonly CountryFigure[], sort: string | undefined): readonly CountryFigure[] {
  if (sort === undefined) return figures;
  const column = COLUMNS[sort.replace('-', '') as ColumnName];
  const direction = sort.startsWith('-') ? -1 : 1;
  const compare = (a: CountryFigure, b: CountryFigure): number => {
    const [first, second] = [column(a), column(b)];
    if (first === null || second === null) return Number(first === null) - Number(second === null);
    return (
      direction *
      (typeof first === 'string' ? first.localeCompare(String(second), 'en') : first - Number(second))
    );
  };
  return figures.toSorted(compare);
}

/** `projected`, and what the source says: a forecast is one that is projected. */
function marksBeside({ country, projected }: CountryFigure, remarks: ReadonlyMap<string, Remark>): string[] {
  const said = remarks.get(country.iso3)?.status?.split(', ') ?? [];
  return [...(projected ? ['projected'] : []), ...said.filter((word) => !isForecastStatus(word))];
}
