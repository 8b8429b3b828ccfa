/**
 * Derived figures on pages. An address asks for them as a call of the API does, by `transform` and by groups in `countries`
 * with `aggregate=declared`, and they come from where the API has them. What makes no sense is told in a sentence, and the
 * page shows what is left of the address.
 */
import { isOfGroups } from '../../data/derived/recompute.ts';
import {
  judgeTransforms,
  parseTransforms,
  type Transform,
  transformWord,
} from '../../data/derived/transforms.ts';
import type { IndicatorRecord } from '../../data/schema/records.ts';
import { ERRORS } from '../api/core/errors.ts';
import {
  checkValues,
  data,
  type FoundRows,
  findRows,
  GROUP_MARK,
  GROUPS,
  type Invalid,
  type Refused,
  type RowDetail,
  rankDerived,
  rankYear,
  text,
} from '../api/operations/operations.ts';
import {
  type CatalogueEntry,
  type Edition,
  type IndicatorColumns,
  NO_RANK,
  SelectedRows,
} from '../api/snapshot/snapshot.ts';
import { withQuery } from './lists.ts';
import { type DrawnPlace, openingYear, publishedSeries, type Remark, type ShownSeries } from './series.ts';

/** What an address says of it. */
export const DERIVED = { transform: text().optional(), aggregate: text().optional() };

interface Sent {
  transform?: string | undefined;
  aggregate?: string | undefined;
}

/** What is shown of one address. */
export interface ShownFigures {
  /** In the order of the indicators. */
  series: readonly ShownSeries[];
  transforms: readonly Transform[];
  /** Null for figures as published. */
  formula: string | null;
  /** Credits for each row. */
  price: number;
  /** Whether the address asks for groups as places. */
  arePlaces: boolean;
  /** Those that are, by code. */
  groups: ReadonlyMap<string, DrawnPlace>;
  /** What was asked for and is not shown, as sentences. */
  problems: readonly string[];
  /** Of the address, also that of a call of the API. */
  filters: { aggregate?: string; transform?: string };
}

/** @param places as the address names them. @throws {QueryTimeout} {QueueFull} {SnapshotUnreadable} */
export async function showFigures(
  edition: Edition,
  entries: readonly CatalogueEntry[],
  { transform, aggregate = '' }: Sent,
  places: readonly string[] = [],
): Promise<ShownFigures> {
  const problems = new Set<string>();
  const find = async (asked: Asked): Promise<FoundRows[] | null> => {
    const found = await Promise.all(entries.map((entry) => findOne(edition, entry, asked)));
    for (const one of found) if (typeof one === 'string') problems.add(one);
    const held = found.filter((one) => typeof one !== 'string');
    return held.length === entries.length ? held : null;
  };
  const derived = transform ? await find({ transform }) : null;
  const asked = aggregate === '' ? [] : places.filter((code) => code.startsWith(GROUP_MARK));
  const known = asked.length === 0 ? new Map<string, DrawnPlace>() : await groupsOf(edition);
  for (const code of asked)
    if (!known.has(code)) problems.add(`There are no figures of a group “${code.slice(0, 60)}”.`);
  const codes = asked.filter((code) => known.has(code));
  const grouped =
    codes.length === 0 ? null : await find({ countries: codes, aggregate, ...(derived && { transform }) });
  const series = await Promise.all(
    entries.map(({ record }, at) => seriesOf(edition, record, derived?.[at], grouped?.[at])),
  );
  const transforms = derived === null ? [] : parsed(transform);
  return {
    series,
    transforms,
    problems: [...problems],
    arePlaces: aggregate !== '',
    formula: derived?.[0]?.derived?.formula ?? null,
    price: Math.max(1, ...(derived ?? []).map((one) => one.derived?.figuresPerRow ?? 1)),
    groups: new Map(grouped === null ? [] : [...known].filter(([code]) => codes.includes(code))),
    filters: {
      ...(grouped && { aggregate }),
      ...(derived && { transform: transforms.map(transformWord).join() }),
    },
  };
}

interface Asked {
  transform?: string | undefined;
  countries?: readonly string[];
  aggregate?: string;
}

/** Where the API has the rows of an indicator, or why it has none, as a sentence. */
async function findOne(
  edition: Edition,
  { record }: CatalogueEntry,
  asked: Asked,
): Promise<FoundRows | string> {
  const { countries, ...rest } = asked;
  const sent = { indicators: [record.id], ...rest, ...(countries && { countries: countries.join() }) };
  const checked = checkValues(data.query, sent);
  const found = checked.ok
    ? await findRows(edition, checked.values)
    : { kind: 'invalid' as const, detail: checked.detail };
  return 'kind' in found ? sentenceOf(found, record) : found;
}

