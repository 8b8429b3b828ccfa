/** Series of one concept whose figures differ: by a power of ten, by a year, or by more than revisions explain. */
import { listValue } from '@duckdb/node-api';
import { z } from 'zod';
import { readSql } from '../../../data/runtime/sql-files.ts';
import type { FoundDoubt } from '../../../data/schema/quality.ts';
import type { QualityKindName } from '../../../data/schema/quality-kinds.ts';
import { iso3 } from '../../../data/schema/records.ts';
import type { CheckContext, QualityCheck } from '../check.ts';
import { twinPairs } from '../twin-pairs.ts';
import { counted, countryName, figure } from '../wording.ts';

const TWIN_FIGURES = readSql(import.meta.url, 'sql/twin-figures.sql');

/** Common years of a country from which its level, and its best shift, can be told. */
const FEWEST_YEARS = 3;
const FEWEST_SHIFTABLE_YEARS = 6;
/** How near a ratio must be to a power of ten, in powers of ten. */
const POWER_TOLERANCE = 0.1;
/** A shift counts when it leaves at most this part of the distance. */
const SHIFT_REMAINDER = 0.2;
/** Part of the countries that must agree better when shifted: a few do so by chance. */
const FEWEST_SHIFTED = 0.05;
/** Distances below are rounding, and nothing is left to explain. */
const ROUNDING = 0.0005;
/** Editions of one source differ by a few per cent in their latest years. */
const REVISION = 0.1;
/** A country that is this many times as far apart as is typical of the pair, and by more than half. */
const UNUSUAL = 10;
const HALF = 0.5;

const row = z.object({
  a: z.string(),
  b: z.string(),
  iso3,
  n: z.int(),
  n_shiftable: z.int(),
  here: z.number().nullable(),
  before: z.number().nullable(),
  after: z.number().nullable(),
  size: z.number().nullable(),
  latest: z.object({ year: z.int(), a: z.number(), b: z.number(), distance: z.number() }),
});
type Row = z.infer<typeof row>;

interface Twins {
  a: string;
  b: string;
  countries: Row[];
}

/** Null for an empty list. */
function median(values: readonly number[]): number | null {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? null;
}

function pairDoubt(
  context: CheckContext,
  kind: QualityKindName,
  { a, b }: Twins,
  found: readonly Row[],
  what: string,
): FoundDoubt[] {
  const [worst] = found.toSorted((x, y) => y.latest.distance - x.latest.distance);
  if (!worst) return [];
  const { year, a: first, b: second } = worst.latest;
  const values = `${countryName(context.curated, worst.iso3)} ${year} is ${figure(first)} in ${a} and ${figure(second)} in ${b}`;
  return [
    {
      kind,
      provider: context.series.get(a)?.planned.providerId ?? '',
      indicator: a,
      other: b,
      countries: found.map((one) => one.iso3).sort(),
      years: null,
      extent: found.length,
      message: `${what}: ${values}.`,
    },
  ];
}

/** Countries that differ by a power of ten; of the whole pair when most do. */
function differentScale(context: CheckContext, twins: Twins): FoundDoubt[] {
  const found = twins.countries.filter(({ n, size }) => {
    const decades = Math.round(Math.abs(size ?? 0));
    return n >= FEWEST_YEARS && decades >= 1 && Math.abs(Math.abs(size ?? 0) - decades) <= POWER_TOLERANCE;
  });
  const all = counted(found.length, 'country differs', 'countries differ');
  const factor = 10 ** Math.round(Math.abs(median(found.map(({ size }) => size ?? 0)) ?? 0));
  return pairDoubt(context, 'twin_scale', twins, found, `${all} by a factor of ${figure(factor)}`);
}

/** Countries that agree with the year before or after in the other series. */
function shifted(context: CheckContext, twins: Twins): FoundDoubt[] {
  const found = twins.countries.filter(({ n_shiftable, here, before, after }) => {
    const best = Math.min(before ?? Infinity, after ?? Infinity);
    return (
      n_shiftable >= FEWEST_SHIFTABLE_YEARS &&
      here !== null &&
      here > 2 * ROUNDING &&
      best <= Math.max(SHIFT_REMAINDER * here, Math.min(ROUNDING, here / 2))
    );
  });
  const comparable = twins.countries.filter(({ n_shiftable }) => n_shiftable >= FEWEST_SHIFTABLE_YEARS);
  if (found.length < FEWEST_SHIFTED * comparable.length) return [];
  const earlier = found.filter(({ before, after }) => (before ?? Infinity) < (after ?? Infinity)).length;
  const direction = earlier * 2 > found.length ? 'earlier' : 'later';
  const all = counted(found.length, 'country agrees', 'countries agree');
  return pairDoubt(
    context,
    'twin_shift',
    twins,
    found,
    `${all} with the value a year ${direction} in ${twins.b}`,
  );
}

/** Latest common values apart: all of a pair that never agrees, or single countries of one that does. */
function disagreeing(context: CheckContext, twins: Twins, told: readonly FoundDoubt[]): FoundDoubt[] {
  const explained = new Set(told.flatMap(({ countries }) => countries));
  const rest = twins.countries.filter((one) => !explained.has(one.iso3));
  const typical = median(rest.map(({ latest }) => latest.distance)) ?? 0;
  const limit = typical > REVISION ? REVISION : Math.max(HALF, UNUSUAL * typical);
  const found = rest.filter(({ latest }) => latest.distance > limit);
  const all = counted(found.length, 'country differs', 'countries differ');
  const by = `by more than ${figure(limit * 100)} % in the latest common year`;
  return pairDoubt(context, 'twin_disagreement', twins, found, `${all} ${by}`);
}

async function findDisagreements(context: CheckContext): Promise<FoundDoubt[]> {
  // Who reviewed a pair and stated another definition, or another size of the unit, expects other figures.
  const pairs = twinPairs(context)
    .filter(({ explained, isScaled }) => !explained.has('figures') && !isScaled)
    .map(({ a, b }) => ({ a: a.record.id, b: b.record.id }));
  if (pairs.length === 0) return [];
  const rows = await context.duck.rows(TWIN_FIGURES, {
    a: listValue(pairs.map(({ a }) => a)),
    b: listValue(pairs.map(({ b }) => b)),
    files: context.files([...new Set(pairs.flatMap(({ a, b }) => [a, b]))]),
  });
  const byPair = Map.groupBy(z.array(row).parse(rows), ({ a, b }) => `${a} ${b}`);
  return pairs.flatMap((pair) => {
    const twins = { ...pair, countries: byPair.get(`${pair.a} ${pair.b}`) ?? [] };
    const told = [...differentScale(context, twins), ...shifted(context, twins)];
    return [...told, ...disagreeing(context, twins, told)];
  });
}

export const twinFigures: QualityCheck = {
  kinds: ['twin_scale', 'twin_shift', 'twin_disagreement'],
  find: findDisagreements,
};
