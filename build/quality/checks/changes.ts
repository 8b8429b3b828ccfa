/**
 * What changed against the night before.
 *
 * - What got worse: countries, values or projection flags lost, an earlier newest year, a rewritten past. A finding stands until
 *   the figures change again; lost countries and years until they are back.
 * - Labels that changed while the figures stayed, and figures that moved while the label stayed.
 * - Renames that nobody has entered in `data/aliases.csv`: series that vanished, whose figures stand under another id now.
 *   And aliases that cannot work. A finding stands until it is entered or decided.
 */
import { z } from 'zod';
import { inBatches } from '../../../data/runtime/in-parallel.ts';
import { sqlOf } from '../../../data/runtime/sql-files.ts';
import type { IndicatorAlias } from '../../../data/schema/curated.ts';
import type { FoundDoubt, SeriesStatistics } from '../../../data/schema/quality.ts';
import type { QualityKindName } from '../../../data/schema/quality-kinds.ts';
import { type IndicatorRecord, iso3 } from '../../../data/schema/records.ts';
import { providerOf } from '../../../data/schema/snapshot.ts';
import {
  type CheckContext,
  type CheckedSeries,
  counted,
  countryName,
  doubtAbout,
  figure,
  type QualityCheck,
  quote,
} from '../check.ts';

const sql = sqlOf(import.meta.url);

/** Revisions of single values stay below. */
const TOLERANCE = 0.05;
/** Share of the past values beyond the tolerance from which a series counts as rewritten. */
const REWRITTEN_SHARE = 0.25;
const FEWEST_CHANGED = 10;
/** A new edition observes one year more, or two. */
const MOST_YEARS_AT_ONCE = 2;
/** Names of lost countries in a message. */
const MOST_NAMES = 10;
/** Values compared at once, which bounds memory. */
const BATCH_VALUES = 1_000_000;

const change = z.object({
  id: z.string(),
  lost: z.array(iso3),
  present: z.array(iso3),
  common: z.int(),
  changed: z.int(),
  different: z.int(),
  slipped: z.int(),
  moved: z.int(),
  stale: z.int(),
  rewrites_year: z.boolean(),
  gone: z.int(),
  gone_countries: z.array(iso3),
  size: z.number().nullable(),
  first_year: z.int().nullable(),
  last_year: z.int().nullable(),
  worst: z.object({ iso3, year: z.int(), old: z.number(), new: z.number() }).nullable(),
  rewritten: z.array(iso3),
});
type Change = z.infer<typeof change>;

/** What is known of a series from the nights before, by kind. */
type Known = ReadonlyMap<QualityKindName, FoundDoubt>;

function lostPlaces(
  { curated }: CheckContext,
  series: CheckedSeries,
  found: Change,
  known: Known,
): FoundDoubt[] {
  const earlier = known.get('series_places_lost')?.countries ?? [];
  const lost = [...new Set([...found.lost, ...earlier.filter((one) => !found.present.includes(one))])].sort();
  if (lost.length === 0) return [];
  const names = lost.slice(0, MOST_NAMES).map((one) => countryName(curated, one));
  const more = lost.length > MOST_NAMES ? ` and ${lost.length - MOST_NAMES} more` : '';
  const message = `${counted(lost.length, 'country has', 'countries have')} no value any more: ${names.join(', ')}${more}.`;
  return [doubtAbout('series_places_lost', series.record.id, message, lost.length, { countries: lost })];
}

/** Values of countries that still have others. */
function lostValues(series: CheckedSeries, { gone, gone_countries: countries }: Change): FoundDoubt[] {
  if (gone === 0) return [];
  const message = `${counted(gone, 'value is', 'values are')} gone, of ${counted(countries.length, 'country that still has', 'countries that still have')} others.`;
  return [doubtAbout('values_lost', series.record.id, message, gone, { countries })];
}

