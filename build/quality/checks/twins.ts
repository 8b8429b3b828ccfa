/**
 * Series of one concept: pairs that disagree in their labels or in their figures (by a power of ten, by a year, or by more
 * than revisions explain), concepts whose preferred series is not published, and pairs that nobody has reviewed.
 */

import { listValue } from '@duckdb/node-api';
import { z } from 'zod';
import { sqlOf } from '../../../data/runtime/sql-files.ts';
import type { ConceptDeviation } from '../../../data/schema/curated.ts';
import type { FoundDoubt } from '../../../data/schema/quality.ts';
import type { QualityKindName } from '../../../data/schema/quality-kinds.ts';
import { type IndicatorRecord, iso3 } from '../../../data/schema/records.ts';
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
import { readConcept, unitsAgree } from '../concept-words.ts';
import { contradictions, magnitudeOf, readClaims } from '../label-vocabulary.ts';

const sql = sqlOf(import.meta.url);

/** Two series of one concept, ordered by id. */
export interface TwinPair {
  a: CheckedSeries;
  b: CheckedSeries;
  /** In what one of the two differs from its concept for a reason that was given. */
  explained: ReadonlySet<ConceptDeviation>;
  /** Whether their figures are in units of different size, as reviewed. */
  isScaled: boolean;
  isReviewed: boolean;
}

export function twinPairs({ concepts, curated, series }: CheckContext): TwinPair[] {
  const pairs = new Map<string, TwinPair>();
  const add = (ids: [string, string], review: Omit<TwinPair, 'a' | 'b'>): void => {
    const [first = '', second = ''] = ids.toSorted();
    const [a, b] = [series.get(first), series.get(second)];
    if (a && b && !pairs.has(`${first} ${second}`)) pairs.set(`${first} ${second}`, { a, b, ...review });
  };
  for (const [{ series: one }, { series: other }] of curated.concepts.pairs()) {
    add([one.indicator, other.indicator], {
      explained: new Set([...one.deviates, ...other.deviates]),
      isScaled: one.factor !== other.factor,
      isReviewed: true,
    });
  }
  for (const { a, b } of concepts) add([a, b], { explained: new Set(), isScaled: false, isReviewed: false });
  return [...pairs.values()];
}

const disagreement = z.object({
  a: z.string(),
  b: z.string(),
  found: z.int(),
  countries: z.array(iso3),
  first_year: z.int(),
  last_year: z.int(),
  /** The one that mostly projects. */
  projects: z.string(),
});

const named = ({ record: { id, name } }: CheckedSeries): string => `${quote(name)} (${id})`;

function pairDoubt(kind: QualityKindName, { a, b }: TwinPair, message: string, extent = 1): FoundDoubt {
  return doubtAbout(kind, a.record.id, message, extent, { other: b.record.id });
}

const direction = ({ higher_is_better: higher }: IndicatorRecord): string =>
  `${higher === null ? 'neither' : higher ? 'higher' : 'lower'} is better`;

function fieldDoubts(twins: TwinPair): FoundDoubt[] {
  const [a, b] = [twins.a.record, twins.b.record];
  const both = `${named(twins.a)} and ${named(twins.b)}`;
  const found: FoundDoubt[] = [];
  const differ = (setting: 'higher_is_better' | 'topic'): boolean =>
    a[setting] !== b[setting] && !twins.explained.has(setting);
  if (differ('higher_is_better')) {
    const words = `${direction(a)} in one, ${direction(b)} in the other`;
    found.push(pairDoubt('twins_differ_in_direction', twins, `${both}: ${words}.`));
  }
  if (differ('topic')) {
    found.push(pairDoubt('twins_differ_in_topic', twins, `${both}: topics ${a.topic} and ${b.topic}.`));
  }
  if (a.featured && b.featured && !twins.explained.has('featured')) {
    found.push(pairDoubt('twins_both_featured', twins, `${both} are one concept, and both are featured.`));
  }
  return found;
}

