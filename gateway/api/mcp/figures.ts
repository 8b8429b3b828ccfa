/**
 * Figures for tools: asked for through the operation `data`, which decides what they cost and whether they may be given. An
 * answer is cut to what fits; its page says how the others are got, and what all of them would cost.
 */
import type { IndicatorRecord } from '../../../data/schema/records.ts';
import { data, type Invalid, type Planned, type Refused, refused } from '../operations/operations.ts';
import { type Edition, NO_RANK, type SelectedRows, statusKey } from '../snapshot/snapshot.ts';
import {
  type Answer,
  addressOf,
  fitted,
  listed,
  NO_ESTIMATE,
  type Refusal,
  refusedText,
  seriesOf,
} from './answer.ts';
import { type Asking, pathOf, planInner } from './calls.ts';
import { type Figure, type FigureTable, toTables } from './figure-tables.ts';
import { type Page, paged } from './pages.ts';
import type { AskedPlaces } from './places.ts';

export interface FiguresAsked {
  indicators: readonly string[];
  /** ISO3 codes; absent for all countries. */
  countries?: readonly string[] | undefined;
  from?: number | undefined;
  to?: number | undefined;
  latest?: number | undefined;
}

/** No answer has room for more figures. */
const FIGURES_MAX = 1_500;

const dataCall = (asked: FiguresAsked) =>
  ({ operation: data, query: { ...asked, missing: 'omit' } }) as const;

/** Its plan says what the figures cost. */
export const planData = (asking: Asking, asked: FiguresAsked): Promise<Planned> =>
  planInner(asking, dataCall(asked));

interface Figures {
  kind: 'figures';
  /** What all of them cost. */
  price: number;
  /** How many there are. */
  rows: number;
  /** As the ledger names them. */
  indicators: readonly string[];
  /** At most `FIGURES_MAX`, after those that were skipped. */
  figures: Figure[];
  /** The pairs of indicator and country that have any, also beyond the page. */
  held: ReadonlySet<string>;
}

const pairOf = (indicator: string, iso3: string): string => `${indicator} ${iso3}`;

/** @param records of the indicators asked for. @param skip so many first figures. @throws {QueryTimeout} {QueueFull} {SnapshotUnreadable} */
export async function askFigures(
  asking: Asking,
  records: readonly IndicatorRecord[],
  asked: FiguresAsked,
  skip = 0,
): Promise<Figures | Refused | Invalid> {
  const planned = await planData(asking, asked);
  if (planned.kind !== 'plan') return planned;
  const { edition } = asking;
  const figures: Figure[] = [];
  const held = new Set<string>();
  let before = 0;
  for (const record of records) {
    const selected = await selectRows(record, asked, edition);
    for (const at of new Set(selected.country))
      held.add(pairOf(record.id, selected.held.countries[at] ?? ''));
    const start = Math.max(0, skip - before);
    figures.push(...toFigures(record, selected, edition, start, FIGURES_MAX - figures.length));
    before += selected.at.length;
  }
  const { price, rows, indicators = [] } = planned;
  return { kind: 'figures', price, rows, indicators, figures: await withStatus(figures, edition), held };
}

/** The rows that the operation `data` gives, without the columns and encodings that a table of any length needs. */
function selectRows(
  { id }: IndicatorRecord,
  { countries, from, to, latest }: FiguresAsked,
  { observations }: Edition,
): Promise<SelectedRows> {
  const filter = { countries: countries?.toSorted(), from, to };
  return observations.select(id, filter, { latest, missing: true });
}

function toFigures(
  record: IndicatorRecord,
  { held, at, country }: SelectedRows,
  { countriesByCode }: Edition,
  start: number,
  max: number,
): Figure[] {
  const { year, value, ciLo, ciHi, rank, projected } = held.columns;
  return Array.from(at.subarray(start, start + max), (position, row): Figure => {
    const iso3 = held.countries[country[start + row] ?? 0] ?? '';
    const place = rank[position] ?? NO_RANK;
    return {
      ...{ indicator: record.id, iso3, country: countriesByCode.get(iso3)?.name ?? iso3 },
      ...{ year: year[position] ?? 0, value: value[position] ?? Number.NaN },
      status: null,
      projected: projected[position] === 1,
      ...bound('ci_lo', ciLo?.[position]),
      ...bound('ci_hi', ciHi?.[position]),
      ...(place === NO_RANK ? {} : { rank: place }),
    };
  });
}

