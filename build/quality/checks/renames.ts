/**
 * Renames that nobody has entered in `data/aliases.csv`: series that vanished since the night before, whose figures stand
 * under another id now. And aliases that cannot work. A finding stands until it is entered or decided.
 */
import { z } from 'zod';
import { readSql } from '../../../data/runtime/sql-files.ts';
import type { IndicatorAlias } from '../../../data/schema/curated.ts';
import type { FoundDoubt, SeriesStatistics } from '../../../data/schema/quality.ts';
import type { CheckContext, QualityCheck } from '../check.ts';

const REAPPEARED = readSql(import.meta.url, 'sql/reappeared.sql');

/** Share of the vanished figures that must stand under the new id: a rename may come with a revision. */
const SAME_SHARE = 0.8;
/** Fewer figures may be the same by chance. */
const FEWEST_FIGURES = 5;

interface Pair {
  old: string;
  new: string;
}
const reappeared = z.object({ old: z.string(), new: z.string(), equal: z.int() });

const providerOf = (id: string): string => id.slice(0, id.indexOf('.'));

const pairKey = ({ old, new: now }: Pair): string => `${old} ${now}`;

/** A vanished series and those that may be it: equal figures, or a new one of its provider of about its size. */
function candidatesOf(context: CheckContext, old: string, before: SeriesStatistics): string[] {
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
function vanishedSeries({ before, series, withheld, curated }: CheckContext): [string, SeriesStatistics][] {
  const entered = new Set(curated.aliases.map(({ old }) => old));
  return [...before].flatMap(([id, { statistics }]): [string, SeriesStatistics][] => {
    const isGone = !series.has(id) && !withheld.has(id) && !entered.has(id);
    return isGone && statistics.values >= FEWEST_FIGURES ? [[id, statistics]] : [];
  });
}

async function renamed(context: CheckContext): Promise<FoundDoubt[]> {
  const vanished = new Map(vanishedSeries(context));
  const pairs = [...vanished].flatMap(([old, statistics]) =>
    candidatesOf(context, old, statistics).map((now): Pair => ({ old, new: now })),
  );
  if (pairs.length === 0) return [];
  const rows = await context.duck.rows(REAPPEARED, {
    pairs: JSON.stringify(pairs),
    vanished: context.filesBefore([...new Set(pairs.map(({ old }) => old))]),
    files: context.files([...new Set(pairs.map((pair) => pair.new))]),
  });
  return z
    .array(reappeared)
    .parse(rows)
    .flatMap(({ old, new: now, equal }) => {
      const figures = vanished.get(old)?.values ?? 0;
      const share = equal / figures;
      if (share < SAME_SHARE) return [];
      const message = `${equal} of ${figures} figures of ${old}, which vanished, stand under ${now}: a rename for data/aliases.csv?`;
      return [renameDoubt({ old, new: now }, Math.floor(100 * share), message)];
    });
}

const renameDoubt = ({ old, new: now }: Pair, extent: number, message: string): FoundDoubt => ({
  kind: 'series_renamed',
  provider: providerOf(now),
  indicator: now,
  other: old,
  countries: [],
  years: null,
  extent,
  message,
});

/** What earlier nights found, while the old series is away and the new one is there. */
function standing({ known, series, withheld, curated }: CheckContext): FoundDoubt[] {
  const entered = new Set(curated.aliases.map(({ old, new: now }) => pairKey({ old, new: now })));
  return known.flatMap(({ kind, indicator: now, other: old, extent, message }) => {
    if (kind !== 'series_renamed' || now === null || old === null) return [];
    const pair = { old, new: now };
    const holds = series.has(now) && !series.has(old) && !withheld.has(old) && !entered.has(pairKey(pair));
    return holds ? [renameDoubt(pair, extent, message)] : [];
  });
}

/** Aliases whose old id is in use or was never published, or whose new id names no series. */
function unfitAliases(context: CheckContext): FoundDoubt[] {
  return context.curated.aliases.flatMap((alias) => {
    const message = faultOf(alias, context);
    if (message === null) return [];
    const about = { provider: providerOf(alias.new), indicator: alias.new, other: alias.old };
    return [{ kind: 'alias_unfit' as const, ...about, countries: [], years: null, extent: 1, message }];
  });
}

function faultOf(alias: IndicatorAlias, context: CheckContext): string | null {
  const { old, new: now } = alias;
  const { series, withheld } = context;
  if (series.has(old) || withheld.has(old))
    return `${old} is a former id of ${now} by data/aliases.csv, and is the id of a series today.`;
  if (!series.has(now) && !withheld.has(now))
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
  looksBeyond: true,
  kinds: ['series_renamed', 'alias_unfit'],
  async find(context) {
    const found = [...(await renamed(context)), ...standing(context)];
    const byPair = new Map(found.map((doubt) => [`${doubt.indicator} ${doubt.other}`, doubt]));
    return [...byPair.values(), ...unfitAliases(context)];
  },
};