function unitDoubts(twins: TwinPair): FoundDoubt[] {
  const [a, b] = [twins.a.record, twins.b.record];
  const claims = ({ name, unit }: IndicatorRecord) => readClaims(`${name}, ${unit ?? ''}`);
  const words = contradictions(claims(a), claims(b)).filter(
    ({ aspect }) => !(twins.isScaled && aspect === 'denominator'),
  );
  const agree = unitsAgree(readConcept(a.name, a.unit).unit, readConcept(b.name, b.unit).unit);
  const factor = twins.isScaled ? 0 : Math.abs(magnitudeOf(a.unit ?? '') - magnitudeOf(b.unit ?? ''));
  if (words.length === 0 && (agree || factor === 0)) return [];
  const parts = words.map(({ aspect, a: here, b: there }) => `${aspect} ${quote(here)} and ${quote(there)}`);
  const unitWords = `units ${quote(a.unit ?? 'none')} and ${quote(b.unit ?? 'none')}`;
  const message = `${named(twins.a)} and ${named(twins.b)} are one concept, but differ: ${[unitWords, ...parts].join('; ')}.`;
  return [pairDoubt('twins_differ_in_unit', twins, message, words.length + (agree ? 0 : 1))];
}

/** Years by which the preferred series is older than the other. */
function preferredDoubts(twins: TwinPair): FoundDoubt[] {
  const [preferred, other] = twins.a.record.preferred ? [twins.a, twins.b] : [twins.b, twins.a];
  if (twins.a.record.preferred === twins.b.record.preferred) return [];
  const [own, newest] = [preferred.statistics.latest_year, other.statistics.latest_year];
  if (own === null || newest === null || own >= newest) return [];
  const message = `${named(preferred)} is preferred and ends in ${own}; ${named(other)} goes on to ${newest}.`;
  return [pairDoubt('preferred_older_than_twin', twins, message, newest - own)];
}

async function projectionDoubts(context: CheckContext, all: readonly TwinPair[]): Promise<FoundDoubt[]> {
  const suspects = all.filter(
    ({ a, b, explained }) =>
      !explained.has('projected_from') && (a.statistics.projected > 0 || b.statistics.projected > 0),
  );
  if (suspects.length === 0) return [];
  const byPair = new Map(suspects.map((twins) => [`${twins.a.record.id} ${twins.b.record.id}`, twins]));
  const pairs = suspects.map(({ a, b }) => ({ a: a.record.id, b: b.record.id }));
  const rows = await context.duck.select(disagreement, sql('twin-projections'), {
    files: context.files([...new Set(pairs.flatMap(({ a, b }) => [a, b]))]),
    pairs: JSON.stringify(pairs),
  });
  return rows.flatMap(({ a, b, found, countries, first_year, last_year, projects }) => {
    const twins = byPair.get(`${a} ${b}`);
    if (!twins) return [];
    const [projecting, observing] = projects === a ? [twins.a, twins.b] : [twins.b, twins.a];
    const example = countryName(context.curated, countries[0] ?? '');
    const message = `${named(projecting)} projects what ${named(observing)} observes, such as ${example} between ${first_year} and ${last_year}: ${counted(found, 'figure', 'figures')}.`;
    const more = { other: b, countries, years: [first_year, last_year] as [number, number] };
    return [doubtAbout('twins_differ_in_projection', a, message, found, more)];
  });
}

export const twins: QualityCheck = {
  kinds: [
    'twins_differ_in_direction',
    'twins_differ_in_topic',
    'twins_both_featured',
    'twins_differ_in_unit',
    'preferred_older_than_twin',
    'twins_differ_in_projection',
  ],
  async find(context) {
    const all = twinPairs(context);
    const ofLabels = all.flatMap((twins) => [
      ...fieldDoubts(twins),
      ...unitDoubts(twins),
      ...preferredDoubts(twins),
    ]);
    return [...ofLabels, ...(await projectionDoubts(context, all))];
  },
};

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