const bound = (name: 'ci_lo' | 'ci_hi', value: number | undefined) =>
  value === undefined || Number.isNaN(value) ? {} : { [name]: value };

/** The figures with what their source says of each. @throws {QueryTimeout} {QueueFull} {SnapshotUnreadable} */
export async function withStatus(figures: readonly Figure[], { observations }: Edition): Promise<Figure[]> {
  const known = new Map<string, ReadonlyMap<string, string>>();
  for (const [indicator, own] of Map.groupBy(figures, (figure) => figure.indicator)) {
    const years = own.map(({ year }) => year);
    const countries = [...new Set(own.map(({ iso3 }) => iso3))];
    const filter = { countries, from: Math.min(...years), to: Math.max(...years) };
    known.set(indicator, await observations.statuses(indicator, filter));
  }
  return figures.map((figure) => {
    const status = known.get(figure.indicator)?.get(statusKey(figure.iso3, figure.year));
    return status === undefined ? figure : { ...figure, status };
  });
}

interface HeldYears {
  /** Ascending. */
  measured: number[];
  projected: number[];
}

/** The years for which a series has values, by country. @throws {QueryTimeout} {QueueFull} {SnapshotUnreadable} */
export async function heldYears(
  { observations }: Edition,
  indicator: string,
  countries: readonly string[],
): Promise<Map<string, HeldYears>> {
  const filter = { countries: countries.toSorted() };
  const selected = await observations.select(indicator, filter, { missing: true });
  const years = new Map<string, HeldYears>(countries.map((iso3) => [iso3, { measured: [], projected: [] }]));
  for (const { iso3, year, projected } of rowsHeld(selected))
    years.get(iso3)?.[projected ? 'projected' : 'measured'].push(year);
  return years;
}

function* rowsHeld({ held, at, country }: SelectedRows) {
  for (const [row, position] of at.entries())
    yield {
      iso3: held.countries[country[row] ?? 0] ?? '',
      year: held.columns.year[position] ?? 0,
      projected: held.columns.projected[position] === 1,
    };
}

/** The held year before and the one after what was asked for. @param years in any order */
export function nearestYears(
  years: readonly number[],
  { from, to }: Pick<FiguresAsked, 'from' | 'to'>,
): number[] {
  const before = years.filter((year) => to === undefined || year <= to);
  const after = years.filter((year) => from === undefined || year >= from);
  const nearest = [
    before.length > 0 ? Math.max(...before) : null,
    after.length > 0 ? Math.min(...after) : null,
  ];
  return [...new Set(nearest.filter((year) => year !== null))].sort((a, b) => a - b);
}

const asText = ({ from, to }: Pick<FiguresAsked, 'from' | 'to'>): string => {
  if (from === undefined && to === undefined) return '';
  if (from === to) return ` for ${from}`;
  return ` for ${[from === undefined ? '' : `from ${from}`, to === undefined ? '' : `to ${to}`].filter((part) => part !== '').join(' ')}`;
};

/** Why a country of a series has no figure among those that were asked for. */
export function noData(
  record: IndicatorRecord,
  country: { iso3: string; name: string },
  { measured, projected }: HeldYears,
  asked: Pick<FiguresAsked, 'from' | 'to' | 'latest'>,
): Refusal {
  const held = asked.latest === undefined ? [...measured, ...projected] : measured;
  const nearest_years = nearestYears(held, asked);
  const known =
    nearest_years.length > 0
      ? `The nearest years held are ${nearest_years.join(' and ')}.`
      : held.length === 0 && projected.length > 0
        ? `Only forecasts are held, of ${Math.min(...projected)} to ${Math.max(...projected)}.`
        : 'It has none for any year.';
  return {
    reason: 'no_data',
    message: `Almanac holds no figure of “${record.name}” for ${country.name}${asText(asked)}. ${known} ${NO_ESTIMATE}`,
    place: country.iso3,
    indicator: record.id,
    nearest_years,
  };
}