/** What happened to the past, in one sentence; null for revisions of single values. */
function describeRewriting(found: Change, example: string): { message: string; extent: number } | null {
  const { common, changed, different, size, moved, stale, slipped, rewritten, rewrites_year } = found;
  const all = `of ${figure(common)} values`;
  if (moved > 0)
    return {
      message: `${figure(moved)} ${all} are now those of the year before: ${example}.`,
      extent: different,
    };
  const isWhole = changed >= FEWEST_CHANGED && changed >= REWRITTEN_SHARE * common;
  if (isWhole || rewritten.length > 0 || rewrites_year || slipped > 0) {
    const typical = size === null ? '' : `, typically by a factor of ${figure(10 ** size)}`;
    return {
      message: `${figure(changed)} ${all} changed by more than 5 %${typical}: ${example}.`,
      extent: changed,
    };
  }
  if (stale === 0) return null;
  return {
    message: `${figure(stale)} ${all} repeat the year before, and did not: ${example}.`,
    extent: stale,
  };
}

function rewrittenHistory({ curated }: CheckContext, series: CheckedSeries, found: Change): FoundDoubt[] {
  const { first_year, last_year, worst, rewritten } = found;
  if (first_year === null || last_year === null || !worst) return [];
  const { iso3: country, year, old, new: now } = worst;
  const example = `${countryName(curated, country)} ${year} from ${figure(old)} to ${figure(now)}`;
  const told = describeRewriting(found, example);
  if (!told) return [];
  const more = { countries: rewritten, years: [first_year, last_year] as [number, number] };
  return [doubtAbout('history_rewritten', series.record.id, told.message, told.extent, more)];
}

function earlierNewestYear(series: CheckedSeries, before: number | null, known: Known): FoundDoubt[] {
  const now = series.statistics.latest_year;
  const had = Math.max(before ?? -Infinity, known.get('newest_year_back')?.years?.[1] ?? -Infinity);
  if (now === null || now >= had) return [];
  const message = `The newest observed year is ${now}; before it was ${had}.`;
  return [doubtAbout('newest_year_back', series.record.id, message, had - now, { years: [now, had] })];
}

/** Figures that were projected and count as observed, although they are the same, or years cannot pass so fast. */
function unflagged(context: CheckContext, series: CheckedSeries, known: Known): FoundDoubt[] {
  const before = context.before.get(series.record.id)?.statistics;
  const now = series.statistics;
  const earlier = known.get('projections_unflagged');
  const found = (before?.projected ?? 0) - now.projected;
  if (earlier && found >= 0) return [earlier];
  if (!before || found <= 0 || before.newest_projected_year === null) return [];
  const first = (before.latest_year ?? before.newest_projected_year) + 1;
  const years = (now.latest_year ?? -Infinity) - first + 1;
  const isImpossible = now.digest === before.digest || years > MOST_YEARS_AT_ONCE;
  if (!isImpossible || (now.latest_year ?? Infinity) > before.newest_projected_year) return [];
  const message = `${counted(found, 'row that was projected counts', 'rows that were projected count')} as observed, up to ${now.latest_year}.`;
  const flagged: [number, number] = [
    Math.min(first, before.newest_projected_year),
    before.newest_projected_year,
  ];
  return [doubtAbout('projections_unflagged', series.record.id, message, found, { years: flagged })];
}

function isChanged({ before }: CheckContext, { record, statistics }: CheckedSeries): boolean {
  const old = before.get(record.id)?.statistics;
  return old !== undefined && old.digest !== statistics.digest;
}

async function findChanges(context: CheckContext): Promise<FoundDoubt[]> {
  const known = Map.groupBy(
    context.known.filter(({ kind }) => KINDS.includes(kind)),
    ({ indicator }) => indicator,
  );
  const knownOf = (id: string): Known => new Map((known.get(id) ?? []).map((one) => [one.kind, one]));
  const doubts: FoundDoubt[] = [];
  const all = [...context.series.values()];
  const changed = all.filter((one) => isChanged(context, one));
  for (const batch of inBatches(changed, BATCH_VALUES, ({ statistics }) => statistics.values)) {
    const ids = batch.map(({ record }) => record.id);
    const rows = await context.duck.select(change, sql('changes-since'), {
      files: context.files(ids),
      files_before: context.filesBefore(ids),
      tolerance: TOLERANCE,
    });
    const byId = new Map(rows.map((row) => [row.id, row]));
    for (const series of batch) {
      const { id } = series.record;
      const [found, earlier] = [byId.get(id), knownOf(id)];
      if (found)
        doubts.push(
          ...lostPlaces(context, series, found, earlier),
          ...lostValues(series, found),
          ...rewrittenHistory(context, series, found),
        );
      doubts.push(
        ...earlierNewestYear(series, context.before.get(id)?.statistics.latest_year ?? null, earlier),
      );
    }
  }
  return [
    ...doubts,
    ...all.flatMap((series) => unflagged(context, series, knownOf(series.record.id))),
    ...all
      .filter((series) => !isChanged(context, series))
      .flatMap(({ record }) => [...knownOf(record.id).values()])
      .filter(({ kind }) => kind !== 'projections_unflagged'),
  ];
}

