/** Series of one concept at different providers that disagree about it. */
import { z } from 'zod';
import { readSql } from '../../../data/runtime/sql-files.ts';
import type { FoundDoubt } from '../../../data/schema/quality.ts';
import type { QualityKindName } from '../../../data/schema/quality-kinds.ts';
import { iso3 } from '../../../data/schema/records.ts';
import { readConcept, unitsAgree } from '../../editions/relations/concept-vocabulary.ts';
import type { CheckContext, CheckedSeries, QualityCheck } from '../check.ts';
import { contradictions, magnitudeOf, readClaims } from '../label-vocabulary.ts';
import { type TwinPair, twinPairs } from '../twin-pairs.ts';
import { counted, countryName } from '../wording.ts';
import { labelDoubt, quote } from './label-words.ts';

const TWIN_PROJECTIONS = readSql(import.meta.url, 'sql/twin-projections.sql');

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
  return labelDoubt(kind, a.record.id, message, extent, b.record.id);
}

const DIRECTIONS = new Map<boolean | null, string>([
  [true, 'higher is better'],
  [false, 'lower is better'],
  [null, 'neither is better'],
]);

function fieldDoubts(twins: TwinPair): FoundDoubt[] {
  const [a, b] = [twins.a.record, twins.b.record];
  const both = `${named(twins.a)} and ${named(twins.b)}`;
  const found: FoundDoubt[] = [];
  const differ = (setting: 'higher_is_better' | 'topic'): boolean =>
    a[setting] !== b[setting] && !twins.explained.has(setting);
  if (differ('higher_is_better')) {
    const words = `${DIRECTIONS.get(a.higher_is_better)} in one, ${DIRECTIONS.get(b.higher_is_better)} in the other`;
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
  const labels = [a, b].map(({ name, unit }) => readClaims(`${name}, ${unit ?? ''}`));
  const [ours, theirs] = labels;
  const found = ours && theirs ? contradictions(ours, theirs) : [];
  const words = found.filter(({ aspect }) => !(twins.isScaled && aspect === 'denominator'));
  const units = [a, b].map(({ name, unit }) => readConcept(name, unit).unit);
  const agree = unitsAgree(units[0] ?? null, units[1] ?? null);
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
  const ids = new Set(suspects.flatMap(({ a, b }) => [a.record.id, b.record.id]));
  const pairs = suspects.map(({ a, b }) => ({ a: a.record.id, b: b.record.id }));
  const rows = await context.duck.rows(TWIN_PROJECTIONS, {
    files: context.files([...ids]),
    pairs: JSON.stringify(pairs),
  });
  return z
    .array(disagreement)
    .parse(rows)
    .flatMap((row) => {
      const twins = byPair.get(`${row.a} ${row.b}`);
      if (!twins) return [];
      const [projects, observes] = row.projects === row.a ? [twins.a, twins.b] : [twins.b, twins.a];
      const example = countryName(context.curated, row.countries[0] ?? '');
      const message = `${named(projects)} projects what ${named(observes)} observes, such as ${example} between ${row.first_year} and ${row.last_year}: ${counted(row.found, 'figure', 'figures')}.`;
      const doubt = pairDoubt('twins_differ_in_projection', twins, message, row.found);
      return [
        { ...doubt, countries: row.countries, years: [row.first_year, row.last_year] as [number, number] },
      ];
    });
}

async function findDoubts(context: CheckContext): Promise<FoundDoubt[]> {
  const all = twinPairs(context);
  const ofLabels = all.flatMap((twins) => [
    ...fieldDoubts(twins),
    ...unitDoubts(twins),
    ...preferredDoubts(twins),
  ]);
  return [...ofLabels, ...(await projectionDoubts(context, all))];
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
  find: findDoubts,
};
