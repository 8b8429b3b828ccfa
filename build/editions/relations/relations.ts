/**
 * How published series relate to each other.
 *
 * Related indicators: the series of its concept, then curated links, then series that seem to be of the same concept at
 * another provider and that nobody has reviewed, then correlated country rankings
 * (Spearman's |ρ| ≥ 0.7 over at least 30 common countries, on latest values), then the same topic by widest coverage,
 * then any topic. Strongest first, at most twelve. Equal input gives equal output.
 *
 * All correlations are exact. Up to 1,200 indicators every pair is compared; beyond, only candidates from
 * `correlation-candidates.ts` and `concept-matching.ts` are.
 *
 * Twins: the other published series of an indicator's concept, side by side with it. All is computed from the published
 * observations. Figures are compared only where both series may be exported, as a difference tells a value.
 */

import { join } from 'node:path';
import { listValue } from '@duckdb/node-api';
import { z } from 'zod';
import { type ConceptMember, type Concepts, SAME_CONCEPT } from '../../../data/curated/concepts.ts';
import { readSql } from '../../../data/runtime/sql-files.ts';
import type { CuratedLink } from '../../../data/schema/curated.ts';
import {
  type IndicatorRecord,
  type IndicatorTwin,
  iso3,
  type RelatedEntry,
} from '../../../data/schema/records.ts';
import { type ConceptLink, observationsFile } from '../../../data/schema/snapshot.ts';
import type { DuckSession } from '../../runtime/duckdb.ts';
import type { PlannedIndicator } from '../plan/plan-snapshot.ts';
import type { IndicatorCoverage, LatestColumns } from '../tables/summary-tables.ts';
import {
  type Agreement,
  type ConceptSeries,
  conceptCandidates,
  describeSeries,
  isSameConcept,
  MIN_COMMON,
} from './concept-matching.ts';
import { type Candidate, correlationCandidates, offer } from './correlation-candidates.ts';
import { type SortedSeries, Spearman, sortByValue } from './spearman.ts';

export const MAX_RELATED = 12;
const MIN_RHO = 0.7;
/** Up to this many indicators, comparing every pair takes a second or two. */
const MAX_ALL_PAIRS = 1_200;
/** Candidates per indicator beyond that: ten times what it can show. */
const CANDIDATES = 128;

interface Neighbours {
  same: Candidate[];
  correlated: Candidate[];
}

export interface Relations {
  /** By indicator id. */
  related: Map<string, RelatedEntry[]>;
  /** All pairs that seem to be of one concept, but those that people reviewed and found different. */
  concepts: ConceptLink[];
}

export interface RelationInput {
  indicators: readonly Pick<PlannedIndicator, 'id' | 'providerId' | 'record'>[];
  coverage: ReadonlyMap<string, IndicatorCoverage>;
  latest: LatestColumns;
  concepts: Concepts;
  /** Other relations that people reviewed. */
  links: readonly CuratedLink[];
}

/** Latest values by indicator and country number. */
function valuesByCountry({ indicators, latest }: RelationInput): Float64Array[] {
  const countries = new Map([...new Set(latest.iso3)].sort().map((iso3, number) => [iso3, number]));
  const positions = new Map(indicators.map(({ id }, index) => [id, index]));
  const values = indicators.map(() => new Float64Array(countries.size).fill(Number.NaN));
  latest.indicator.forEach((id, row) => {
    const column = values[positions.get(id) ?? -1];
    const value = latest.value[row];
    const country = countries.get(latest.iso3[row] ?? '');
    if (column && country !== undefined && typeof value === 'number') column[country] = value;
  });
  return values;
}

function medianDifference(a: Float64Array, b: Float64Array): number {
  const differences: number[] = [];
  for (let country = 0; country < a.length; country += 1) {
    const x = a[country] ?? Number.NaN;
    const y = b[country] ?? Number.NaN;
    if (Number.isNaN(x) || Number.isNaN(y)) continue;
    const size = Math.max(Math.abs(x), Math.abs(y));
    const difference = Math.abs(x - y);
    // The difference of the greatest numbers is none: each is divided first.
    const relative = Number.isFinite(difference) ? difference / size : Math.abs(x / size - y / size);
    differences.push(size === 0 ? 0 : relative);
  }
  differences.sort((x, y) => x - y);
  return differences[differences.length >> 1] ?? Number.POSITIVE_INFINITY;
}

/**
 * Which pairs are compared exactly: for each indicator the later ones, in ascending order. All of them while they are
 * few; else those whose words may mean one concept, and those whose order of countries is likely alike.
 */
