/**
 * Decides what each published series measures, from its row of `measures.csv`, else that of its concept, else the first
 * rule that fits its name and unit. Where the provider states how it aggregates, a row of a concept and a rule count as far
 * as both agree. A row that contradicts the label decides nothing.
 */

import type { Concepts } from '../../../data/curated/concepts.ts';
import type { CuratedMeasure, Measures } from '../../../data/curated/measures.ts';
import type { FoundBreak } from '../../../data/derived/derivation.ts';
import type { RuleLeaf } from '../../../data/proofs/merkle-tree.ts';
import type { EditionGroups } from '../../../data/schema/groups.ts';
import { INDICATOR_ID, type IndicatorRecord } from '../../../data/schema/records.ts';
import { providerOf } from '../../../data/schema/snapshot.ts';
import { type SeriesMeasure, UNDECIDED } from '../../../data/schema/traits.ts';
import { type MeasuredSeries, readTraits } from '../../quality/quality.ts';
import type { PlannedIndicator } from '../plan/plan-snapshot.ts';

/** A weight or population of the same provider may end this many years before the series, and still be the best one. */
const YEARS_BEHIND = 5;

/** The concept of all people, by whose number members without any figure count in the coverage of a sum. */
const POPULATION = 'population';

interface Measuring {
  /** Published series by id. */
  records: ReadonlyMap<string, IndicatorRecord>;
  concepts: Concepts;
  measures: Measures;
  /** Ids of series that are held, but not published. */
  withheld: ReadonlySet<string>;
}

/** By indicator id. @param records of the indicators, in the same order */
export function measureSeries(
  indicators: readonly Pick<PlannedIndicator, 'id' | 'upstream'>[],
  records: readonly IndicatorRecord[],
  { concepts, measures }: Pick<Measuring, 'concepts' | 'measures'>,
  withheld: ReadonlySet<string>,
): Map<string, MeasuredSeries> {
  const measuring = {
    concepts,
    measures,
    withheld,
    records: new Map(records.map((record) => [record.id, record])),
  };
  return new Map(
    indicators.flatMap(({ id, upstream }) => {
      const record = measuring.records.get(id);
      return record ? [[id, measureOne(record, upstream.aggregation, measuring)] as const] : [];
    }),
  );
}

function measureOne(record: IndicatorRecord, stated: string | undefined, given: Measuring): MeasuredSeries {
  const { id, name, unit } = record;
  const read = readTraits(name, unit);
  const concept = given.concepts.of(id)?.concept.id ?? null;
  const described = describeUnit(name, unit, read.variants);
  const own = given.measures.rowFor(id);
  const row = own ?? given.measures.ruleFor(name, described);
  const traits = { concept, ...read, measured: UNDECIDED };
  if (row === undefined) return { traits, divisor: null, faults: [] };
  const contradictions = contradictedBy(row, described, read.scale);
  if (contradictions.length > 0) return { traits, divisor: null, faults: contradictions };
  const measured = applyRow(row, row.subject === id ? undefined : stated, record, given);
  if (own !== undefined) measured.decided_by = 'row';
  // A weight that is not held at all is told by the ingestion of its provider.
  const weight = own?.weight ?? '';
  const isHeld = given.records.has(weight) || given.withheld.has(weight);
  const isUnweighted = isHeld && divisorFor(weight, record, given) === null;
  return {
    traits: { ...traits, scale: row.scale ?? read.scale, measured },
    divisor: measured.aggregate === 'sum' ? widestPopulation(record, given) : measured.weight,
    faults: isUnweighted ? [`${where(row)}: the weight ${row.weight} is not published for export`] : [],
  };
}

/** The unit in one spelling. Of a bare `%` the name tells the whole, and of other units whether they are per person. */
export function describeUnit(name: string, unit: string | null, variants: readonly string[]): string {
  const text = (unit ?? '').replaceAll(/\bper ?cent\b/gi, '%').trim();
  if (text === '%') return /\([^()]*?(% [^()]+)\)/.exec(name)?.[1] ?? text;
  const isPlain = text !== '' && !/%|\bper\b/i.test(text);
  return isPlain && variants.includes('per person') ? `${text} per person` : text;
}

const where = ({ line }: CuratedMeasure): string => `measures.csv:${line}`;

