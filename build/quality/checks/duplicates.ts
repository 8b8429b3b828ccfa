/**
 * Equal figures under two names: where nothing says that the series are one concept, or where their labels contradict each
 * other. Providers publish one statistic under their own names; equal figures must mean the same thing in the same unit.
 */
import { listValue } from '@duckdb/node-api';
import { z } from 'zod';
import { sqlOf } from '../../../data/runtime/sql-files.ts';
import type { FoundDoubt } from '../../../data/schema/quality.ts';
import {
  type CheckContext,
  type CheckedSeries,
  doubtAbout,
  figure,
  type QualityCheck,
  quote,
} from '../check.ts';
import { contradictions, magnitudeOf, readClaims, sharesWords } from '../label-vocabulary.ts';
import { twinPairs } from './twins.ts';

const sql = sqlOf(import.meta.url);

/** Copies differ in a few revised or rounded values. */
const EQUAL_SHARE = 0.9;

const pair = z.object({ a: z.string(), b: z.string() });
const comparison = pair.extend({ common: z.int(), equal: z.int() });

/** Fewer equal figures may be chance. */
const FEWEST_VALUES = 20;

/** Pairs of which all figures are equal, down to the last digit: scores and classes as well. */
function equalDigests({ series }: CheckContext): z.infer<typeof pair>[] {
  const large = [...series.values()].filter(({ statistics }) => statistics.values >= FEWEST_VALUES);
  const groups = Map.groupBy(large, ({ statistics }) => statistics.digest);
  return [...groups.values()].flatMap((group) => {
    const ids = group.map(({ record }) => record.id).sort();
    return ids.flatMap((a, at) => ids.slice(at + 1).map((b) => ({ a, b })));
  });
}

async function findDuplicates(context: CheckContext): Promise<FoundDoubt[]> {
  const { series } = context;
  const linked = new Set(twinPairs(context).map(({ a, b }) => `${a.record.id} ${b.record.id}`));
  const found = [...(await context.duck.select(pair, sql('equal-latest'))), ...equalDigests(context)];
  const candidates = [...new Map(found.map((one) => [`${one.a} ${one.b}`, one]))]
    .filter(([key, { a, b }]) => !linked.has(key) && series.has(a) && series.has(b))
    .map(([, one]) => one);
  if (candidates.length === 0) return [];
  const ids = [...new Set(candidates.flatMap(({ a, b }) => [a, b]))];
  const rows = await context.duck.select(comparison, sql('equal-figures'), {
    a: listValue(candidates.map(({ a }) => a)),
    b: listValue(candidates.map(({ b }) => b)),
    files: context.files(ids),
  });
  return rows
    .filter(({ common, equal }) => equal >= EQUAL_SHARE * common)
    .map(({ a, b, common, equal }) => {
      const [one, other] = [a, b].map((id) => series.get(id)?.record.name);
      const message = `"${one}" and "${other}" are equal in ${figure(equal)} of ${figure(common)} common values.`;
      return doubtAbout('duplicate_series', a, message, equal, { other: b });
    });
}

export const duplicates: QualityCheck = { kinds: ['duplicate_series'], find: findDuplicates };

/** Fewer equal figures may be chance. */
const MIN_EQUAL = 20;
const MIN_DIFFERENT = 10;
/** Series that are revised differ in some figures; series of different statistics share next to none. */
const MIN_SHARE = 0.5;

const samePair = z.object({
  a: z.string(),
  b: z.string(),
  equal: z.int(),
  common: z.int(),
  /** Powers of ten by which b is greater than a. */
  shift: z.int(),
  first_year: z.int(),
  last_year: z.int(),
});
type SamePair = z.infer<typeof samePair>;

const labelOf = ({ record: { name, unit } }: CheckedSeries): string =>
  unit === null ? name : `${name}, ${unit}`;

/** Beyond this share, names without a common word contradict each other. */
const NEARLY_ALL = 0.9;

/** Why two labels cannot stand for the same figures. */
function differences(a: CheckedSeries, b: CheckedSeries, share: number): string[] {
  const found = contradictions(readClaims(labelOf(a)), readClaims(labelOf(b)));
  const parts = found.map(
    ({ aspect, a: ours, b: theirs }) => `${aspect} ${quote(ours)} and ${quote(theirs)}`,
  );
  const isOther =
    share >= NEARLY_ALL &&
    !sharesWords(a.record.name, b.record.name) &&
    !sharesWords(b.record.name, a.record.name);
  return isOther ? [...parts, 'no common word'] : parts;
}

function pairDoubts(pair: SamePair, a: CheckedSeries, b: CheckedSeries): FoundDoubt[] {
  const share = pair.equal / pair.common;
  const hundredths = Math.floor(share * 100);
  const about = `${hundredths} % of ${pair.common} common figures are the same`;
  const names = `${quote(labelOf(a))} and ${quote(labelOf(b))}`;
  const more = { other: pair.b, years: [pair.first_year, pair.last_year] as [number, number] };
  const found: FoundDoubt[] = [];
  const parts = differences(a, b, share);
  if (parts.length > 0) {
    const message = `${names}: ${about}, but the labels differ: ${parts.join('; ')}.`;
    found.push(doubtAbout('same_figures_other_label', pair.a, message, hundredths, more));
  }
  const expected = magnitudeOf(a.record.unit ?? '') - magnitudeOf(b.record.unit ?? '');
  if (pair.shift !== expected) {
    const message = `${names}: ${about} but for a factor of 10^${pair.shift}, where the units imply 10^${expected}.`;
    const extent = Math.abs(pair.shift - expected);
    found.push(doubtAbout('scale_contradicts_unit', pair.a, message, extent, more));
  }
  return found;
}

async function findSame({ duck, series, files }: CheckContext): Promise<FoundDoubt[]> {
  if (series.size < 2) return [];
  const rows = await duck.select(samePair, sql('same-figures'), {
    files: files([...series.keys()]),
    min_equal: MIN_EQUAL,
    min_different: MIN_DIFFERENT,
    min_share: MIN_SHARE,
  });
  return rows.flatMap((pair) => {
    const [a, b] = [series.get(pair.a), series.get(pair.b)];
    return a && b ? pairDoubts(pair, a, b) : [];
  });
}

export const sameFigures: QualityCheck = {
  kinds: ['same_figures_other_label', 'scale_contradicts_unit'],
  find: findSame,
};
