/**
 * Figures for tools: asked for through the operation `data`, which decides what they cost and whether they may be given. An
 * answer is cut to what fits, and says what all of them would cost.
 */
import type { IndicatorRecord } from '../../../data/schema/records.ts';
import { data, type Invalid, type Planned, type Refused, refused } from '../operations/operations.ts';
import { type Edition, NO_RANK, type SelectedRows, statusKey } from '../snapshot/snapshot.ts';
import {
  type Answer,
  addressOf,
  type Figure,
  fitted,
  listed,
  NO_ESTIMATE,
  type Refusal,
  refusedText,
  type Series,
  seriesOf,
} from './answer.ts';
import { type Asking, pathOf, planInner } from './calls.ts';
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
const FIGURES_MAX = 400;

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
  /** At most `FIGURES_MAX`. */
  figures: Figure[];
}

/** @param records of the indicators asked for. @throws {QueryTimeout} {QueueFull} {SnapshotUnreadable} */
export async function askFigures(
  asking: Asking,
  records: readonly IndicatorRecord[],
  asked: FiguresAsked,
): Promise<Figures | Refused | Invalid> {
  const planned = await planData(asking, asked);
  if (planned.kind !== 'plan') return planned;
  const { edition } = asking;
  const figures: Figure[] = [];
  for (const record of records) {
    if (figures.length >= FIGURES_MAX) break;
    const rows = await readFigures(record, asked, edition, FIGURES_MAX - figures.length);
    figures.push(...rows);
  }
  const { price, rows, indicators = [] } = planned;
  return { kind: 'figures', price, rows, indicators, figures: await withStatus(figures, edition) };
}

/** The rows that the operation `data` gives, without the columns and encodings that a table of any length needs. */
async function readFigures(
  record: IndicatorRecord,
  { countries, from, to, latest }: FiguresAsked,
  { observations, countriesByCode }: Edition,
  max: number,
): Promise<Figure[]> {
  const filter = { countries: countries?.toSorted(), from, to };
  const { held, at, country } = await observations.select(record.id, filter, { latest, missing: true });
  const { year, value, ciLo, ciHi, rank, projected } = held.columns;
  return Array.from(at.subarray(0, max), (position, row): Figure => {
    const iso3 = held.countries[country[row] ?? 0] ?? '';
    const place = rank[position] ?? NO_RANK;
    return {
      ...{ indicator: record.id, iso3, country: countriesByCode.get(iso3)?.name ?? iso3 },
      ...{ year: year[position] ?? 0, value: value[position] ?? Number.NaN, unit: record.unit },
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
  figures: readonly { indicator: string; iso3: string }[],
  edition: Edition,
  places: AskedPlaces | undefined,
): Promise<Refusal[]> {
  const held = new Set(figures.map(({ indicator, iso3 }) => `${indicator} ${iso3}`));
  const refusals: Refusal[] = [];
  for (const record of records) {
    const missing = (places?.named ?? []).filter((iso3) => !held.has(`${record.id} ${iso3}`));
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
  figures: readonly Figure[];
  refusals: readonly Refusal[];
  held?: FiguresHeld;
  /** The common year of each indicator. */
  years?: readonly { indicator: string; year: number | null }[];
  /** Said first. */
  note?: string | undefined;
}

interface FiguresAnswer extends Answer {
  figures: Figure[];
  series: Series[];
  refusals: readonly Refusal[];
}

export function figuresAnswer(about: FiguresAbout): FiguresAnswer {
  const { edition, publicUrl, as_of, groups = [], records, figures, refusals, held, years } = about;
  const total = held?.rows ?? figures.length;
  return fitted(figures.length, (rows) => {
    const shown = figures.slice(0, rows);
    const ids = new Set(shown.map(({ indicator }) => indicator));
    return {
      outcome: shown.length === 0 ? 'refused' : 'answer',
      message: describe(about, shown, total),
      edition: edition.id,
      ...(as_of !== undefined && { as_of }),
      figures: shown,
      series: records.filter(({ id }) => ids.has(id)).map((record) => seriesOf(record, publicUrl)),
      ...listed(refusals),
      ...(groups.length > 0 && { groups }),
      ...(years && { years }),
      ...(held !== undefined && rows < total && { truncated: truncation(held, rows, publicUrl) }),
    };
  });
}

const truncation = (
  { rows: rows_held, price, asked }: FiguresHeld,
  rows_given: number,
  publicUrl: string,
) => ({ rows_held, rows_given, url: addressOf(publicUrl, pathOf(dataCall(asked))), price });

function describe(
  { note, groups = [], refusals }: FiguresAbout,
  shown: readonly Figure[],
  total: number,
): string {
  const first = shown.length === 0 ? refusedText(refusals) : figuresText(shown, total);
  const parts = [note, first, groups.length > 0 && GROUP_NOTE];
  if (shown.length > 0 && refusals.length > 0)
    parts.push('What is under `refusals` is not held: say so, and give no figure for it.');
  return parts.filter((part) => typeof part === 'string').join(' ');
}

function figuresText(shown: readonly Figure[], total: number): string {
  const years = shown.map(({ year }) => year);
  const [first, last] = [Math.min(...years), Math.max(...years)];
  const span = first === last ? `the year ${first}` : `the years ${first} to ${last}`;
  const count = shown.length < total ? `The first ${shown.length} of ${total} figures` : `${total} figures`;
  const projected = shown.some((figure) => figure.projected)
    ? ' Some are forecasts: `projected` says which.'
    : '';
  return `${count}, of ${span}; name the year with each figure, and its source.${projected}`;
}
