/**
 * Figures for tools: asked for through the operation `data`, which decides what they cost and whether they may be given. An
 * answer is cut to what fits; its page says how the others are got, and what all of them would cost.
 */
import type { IndicatorRecord } from '../../../data/schema/records.ts';
import {
  checkValues,
  data,
  type FoundRows,
  findRows,
  type Invalid,
  type Planned,
  type Refused,
  type RowDetail,
  refused,
} from '../operations/operations.ts';
import { type Edition, NO_RANK, type SelectedRows, statusKey } from '../snapshot/snapshot.ts';
import { type Answer, fitted, listed, type Refusal, refusedText, seriesOf } from './answer.ts';
import { type Asking, pathOf, planInner } from './calls.ts';
import { type Figure, type FigureTable, toTables } from './figure-tables.ts';
import { type Page, paged } from './pages.ts';
import type { AskedPlaces } from './places.ts';

export interface FiguresAsked {
  indicators: readonly string[];
  /** ISO3 codes, and groups that are places; absent for all countries. */
  countries?: readonly string[] | undefined;
  from?: number | undefined;
  to?: number | undefined;
  latest?: number | undefined;
  transform?: string | undefined;
  /** Present where a group is one place. */
  aggregate?: 'declared' | undefined;
}

/** No answer has room for more figures. */
const FIGURES_MAX = 1_500;

const dataCall = (asked: FiguresAsked) =>
  ({ operation: data, query: { ...asked, missing: 'omit' } }) as const;

/** Its plan says what the figures cost. */
export const planData = (asking: Asking, asked: FiguresAsked): Promise<Planned> =>
  planInner(asking, dataCall(asked));

/** Where the rows of a question come from. @throws {SnapshotUnreadable} */
export async function findRowsOf(
  { edition }: Asking,
  asked: FiguresAsked,
): Promise<FoundRows | Refused | Invalid> {
  const checked = checkValues(data.query, { ...asked });
  return checked.ok ? findRows(edition, checked.values) : { kind: 'invalid', detail: checked.detail };
}

interface Figures {
  kind: 'figures';
  found: FoundRows;
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

export const pairOf = (indicator: string, iso3: string): string => `${indicator} ${iso3}`;

/** @param skip so many first figures. @throws {QueryTimeout} {QueueFull} {SnapshotUnreadable} */
export async function askFigures(
  asking: Asking,
  asked: FiguresAsked,
  skip = 0,
): Promise<Figures | Refused | Invalid> {
  const planned = await planData(asking, asked);
  if (planned.kind !== 'plan') return planned;
  const found = await findRowsOf(asking, asked);
  if ('kind' in found) return found;
  const { edition } = asking;
  const { source, derived, groups } = found;
  const { countries, from, to, latest } = asked;
  const filter = { countries: countries?.toSorted(), from, to };
  const figures: Figure[] = [];
  const held = new Set<string>();
  let before = 0;
  for (const record of found.indicators) {
    // The rows that the operation `data` gives, without the columns and encodings that a table of any length needs.
    const selected = await source.select(record, filter, { latest, missing: true });
    for (const at of new Set(selected.country))
      held.add(pairOf(record.id, selected.held.countries[at] ?? ''));
    const start = Math.max(0, skip - before);
    const own = toFigures(record, selected, edition, start, FIGURES_MAX - figures.length);
    const isPublished = derived === undefined && groups === undefined;
    const described = isPublished
      ? await withStatus(own, edition)
      : withDetails(own, (await source.details(record, selected, filter)).slice(start), source);
    figures.push(...described);
    before += selected.at.length;
  }
  const { price, rows, indicators = [] } = planned;
  return { kind: 'figures', found, price, rows, indicators, figures, held };
}

/** Credits that a figure costs in an answer of so many. */
export const priceOfOne = ({ price, rows }: Pick<Figures, 'price' | 'rows'>): number =>
  price / Math.max(1, rows);

/** The figures with what is said of each by what it was derived from. @param details in the same order */
function withDetails(
  figures: readonly Figure[],
  details: readonly RowDetail[],
  source: FoundRows['source'],
): Figure[] {
  const names = new Map(source.groups?.map(({ group = '', name }) => [group, name]));
  return figures.map((figure, at): Figure => {
    const { status = null, group } = details[at] ?? {};
    if (group === undefined) return { ...figure, status };
    const { coverage, method } = group;
    const code = figure.iso3 ?? '';
    const place = { iso3: null, group: code, country: names.get(code) ?? code };
    return { ...figure, ...place, status, coverage, method };
  });
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
      indicator: record.id,
      iso3,
      country: countriesByCode.get(iso3)?.name ?? iso3,
      year: year[position] ?? 0,
      value: value[position] ?? Number.NaN,
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
    const countries = [...new Set(own.flatMap(({ iso3 }) => iso3 ?? []))];
    const filter = { countries, from: Math.min(...years), to: Math.max(...years) };
    known.set(indicator, await observations.statuses(indicator, filter));
  }
  return figures.map((figure) => {
    const status = known.get(figure.indicator)?.get(statusKey(figure.iso3 ?? '', figure.year));
    return status === undefined ? figure : { ...figure, status };
  });
}