function sentenceOf(refusal: Refused | Invalid, { name }: IndicatorRecord): string {
  if (refusal.kind === 'refused') return refusal.error.message ?? ERRORS[refusal.error.code].message;
  const [detail] = refusal.detail;
  const { type, ctx = {}, msg = '' } = detail ?? {};
  if (type !== 'transform_undefined') return `${msg.replace('Value error, ', 'This makes no sense here: ')}.`;
  const { transform, measure, right_for } = ctx;
  const what = transform === 'aggregate' ? 'A figure of a group' : `“${transform}”`;
  const measures =
    measure === 'other' ? 'nobody has decided what it measures' : `its measure is “${measure}”`;
  return `${what} makes no sense for “${name}”: ${measures}, and this is defined for ${right_for}.`;
}

/** By code, the world first. */
async function groupsOf(edition: Edition): Promise<ReadonlyMap<string, DrawnPlace>> {
  const groups = (await edition.groups())?.groups ?? [];
  const isLater = ({ id }: { id: string }): number => Number(id !== WORLD);
  return new Map(
    groups
      .toSorted((a, b) => isLater(a) - isLater(b) || a.name.localeCompare(b.name, 'en'))
      .map(({ id, name }) => [
        GROUP_MARK + id,
        { code: GROUP_MARK + id, name, path: withQuery('/countries', { group: id }) },
      ]),
  );
}

const WORLD = 'world';

/** @param derived present under transforms; @param grouped present where groups are places */
async function seriesOf(
  edition: Edition,
  record: IndicatorRecord,
  derived: FoundRows | undefined,
  grouped: FoundRows | undefined,
): Promise<ShownSeries> {
  const series = derived
    ? await derivedSeries(edition, record, derived)
    : await publishedSeries(edition, record);
  if (grouped === undefined) return series;
  const filter = { countries: grouped.countries ?? [] };
  const rows = await grouped.source.select(series.record, filter, {});
  const details = await grouped.source.details(series.record, rows, filter);
  return {
    ...series,
    credited: grouped.credited,
    groups: rows.held,
    remarks: new Map([...series.remarks, ...remarksIn(rows, details, series.opening)]),
  };
}

/** It opens on the year that the series does, or else on the newest with an observed figure. */
async function derivedSeries(
  edition: Edition,
  record: IndicatorRecord,
  found: FoundRows,
): Promise<ShownSeries> {
  const { derived, credited, indicators } = found;
  const [result = record] = indicators;
  if (derived === undefined) throw new Error(`${record.id} is not derived`);
  const opening = (await openingYear(edition, record)) ?? 0;
  const asked = await rankDerived(derived, result, opening, opening);
  const { columns, resolved } = hasFigures(asked.columns, opening)
    ? asked
    : await rankDerived(derived, result, null, opening);
  if (record.no_rank) columns.columns.rank.fill(NO_RANK);
  const remarksOn = async (year: number): Promise<ReadonlyMap<string, Remark>> => {
    const rows = new SelectedRows(columns, { from: year, to: year });
    return remarksIn(rows, await derived.rows.details(result, rows), year);
  };
  return {
    record: { ...result, name: titleOf(record.name, parsed(derived.words.join()), credited) },
    credited,
    opening: resolved,
    groups: null,
    isComparable: null,
    columns({ from, to = from }) {
      if (from !== undefined && to !== undefined && !record.no_rank)
        for (let year = from; year <= to; year += 1) rankYear(columns, result, year);
      return columns;
    },
    remarks: await remarksOn(resolved),
    remarksOn,
  };
}

const hasFigures = (held: IndicatorColumns, year: number): boolean =>
  held.countries.some((iso3) => !Number.isNaN(held.columns.value[held.rowOf(iso3, year)] ?? Number.NaN));

const remarksIn = (
  { held, at, country }: SelectedRows,
  details: readonly RowDetail[],
  year: number | null,
): ReadonlyMap<string, Remark> =>
  new Map(
    details.flatMap((detail, row) =>
      held.columns.year[at[row] ?? 0] === year ? [[held.countries[country[row] ?? 0] ?? '', detail]] : [],
    ),
  );

function parsed(words = ''): readonly Transform[] {
  const transforms = parseTransforms(words);
  return Array.isArray(transforms) ? transforms : [];
}

const titleOf = (
  name: string,
  transforms: readonly Transform[],
  [, divisor]: readonly IndicatorRecord[] = [],
): string => [name, ...transforms.map((transform) => titlePart(transform, divisor))].join(', ');

/** What a transform does, in the words of a title. */
function titlePart(transform: Transform, divisor?: IndicatorRecord): string {
  switch (transform.name) {
    case 'change':
      return `change over ${yearsWords(transform.years)}`;
    case 'growth':
      return `growth ${transform.years === 1 ? '' : 'a year '}over ${yearsWords(transform.years)}`;
    case 'index':
      return `relative to ${transform.year}`;
    case 'mean':
      return `mean of ${yearsWords(transform.years)}`;
    case 'per_head':
      return 'per head';
    case 'per':
      return `divided by ${divisor?.name ?? transform.indicator}`;
    case 'share':
      return `share of ${GROUPS.get(transform.group)?.name ?? transform.group}`;
  }
}