function pairsToCompare(
  values: readonly Float64Array[],
  described: readonly ConceptSeries[],
  maxAllPairs: number,
): Iterable<number>[] {
  const size = values.length;
  if (size <= maxAllPairs)
    return values.map((_, a) => Array.from({ length: size - a - 1 }, (__, at) => a + 1 + at));
  const pairs = conceptCandidates(described);
  for (const [a, partners] of correlationCandidates(values, CANDIDATES).entries()) {
    for (const b of partners) pairs[Math.min(a, b)]?.push(Math.max(a, b));
  }
  return pairs.map((partners) => new Set(partners.sort((a, b) => a - b)));
}

/** Compares each selected pair once. */
function findNeighbours(
  input: RelationInput,
  maxAllPairs: number,
): { neighbours: Neighbours[]; concepts: ConceptLink[] } {
  const values = valuesByCountry(input);
  const orders: SortedSeries[] = values.map(sortByValue);
  const spearman = new Spearman(values[0]?.length ?? 0);
  const neighbours = orders.map((): Neighbours => ({ same: [], correlated: [] }));
  const concepts: ConceptLink[] = [];
  const described = input.indicators.map(({ providerId, record }) =>
    describeSeries(providerId, record.name, record.unit),
  );
  const isRejected = rejectedPairs(input);
  for (const [a, partners] of pairsToCompare(values, described, maxAllPairs).entries()) {
    for (const b of partners) comparePair(a, b);
  }
  concepts.sort((one, other) => (other.rho ?? 0) - (one.rho ?? 0));
  return { neighbours, concepts };

  function comparePair(a: number, b: number): void {
    const [orderA, orderB] = [orders[a], orders[b]];
    const [describedA, describedB] = [described[a], described[b]];
    if (!orderA || !orderB || !describedA || !describedB) return;
    const { common, rho: found } = spearman.compare(orderA, orderB);
    const rho = common >= MIN_COMMON ? found : 0;
    const agreement = (): Agreement => ({
      common,
      rho,
      medianDifference: medianDifference(values[a] ?? new Float64Array(), values[b] ?? new Float64Array()),
    });
    const strength = Math.abs(rho);
    const ids: [string, string] = [input.indicators[a]?.id ?? '', input.indicators[b]?.id ?? ''];
    const isSame = isSameConcept(describedA, describedB, agreement) && !isRejected(...ids);
    if (!isSame && strength < MIN_RHO) return;
    if (isSame) concepts.push(linkOf(ids, agreement()));
    const list = isSame ? 'same' : 'correlated';
    offer(neighbours[a]?.[list] ?? [], { index: b, strength }, MAX_RELATED);
    offer(neighbours[b]?.[list] ?? [], { index: a, strength }, MAX_RELATED);
  }
}

/** A pair of one concept, by its ids. */
function linkOf(
  [a, b]: [string, string],
  { common, rho, medianDifference: difference }: Agreement,
): ConceptLink {
  return {
    a,
    b,
    common,
    rho: common >= MIN_COMMON ? rho : null,
    median_difference: Number.isFinite(difference) ? difference : null,
  };
}

/** Whether people reviewed a pair and found it to be of two concepts. */
function rejectedPairs({ concepts, links }: RelationInput): (a: string, b: string) => boolean {
  const linked = new Set(links.flatMap(({ from, to }) => [`${from} ${to}`, `${to} ${from}`]));
  return (a, b) => {
    const [one, other] = [concepts.of(a), concepts.of(b)];
    if (one && other) return one.concept !== other.concept;
    return linked.has(`${a} ${b}`);
  };
}

/** Curated links by indicator, in file order, in both directions. */
const linksById = (links: readonly CuratedLink[]): Map<string, CuratedLink[]> =>
  Map.groupBy(
    links.flatMap(({ from, to, relation }) => [
      { from, to, relation },
      { from: to, to: from, relation },
    ]),
    ({ from }) => from,
  );

/**
 * @param input `indicators` by name; that order breaks ties.
 * @param maxAllPairs up to this many indicators, every pair is compared.
 */