/** Why the figures of the first display-only indicator are not given; null where there is none. */
export function exportRefused(records: readonly IndicatorRecord[], publicUrl: string): Refused | null {
  const record = records.find(({ access_tier }) => access_tier === 'display');
  if (record === undefined) return null;
  return refused(
    'export_restricted',
    `“${record.name}” (${record.id}) may be shown but not exported: its provider's licence forbids it (${record.licence}). ` +
      `rank_countries shows a year, and ${publicUrl}/indicators/${record.id} a chart. ` +
      'Other series of the concept may be open: find_indicators names them.',
  );
}

const MEMBERS_NOTE =
  'A group has no figure of its own here: these are its members. Do not add or average them: `groups: figure` gives its figure where there is one.';
const GROUP_NOTE =
  'The figure of a group is made of those of its members, as `method` says; `coverage` is the part of the group that counts.';

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
  /** Divisors and weights, which are credited as well. */
  others?: readonly IndicatorRecord[];
  derived?: FoundRows['derived'];
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

/** What an answer says of where its figures come from. */
export const sourceOf = ({ indicators, credited, derived, groups }: FoundRows) => ({
  records: indicators,
  others: credited.filter((record) => !indicators.includes(record)),
  derived,
  ...(groups && {
    groups: groups.groups.map(({ code, name, members }) => ({ group: code, name, members: [...members] })),
  }),
});

export function figuresAnswer(about: FiguresAbout): Answer & { figures: FigureTable[] } {
  const { edition, publicUrl, as_of, groups = [], figures, held, years, page, derived } = about;
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
      ...(derived && { transform: derived.words, formula: derived.formula }),
      figures: toTables(shown),
      series: seriesShown(about, ids).map((record) => seriesOf(record, publicUrl)),
      ...listed(refusals),
      ...(groups.length > 0 && page.skip === 0 && { groups }),
      ...(years && { years }),
    };
  });
}

/** Those of the figures, and what these are derived from. */
const seriesShown = ({ records, others = [] }: FiguresAbout, ids: ReadonlySet<string>) => [
  ...records.filter(({ id }) => ids.has(id)),
  ...(ids.size > 0 ? others.filter(({ id }) => !ids.has(id)) : []),
];

const wholeCall = ({ price, asked }: FiguresHeld, edition: Edition, publicUrl: string) => ({
  url: publicUrl + pathOf(dataCall(asked), edition),
  price,
});

function describe(
  { note, groups = [], refusals, page }: FiguresAbout,
  shown: readonly Figure[],
  total: number,
): string {
  const first = shown.length === 0 ? refusedText(refusals) : figuresText(shown, total, page);
  const parts = [note, first, groupNote(groups, shown)];
  if (shown.length > 0 && refusals.length > 0)
    parts.push('What is under `refusals` is not held: say so, and give no figure for it.');
  return parts.filter((part) => typeof part === 'string').join(' ');
}

function groupNote(groups: readonly unknown[], shown: readonly Figure[]): string | undefined {
  if (groups.length === 0) return undefined;
  return shown.some(({ group }) => group !== undefined) ? GROUP_NOTE : MEMBERS_NOTE;
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