const yearsWords = (years: number): string => (years === 1 ? 'a year' : `${years} years`);

interface Choice {
  /** As the address has it. */
  value: string;
  label: string;
  isChosen: boolean;
}

/** Of what pages offer. */
interface Offered {
  /** Choices of transforms, those by year under a label; none where the measure allows none. */
  transforms: { label: string; choices: Choice[] }[];
  /** Groups that can be added as places. */
  groups: DrawnPlace[];
}

/** The longest way back. */
const YEARS_MAX = 100;

/** What makes sense for all of some indicators, and may be exported. @throws {SnapshotUnreadable} */
export async function offeredFigures(
  edition: Edition,
  entries: readonly CatalogueEntry[],
  shown: ShownFigures,
): Promise<Offered> {
  const measured = entries.flatMap(({ record, measured: one }) =>
    one !== null && record.access_tier === 'open' ? [{ record, ...one }] : [],
  );
  if (measured.length === 0 || measured.length < entries.length) return { transforms: [], groups: [] };
  const areOpen = async (ids: readonly (string | null)[]): Promise<boolean> => {
    const found = await Promise.all(ids.map((id) => (id === null ? undefined : edition.indicator(id))));
    return found.every((entry) => entry?.record.access_tier === 'open');
  };
  const hasPopulation = await areOpen(measured.map(({ population }) => population));
  const isAllowed = (chain: readonly Transform[]): boolean =>
    (hasPopulation || chain[0]?.name !== 'per_head') &&
    measured.every((one) => 'measured' in judgeTransforms(chain, one, NO_DIVISORS));
  const openings = await Promise.all(measured.map(({ record }) => openingYear(edition, record)));
  const years = yearsBefore(measured, openings);
  const hasGroups =
    measured.every((one) => one.aggregate !== 'none' && shown.transforms.every(isOfGroups(one))) &&
    (await areOpen(measured.flatMap(({ aggregate, weight }) => (aggregate === 'mean' ? [weight] : []))));
  const groups = hasGroups ? [...(await groupsOf(edition)).values()] : [];
  return {
    transforms: transformChoices(shown, isAllowed, years),
    groups: groups.filter(({ code }) => !shown.groups.has(code)),
  };
}

/** Index and change follow on figures per head where these are shown. */
function transformChoices(
  { transforms, filters }: ShownFigures,
  isAllowed: (chain: readonly Transform[]) => boolean,
  years: readonly YearBefore[],
): Offered['transforms'] {
  const choice = (chain: readonly Transform[], label: string): Choice => {
    const value = chain.map(transformWord).join();
    return { value, label, isChosen: value === (filters.transform ?? '') };
  };
  const perHead: Transform = { name: 'per_head' };
  const before = transforms[0]?.name === 'per_head' ? [perHead] : [];
  const choices = (name: string, each: (year: YearBefore) => [Transform, string]) => {
    const listed = years.map(each).filter(([transform]) => isAllowed([...before, transform]));
    const label = before.length === 0 ? name : `Per head, ${name.toLowerCase()}`;
    return { label, choices: listed.map(([transform, text]) => choice([...before, transform], text)) };
  };
  const single = [choice([], 'As published')];
  if (isAllowed([perHead])) single.push(choice([perHead], 'Per head'));
  const byYear = [
    choices('Index', ({ year }) => [{ name: 'index', year }, `${year} = 100`]),
    choices('Change', ({ year, count }) => [
      { name: 'change', years: count },
      `over ${yearsWords(count)}, since ${year}`,
    ]),
  ].filter((one) => one.choices.length > 0);
  const isListed = [...single, ...byYear.flatMap((one) => one.choices)].some(({ isChosen }) => isChosen);
  if (!isListed) single.push(choice(transforms, transforms.map((one) => titlePart(one)).join(', ')));
  return single.length + byYear.length > 1 ? [{ label: '', choices: single }, ...byYear] : [];
}

const NO_DIVISORS: Parameters<typeof judgeTransforms>[2] = new Map();

interface YearBefore {
  year: number;
  /** Years from it to that year. */
  count: number;
}

/** The years that all have before that on which the page opens, the newest first. */
function yearsBefore(
  series: readonly { record: IndicatorRecord }[],
  openings: readonly (number | null)[],
): YearBefore[] {
  const last = Math.min(...openings.map((year) => year ?? -Infinity));
  const first = Math.max(...series.map(({ record }) => record.coverage?.yr_min ?? Infinity));
  const count = Math.max(0, Math.min(YEARS_MAX, last - first));
  return Array.from({ length: count }, (_, at) => ({ year: last - at - 1, count: at + 1 }));
}