function contradictedBy(row: CuratedMeasure, unit: string, scale: number): string[] {
  const isShare = unit.includes('%') || unit === 'percentage points';
  const isDivided = isShare || /\bper\b/i.test(unit);
  const { measure } = row;
  const faults = [
    (measure === 'count' || measure === 'amount') && isDivided,
    (measure === 'rate' || measure === 'growth') && !isShare,
  ];
  return [
    ...(faults.includes(true)
      ? [`${where(row)}: the measure ${measure} contradicts the unit “${unit}”`]
      : []),
    ...(row.scale !== null && scale !== 0 && row.scale !== scale
      ? [`${where(row)}: the scale ${row.scale} contradicts the unit “${unit}”`]
      : []),
  ];
}

/** @param stated how the provider aggregates, in its words */
function applyRow(
  row: CuratedMeasure,
  stated: string | undefined,
  record: IndicatorRecord,
  given: Measuring,
): SeriesMeasure {
  const agreed = stated === undefined || methodOf(stated) === row.aggregate ? row.aggregate : 'none';
  const weight = agreed === 'mean' ? divisorFor(row.weight, record, given) : null;
  return {
    measure: row.measure,
    aggregate: agreed === 'mean' && weight === null ? 'none' : agreed,
    weight,
    population: divisorFor(row.per_head, record, given),
    decided_by: stated === undefined ? 'rule' : 'provider',
  };
}

/** What the World Bank calls its methods. It fills gaps of a sum with estimates; nothing is filled here. */
function methodOf(stated: string): SeriesMeasure['aggregate'] {
  if (/^(gap-filled total|sum)$/i.test(stated)) return 'sum';
  return /^weighted average$/i.test(stated) ? 'mean' : 'none';
}

/**
 * The series by which another is divided: of those of a concept the one of the same provider, if it is about as new, else
 * the preferred one. Null when none may be exported.
 */
function divisorFor(subject: string | null, record: IndicatorRecord, given: Measuring): string | null {
  if (subject === null) return null;
  const open = openSeries(subject, record, given);
  const own = open.find((one) => providerOf(one.id) === providerOf(record.id) && isAboutAsNew(one, record));
  return (own ?? open[0])?.id ?? null;
}

/** A series, or those of a concept, the preferred one first, as far as they may be exported. */
function openSeries(subject: string, { id }: IndicatorRecord, given: Measuring): IndicatorRecord[] {
  const ids = INDICATOR_ID.test(subject)
    ? [subject]
    : (given.concepts.members.get(subject) ?? []).map(({ series }) => series.indicator);
  return ids.flatMap((one) => {
    const record = given.records.get(one);
    return one !== id && record?.access_tier === 'open' ? [record] : [];
  });
}

const isAboutAsNew = (one: IndicatorRecord, { coverage }: IndicatorRecord): boolean =>
  (one.coverage?.latest_year ?? 0) >= (coverage?.latest_year ?? 0) - YEARS_BEHIND;

/** The population of the most countries, so that members which a provider leaves out are missed. */
function widestPopulation(record: IndicatorRecord, given: Measuring): string | null {
  const countriesOf = (one: IndicatorRecord): number => one.coverage?.n_countries ?? 0;
  const current = openSeries(POPULATION, record, given).filter((one) => isAboutAsNew(one, record));
  return current.toSorted((a, b) => countriesOf(b) - countriesOf(a))[0]?.id ?? null;
}

/**
 * The leaves of the tree of rules, by which figures of an edition are derived and whoever verifies them recomputes them:
 * territories, then groups by id, then series by id.
 * @param breaks of series that have any
 */
export function ruleLeaves(
  { groups, territories }: EditionGroups,
  measured: ReadonlyMap<string, MeasuredSeries>,
  breaks: ReadonlyMap<string, FoundBreak[]>,
): RuleLeaf[] {
  const decided = territories.map(({ source: _, ...rest }) => rest);
  const byId = [...measured].sort(([a], [b]) => (a < b ? -1 : 1));
  return [
    { territories: decided },
    ...groups.map(({ id, members }) => ({ group: id, members: members.toSorted() })),
    ...byId.map(([indicator, { traits, divisor }]) => {
      const { measure, aggregate, population } = traits.measured;
      const rest = {
        divisor: aggregate === 'none' ? null : divisor,
        population,
        breaks: breaks.get(indicator) ?? [],
      };
      return { indicator, measure, scale: traits.scale, aggregate, ...rest };
    }),
  ];
}