/** A refusal for each country without any figure of a series; members of groups are not missed. */
export async function missingFigures(
  records: readonly IndicatorRecord[],
  asked: FiguresAsked,
  held: ReadonlySet<string>,
  edition: Edition,
  places: AskedPlaces | undefined,
): Promise<Refusal[]> {
  const refusals: Refusal[] = [];
  for (const record of records) {
    const missing = (places?.named ?? []).filter((iso3) => !held.has(pairOf(record.id, iso3)));
    if (missing.length === 0) continue;
    const years = await heldYears(edition, record.id, missing);
    for (const [iso3, own] of years) {
      const name = edition.countriesByCode.get(iso3)?.name ?? iso3;
      refusals.push(noData(record, { iso3, name }, own, asked));
    }
  }
  return refusals;
}

/** Why the figures of the first display-only indicator are not given; null where there is none. */
export function exportRefused(records: readonly IndicatorRecord[], publicUrl: string): Refused | null {
  const record = records.find(({ access_tier }) => access_tier === 'display');
  if (record === undefined) return null;
  return refused(
    'export_restricted',
    `“${record.name}” (${record.id}) may be shown but not exported: its provider's licence forbids it (${record.licence}). ` +
      `rank_countries shows a year, and ${addressOf(publicUrl, `/indicators/${record.id}`)} a chart. ` +
      'Other series of the concept may be open: find_indicators names them.',
  );
}

const GROUP_NOTE =
  'A group has no figure of its own: these are its members. Do not add or average them, unless the user asks for that and is told.';

/** All that was asked for, of which an answer may give the first only. */
export interface FiguresHeld {
  rows: number;
  /** Of the call that gives all of them. */
  price: number;
  asked: FiguresAsked;
}

interface FiguresAbout {
  edition: Edition;
  publicUrl: string;
  as_of?: string | undefined;
  groups?: AskedPlaces['groups'] | undefined;
  /** The indicators of the figures. */
  records: readonly IndicatorRecord[];
  /** Those of the page, or more. */
  figures: readonly Figure[];
  /** Said on the first page alone, as groups are. */
  refusals: readonly Refusal[];
  held?: FiguresHeld;
  page: Page;
  /** The common year of each indicator. */
  years?: readonly { indicator: string; year: number | null }[];
  /** Said first. */
  note?: string | undefined;
}

interface FiguresAnswer extends Answer {
  figures: FigureTable[];
}

export function figuresAnswer(about: FiguresAbout): FiguresAnswer {
  const { edition, publicUrl, as_of, groups = [], records, figures, held, years, page } = about;
  const total = held?.rows ?? figures.length;
  const refusals = page.skip === 0 ? about.refusals : [];
  return fitted(figures.length, (rows) => {
    const shown = figures.slice(0, rows);
    const ids = new Set(shown.map(({ indicator }) => indicator));
    return {
      outcome: shown.length === 0 ? 'refused' : 'answer',
      message: describe({ ...about, refusals }, shown, total),
      edition: edition.id,
      ...(as_of !== undefined && { as_of }),
      ...paged(page, rows, total, held && (() => wholeCall(held, edition, publicUrl))),
      figures: toTables(shown),
      series: records.filter(({ id }) => ids.has(id)).map((record) => seriesOf(record, publicUrl)),
      ...listed(refusals),
      ...(groups.length > 0 && page.skip === 0 && { groups }),
      ...(years && { years }),
    };
  });
}

const wholeCall = ({ price, asked }: FiguresHeld, edition: Edition, publicUrl: string) => ({
  url: addressOf(publicUrl, pathOf(dataCall(asked), edition)),
  price,
});

function describe(
  { note, groups = [], refusals, page }: FiguresAbout,
  shown: readonly Figure[],
  total: number,
): string {
  const first = shown.length === 0 ? refusedText(refusals) : figuresText(shown, total, page);
  const parts = [note, first, groups.length > 0 && GROUP_NOTE];
  if (shown.length > 0 && refusals.length > 0)
    parts.push('What is under `refusals` is not held: say so, and give no figure for it.');
  return parts.filter((part) => typeof part === 'string').join(' ');
}

function figuresText(shown: readonly Figure[], total: number, { skip }: Page): string {
  const years = shown.map(({ year }) => year);
  const [first, last] = [Math.min(...years), Math.max(...years)];
  const span = first === last ? `the year ${first}` : `the years ${first} to ${last}`;
  const count =
    shown.length < total ? `Figures ${skip + 1} to ${skip + shown.length} of ${total}` : `${total} figures`;
  const projected = shown.some((figure) => figure.projected)
    ? ' Some are forecasts: `projected` says which.'
    : '';
  return `${count}, of ${span}; name the year with each figure, and its source.${projected}`;
}