const KINDS: readonly QualityKindName[] = [
  'series_places_lost',
  'values_lost',
  'history_rewritten',
  'newest_year_back',
  'projections_unflagged',
];

export const sinceYesterday: QualityCheck = { kinds: KINDS, find: findChanges };

const LABEL = ['name', 'unit', 'description', 'topic', 'higher_is_better'] as const;

/** A new edition moves the median of a series by less; a change of unit, scale or population by more. */
const LEVEL_FACTOR = 1.5;
/** Fewer values have no steady median. */
const MIN_VALUES = 30;

const told = (value: string | boolean | null): string =>
  value === null ? 'nothing' : quote(String(value).slice(0, 80));

function labelChanged(before: IndicatorRecord, now: IndicatorRecord): FoundDoubt[] {
  const changed = LABEL.filter((field) => before[field] !== now[field]);
  if (changed.length === 0) return [];
  const parts = changed.map((field) => `${field} was ${told(before[field])}, is ${told(now[field])}`);
  return [
    doubtAbout('label_changed', now.id, `The figures are the same, but ${parts.join('; ')}.`, changed.length),
  ];
}

type Quartiles = Pick<SeriesStatistics, 'q1' | 'median' | 'q3'>;

/** The factor by which the quartiles moved together; 1 when they did not. */
export function levelFactor(before: Quartiles, now: Quartiles): number {
  const quartiles = ['q1', 'median', 'q3'] as const;
  const factors = quartiles.flatMap((name) => {
    const [a, b] = [before[name], now[name]];
    return a === null || b === null || a * b <= 0 ? [] : [Math.log(b / a)];
  });
  const least = Math.min(...factors.map(Math.abs));
  const isShift =
    factors.length === quartiles.length && (factors.every((f) => f > 0) || factors.every((f) => f < 0));
  return isShift ? Math.exp(least) : 1;
}

function levelChanged(id: string, before: SeriesStatistics, now: SeriesStatistics): FoundDoubt[] {
  if (Math.min(before.values, now.values) < MIN_VALUES) return [];
  const factor = levelFactor(before, now);
  if (factor < LEVEL_FACTOR) return [];
  const message = `The median was ${figure(before.median ?? 0)} and is ${figure(now.median ?? 0)}, with the same name and unit.`;
  return [doubtAbout('level_changed', id, message, Math.round(factor * 100) / 100)];
}

async function findLabelChanges({ series, before }: CheckContext): Promise<FoundDoubt[]> {
  return [...series.values()].flatMap(({ record, statistics }) => {
    const previous = before.get(record.id);
    if (!previous) return [];
    if (previous.statistics.digest === statistics.digest) return labelChanged(previous.record, record);
    const isLabelled = previous.record.name === record.name && previous.record.unit === record.unit;
    return isLabelled ? levelChanged(record.id, previous.statistics, statistics) : [];
  });
}

export const labelChanges: QualityCheck = {
  kinds: ['label_changed', 'level_changed'],
  find: findLabelChanges,
};

/** Share of the vanished figures that must stand under the new id: a rename may come with a revision. */
const SAME_SHARE = 0.8;
/** Fewer figures may be the same by chance. */
const FEWEST_FIGURES = 5;

interface Pair {
  old: string;
  new: string;
}
const reappeared = z.object({ old: z.string(), new: z.string(), equal: z.int() });

const pairKey = ({ old, new: now }: Pair): string => `${old} ${now}`;

/** A vanished series and those that may be it: equal figures, or a new one of its provider of about its size. */
function findCandidates(context: CheckContext, old: string, before: SeriesStatistics): string[] {
  const provider = providerOf(old);
  return [...context.series.values()].flatMap(({ record: { id }, statistics: now }) => {
    const isNew = !context.before.has(id);
    const isOwn = providerOf(id) === provider;
    const isSame = now.digest === before.digest && (isNew || isOwn);
    return isSame || (isNew && isOwn && isSimilar(before, now)) ? [id] : [];
  });
}