const comparedCountry = z.object({
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
type ComparedCountry = z.infer<typeof comparedCountry>;

interface ComparedTwins {
  a: string;
  b: string;
  countries: ComparedCountry[];
}

/** Null for an empty list. */
function median(values: readonly number[]): number | null {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? null;
}

function figuresDoubt(
  context: CheckContext,
  kind: QualityKindName,
  { a, b }: ComparedTwins,
  found: readonly ComparedCountry[],
  what: string,
): FoundDoubt[] {
  const [worst] = found.toSorted((x, y) => y.latest.distance - x.latest.distance);
  if (!worst) return [];
  const { year, a: first, b: second } = worst.latest;
  const values = `${countryName(context.curated, worst.iso3)} ${year} is ${figure(first)} in ${a} and ${figure(second)} in ${b}`;
  const countries = found.map((one) => one.iso3).sort();
  return [doubtAbout(kind, a, `${what}: ${values}.`, found.length, { other: b, countries })];
}

/** Countries that differ by a power of ten; of the whole pair when most do. */
function differentScale(context: CheckContext, twins: ComparedTwins): FoundDoubt[] {
  const found = twins.countries.filter(({ n, size }) => {
    const decades = Math.round(Math.abs(size ?? 0));
    return n >= FEWEST_YEARS && decades >= 1 && Math.abs(Math.abs(size ?? 0) - decades) <= POWER_TOLERANCE;
  });
  const all = counted(found.length, 'country differs', 'countries differ');
  const factor = 10 ** Math.round(Math.abs(median(found.map(({ size }) => size ?? 0)) ?? 0));
  return figuresDoubt(context, 'twin_scale', twins, found, `${all} by a factor of ${figure(factor)}`);
}

/** Countries that agree with the year before or after in the other series. */
function shifted(context: CheckContext, twins: ComparedTwins): FoundDoubt[] {
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
  const what = `${all} with the value a year ${direction} in ${twins.b}`;
  return figuresDoubt(context, 'twin_shift', twins, found, what);
}

/** Latest common values apart: all of a pair that never agrees, or single countries of one that does. */
function disagreeing(context: CheckContext, twins: ComparedTwins, told: readonly FoundDoubt[]): FoundDoubt[] {
  const explained = new Set(told.flatMap(({ countries }) => countries));
  const rest = twins.countries.filter((one) => !explained.has(one.iso3));
  const typical = median(rest.map(({ latest }) => latest.distance)) ?? 0;
  const limit = typical > REVISION ? REVISION : Math.max(HALF, UNUSUAL * typical);
  const found = rest.filter(({ latest }) => latest.distance > limit);
  const all = counted(found.length, 'country differs', 'countries differ');
  const by = `by more than ${figure(limit * 100)} % in the latest common year`;
  return figuresDoubt(context, 'twin_disagreement', twins, found, `${all} ${by}`);
}

async function findDisagreements(context: CheckContext): Promise<FoundDoubt[]> {
  // Who reviewed a pair and stated another definition, or another size of the unit, expects other figures.
  const pairs = twinPairs(context)
    .filter(({ explained, isScaled }) => !explained.has('figures') && !isScaled)
    .map(({ a, b }) => ({ a: a.record.id, b: b.record.id }));
  if (pairs.length === 0) return [];
  const rows = await context.duck.select(comparedCountry, sql('twin-figures'), {
    a: listValue(pairs.map(({ a }) => a)),
    b: listValue(pairs.map(({ b }) => b)),
    files: context.files([...new Set(pairs.flatMap(({ a, b }) => [a, b]))]),
  });
  const byPair = Map.groupBy(rows, ({ a, b }) => `${a} ${b}`);
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

/** A preferred series that upstream does not have is told by the run of its provider instead. */
function unpublishedPreferred({ curated, series, withheld }: CheckContext): FoundDoubt[] {
  return [...curated.concepts.members.values()].flatMap((members) => {
    const published = members.flatMap((member) => series.get(member.series.indicator) ?? []);
    const [{ concept } = {}, [first]] = [members[0], published];
    if (!concept || !first || !withheld.has(concept.preferred)) return [];
    const message = `The concept ${quote(concept.name)} prefers ${concept.preferred}, which is not published; ${quote(first.record.name)} (${first.record.id}) is.`;
    return [doubtAbout('preferred_not_published', first.record.id, message, published.length)];
  });
}

function unreviewedTwins(context: CheckContext): FoundDoubt[] {
  return twinPairs(context)
    .filter(({ isReviewed }) => !isReviewed)
    .map(({ a: { record: a }, b: { record: b } }) => {
      const known = [a, b].flatMap(({ id }) => context.curated.concepts.of(id)?.concept.name ?? []);
      const where =
        known[0] === undefined ? 'neither is in a concept' : `one is of the concept ${quote(known[0])}`;
      const message = `${quote(a.name)} (${a.id}) and ${quote(b.name)} (${b.id}) agree in name, unit and figures; ${where}.`;
      return doubtAbout('unreviewed_twin', a.id, message, 1, { other: b.id });
    });
}

export const concepts: QualityCheck = {
  kinds: ['preferred_not_published', 'unreviewed_twin'],
  find: async (context) => [...unpublishedPreferred(context), ...unreviewedTwins(context)],
};
