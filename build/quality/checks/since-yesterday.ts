/**
 * What got worse against the night before: countries or projection flags lost, an earlier newest year, a rewritten past.
 *
 * A finding stands until the figures change again; lost countries and years until they are back.
 */
import { z } from 'zod';
import { readSql } from '../../../data/runtime/sql-files.ts';
import type { FoundDoubt } from '../../../data/schema/quality.ts';
import type { QualityKindName } from '../../../data/schema/quality-kinds.ts';
import { iso3 } from '../../../data/schema/records.ts';
import type { CheckContext, CheckedSeries, QualityCheck } from '../check.ts';
import { counted, countryName, figure } from '../wording.ts';

const CHANGES = readSql(import.meta.url, 'sql/changes-since.sql');

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
  size: z.number().nullable(),
  first_year: z.int().nullable(),
  last_year: z.int().nullable(),
  worst: z.object({ iso3, year: z.int(), old: z.number(), new: z.number() }).nullable(),
  rewritten: z.array(iso3),
});
type Change = z.infer<typeof change>;

const doubt = (
  { planned, record }: CheckedSeries,
  kind: QualityKindName,
  rest: Pick<FoundDoubt, 'countries' | 'years' | 'extent' | 'message'>,
): FoundDoubt => ({ kind, provider: planned.providerId, indicator: record.id, other: null, ...rest });

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
  return [
    doubt(series, 'series_places_lost', { countries: lost, years: null, extent: lost.length, message }),
  ];
}

function rewrittenHistory({ curated }: CheckContext, series: CheckedSeries, found: Change): FoundDoubt[] {
  const { common, changed, size, first_year, last_year, worst, rewritten } = found;
  const isWhole = changed >= FEWEST_CHANGED && changed >= REWRITTEN_SHARE * common;
  if (!(isWhole || rewritten.length > 0) || first_year === null || last_year === null || !worst) return [];
  const share = `${figure(changed)} of ${figure(common)} values changed by more than 5 %`;
  const typical = size === null ? '' : `, typically by a factor of ${figure(10 ** size)}`;
  const { iso3: country, year, old, new: now } = worst;
  const example = `${countryName(curated, country)} ${year} from ${figure(old)} to ${figure(now)}`;
  return [
    doubt(series, 'history_rewritten', {
      countries: rewritten,
      years: [first_year, last_year],
      extent: changed,
      message: `${share}${typical}: ${example}.`,
    }),
  ];
}

function earlierNewestYear(series: CheckedSeries, before: number | null, known: Known): FoundDoubt[] {
  const now = series.statistics.latest_year;
  const had = Math.max(before ?? -Infinity, known.get('newest_year_back')?.years?.[1] ?? -Infinity);
  if (now === null || now >= had) return [];
  const message = `The newest observed year is ${now}; before it was ${had}.`;
  return [
    doubt(series, 'newest_year_back', { countries: [], years: [now, had], extent: had - now, message }),
  ];
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
  return [
    doubt(series, 'projections_unflagged', {
      countries: [],
      years: [Math.min(first, before.newest_projected_year), before.newest_projected_year],
      extent: found,
      message,
    }),
  ];
}

function isChanged({ before }: CheckContext, { record, statistics }: CheckedSeries): boolean {
  const old = before.get(record.id)?.statistics;
  return old !== undefined && old.digest !== statistics.digest;
}

/** Series whose figures differ from the night before, in batches of bounded size. */
function changedSeries(context: CheckContext): CheckedSeries[][] {
  const batches: CheckedSeries[][] = [];
  let room = 0;
  for (const one of context.series.values()) {
    if (!isChanged(context, one)) continue;
    room -= one.statistics.values;
    const batch = batches.at(-1);
    if (batch && room >= 0) batch.push(one);
    else {
      batches.push([one]);
      room = BATCH_VALUES - one.statistics.values;
    }
  }
  return batches;
}

async function findChanges(context: CheckContext): Promise<FoundDoubt[]> {
  const known = Map.groupBy(
    context.known.filter(({ kind }) => KINDS.includes(kind)),
    ({ indicator }) => indicator,
  );
  const knownOf = (id: string): Known => new Map((known.get(id) ?? []).map((one) => [one.kind, one]));
  const doubts: FoundDoubt[] = [];
  for (const batch of changedSeries(context)) {
    const ids = batch.map(({ record }) => record.id);
    const rows = await context.duck.rows(CHANGES, {
      files: context.files(ids),
      files_before: context.filesBefore(ids),
      tolerance: TOLERANCE,
    });
    const byId = new Map(
      z
        .array(change)
        .parse(rows)
        .map((row) => [row.id, row]),
    );
    for (const series of batch) {
      const { id } = series.record;
      const [found, earlier] = [byId.get(id), knownOf(id)];
      if (found)
        doubts.push(
          ...lostPlaces(context, series, found, earlier),
          ...rewrittenHistory(context, series, found),
        );
      doubts.push(
        ...earlierNewestYear(series, context.before.get(id)?.statistics.latest_year ?? null, earlier),
      );
    }
  }
  const all = [...context.series.values()];
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
  'history_rewritten',
  'newest_year_back',
  'projections_unflagged',
];

export const sinceYesterday: QualityCheck = { looksBeyond: true, kinds: KINDS, find: findChanges };