/** Whether enough figures can be the same. */
const isSimilar = (before: SeriesStatistics, now: SeriesStatistics): boolean =>
  now.values >= SAME_SHARE * before.values &&
  now.countries >= SAME_SHARE * before.countries &&
  (now.first_year ?? 0) <= (before.last_year ?? 0) &&
  (now.last_year ?? 0) >= (before.first_year ?? 0);

/** Series of the night before that are gone, and not because somebody took them away. */
function vanishedSeries({
  before,
  published,
  withheld,
  curated,
}: CheckContext): [string, SeriesStatistics][] {
  const entered = new Set(curated.aliases.map(({ old }) => old));
  return [...before].flatMap(([id, { statistics }]): [string, SeriesStatistics][] => {
    const isGone = !published.has(id) && !withheld.has(id) && !entered.has(id);
    return isGone && statistics.values >= FEWEST_FIGURES ? [[id, statistics]] : [];
  });
}

async function renamed(context: CheckContext): Promise<FoundDoubt[]> {
  const vanished = new Map(vanishedSeries(context));
  const pairs = [...vanished].flatMap(([old, statistics]) =>
    findCandidates(context, old, statistics).map((now): Pair => ({ old, new: now })),
  );
  if (pairs.length === 0) return [];
  const rows = await context.duck.select(reappeared, sql('reappeared'), {
    pairs: JSON.stringify(pairs),
    vanished: context.filesBefore([...new Set(pairs.map(({ old }) => old))]),
    files: context.files([...new Set(pairs.map((pair) => pair.new))]),
  });
  return rows.flatMap(({ old, new: now, equal }) => {
    const figures = vanished.get(old)?.values ?? 0;
    const share = equal / figures;
    if (share < SAME_SHARE) return [];
    const message = `${equal} of ${figures} figures of ${old}, which vanished, stand under ${now}: a rename for data/aliases.csv?`;
    return [doubtAbout('series_renamed', now, message, Math.floor(100 * share), { other: old })];
  });
}

/** What earlier nights found, while the old series is away and the new one is there. */
function standing({ known, published, withheld, curated }: CheckContext): FoundDoubt[] {
  const entered = new Set(curated.aliases.map(({ old, new: now }) => pairKey({ old, new: now })));
  return known.flatMap(({ kind, indicator: now, other: old, extent, message }) => {
    if (kind !== 'series_renamed' || now === null || old === null) return [];
    const pair = { old, new: now };
    const holds =
      published.has(now) && !published.has(old) && !withheld.has(old) && !entered.has(pairKey(pair));
    return holds ? [doubtAbout('series_renamed', now, message, extent, { other: old })] : [];
  });
}

/** Aliases whose old id is in use or was never published, or whose new id names no series. */
function unfitAliases(context: CheckContext): FoundDoubt[] {
  return context.curated.aliases.flatMap((alias) => {
    const message = findFault(alias, context);
    return message === null ? [] : [doubtAbout('alias_unfit', alias.new, message, 1, { other: alias.old })];
  });
}

function findFault(alias: IndicatorAlias, context: CheckContext): string | null {
  const { old, new: now } = alias;
  const { published, withheld } = context;
  if (published.has(old) || withheld.has(old))
    return `${old} is a former id of ${now} by data/aliases.csv, and is the id of a series today.`;
  if (!published.has(now) && !withheld.has(now))
    return `data/aliases.csv leads from ${old} to ${now}, which is not there.`;
  return wasPublished(alias, context)
    ? null
    : `data/aliases.csv leads from ${old} to ${now}, but no snapshot had ${old}: is it misspelt?`;
}

/** Nothing is known of a rename before the oldest snapshot: it may have happened elsewhere. */
const wasPublished = (
  { old, since }: IndicatorAlias,
  { before, departed, firstDate }: CheckContext,
): boolean => firstDate === null || since <= firstDate || before.has(old) || departed.has(old);

export const renames: QualityCheck = {
  kinds: ['series_renamed', 'alias_unfit'],
  async find(context) {
    const found = [...(await renamed(context)), ...standing(context)];
    const byPair = new Map(found.map((doubt) => [`${doubt.indicator} ${doubt.other}`, doubt]));
    return [...byPair.values(), ...unfitAliases(context)];
  },
};