export function findRelations(input: RelationInput, maxAllPairs = MAX_ALL_PAIRS): Relations {
  const { indicators, coverage } = input;
  const positions = new Map(indicators.map(({ id }, index) => [id, index]));
  const { neighbours, concepts } = findNeighbours(input, maxAllPairs);
  const twins = input.concepts.pairs().map(([{ series: one }, { series: other }]) => ({
    from: one.indicator,
    to: other.indicator,
    relation: SAME_CONCEPT,
  }));
  const curated = linksById([...twins, ...input.links]);
  const width = (index: number): number =>
    coverage.get(indicators[index]?.id ?? '')?.coverage.n_countries ?? 0;
  const byWidth = [...indicators.keys()].sort((a, b) => width(b) - width(a) || a - b);
  const byTopic = Map.groupBy(byWidth, (index) => indicators[index]?.record.topic ?? '');

  const related = new Map(indicators.map(({ id, record }, own) => [id, relatedTo(own, id, record.topic)]));
  return { related, concepts };

  function relatedTo(own: number, id: string, topic: string): RelatedEntry[] {
    const chosen = new Map<number, string>();
    const choose = (index: number | undefined, relation: string): void => {
      if (index === undefined || index === own || chosen.has(index) || chosen.size >= MAX_RELATED) return;
      chosen.set(index, relation);
    };
    for (const { to, relation } of curated.get(id) ?? []) choose(positions.get(to), relation);
    for (const { index } of neighbours[own]?.same ?? []) choose(index, SAME_CONCEPT);
    for (const { index } of neighbours[own]?.correlated ?? []) choose(index, 'correlated');
    const fallback = (list: readonly number[]): void => {
      for (const index of list) {
        if (chosen.size >= MAX_RELATED) return;
        choose(index, 'related');
      }
    };
    fallback(byTopic.get(topic) ?? []);
    if (chosen.size === 0) fallback(byWidth);
    return [...chosen].flatMap(([index, relation]) => {
      const related = indicators[index]?.record;
      return related
        ? [{ id: related.id, name: related.name, topic: related.topic, unit: related.unit, relation }]
        : [];
    });
  }
}

const TWINS = readSql(import.meta.url, 'sql/twins.sql');

const comparison = z.object({
  a: z.string(),
  b: z.string(),
  countries: z.int(),
  years: z.int(),
  median: z.number(),
  largest: z.object({
    rank: z.number(),
    iso3,
    year: z.int(),
    a_value: z.number(),
    b_value: z.number(),
  }),
});
type Comparison = z.infer<typeof comparison>;

/** A series of a concept with its public record. */
interface Published extends ConceptMember {
  record: IndicatorRecord;
}

/** The twins of each indicator that has any, the preferred one first. */
export async function findTwins(
  duck: DuckSession,
  directory: string,
  concepts: Concepts,
  records: readonly IndicatorRecord[],
): Promise<Map<string, IndicatorTwin[]>> {
  const byId = new Map(records.map((record) => [record.id, record]));
  const groups = [...concepts.members.values()]
    .map((members) =>
      members.flatMap((member): Published[] => {
        const record = byId.get(member.series.indicator);
        return record ? [{ ...member, record }] : [];
      }),
    )
    .filter((members) => members.length > 1);
  const compared = await compare(duck, directory, groups.flat());
  return new Map(
    groups.flatMap((members) =>
      members.map((own) => {
        const others = members.filter((other) => other !== own);
        return [own.record.id, others.map((other) => twinOf(own, other, compared))] as const;
      }),
    ),
  );
}

const pairKey = (a: string, b: string): string => (a < b ? `${a} ${b}` : `${b} ${a}`);

async function compare(
  duck: DuckSession,
  directory: string,
  members: readonly Published[],
): Promise<Map<string, Comparison>> {
  if (members.length === 0) return new Map();
  const series = members.map(({ concept, series: { factor }, record: { id } }) => ({
    id,
    concept: concept.id,
    factor,
  }));
  const found = await duck.select(comparison, TWINS, {
    files: listValue(series.map(({ id }) => join(directory, observationsFile(id)))),
    series: JSON.stringify(series),
  });
  return new Map(found.map((one) => [pairKey(one.a, one.b), one]));
}

function twinOf(own: Published, other: Published, compared: ReadonlyMap<string, Comparison>): IndicatorTwin {
  const { id, name, unit, provider, licence, preferred, coverage } = other.record;
  const found = compared.get(pairKey(own.record.id, id));
  const isShown = own.record.access_tier === 'open' && other.record.access_tier === 'open';
  return {
    id,
    name,
    unit,
    provider: provider.id,
    licence,
    preferred,
    factor: other.series.factor / own.series.factor,
    yr_min: coverage?.yr_min ?? null,
    yr_max: coverage?.yr_max ?? null,
    common_countries: found?.countries ?? 0,
    common_years: found?.years ?? 0,
    difference: found && isShown ? differenceOf(own.record.id, found) : null,
    deviations: [own, other].flatMap(({ record, series: { deviates, reason } }) =>
      reason === null ? [] : [{ indicator: record.id, deviates, reason }],
    ),
  };
}

function differenceOf(ownId: string, { a, median, largest }: Comparison): IndicatorTwin['difference'] {
  const { rank, iso3: country, year, a_value, b_value } = largest;
  const [value, twin_value] = ownId === a ? [a_value, b_value] : [b_value, a_value];
  return { median, largest: { difference: -rank || 0, iso3: country, year, value, twin_value } };
}
