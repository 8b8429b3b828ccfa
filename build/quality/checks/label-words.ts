/** Labels whose words contradict each other, or say too little: name, unit, description, topic and direction of a series. */
import type { FoundDoubt } from '../../../data/schema/quality.ts';
import type { IndicatorRecord } from '../../../data/schema/records.ts';
import { type CheckContext, doubtAbout, type LabelledSeries, type QualityCheck, quote } from '../check.ts';
import {
  type Claims,
  contradictions,
  contradictsTopic,
  impliedDirection,
  isPerPerson,
  missingDivisor,
  missingPriceBasis,
  otherMagnitude,
  otherUnit,
  readClaims,
  sharesWords,
  slugText,
  tellingWords,
} from '../label-vocabulary.ts';

function unitContradictsName(
  { record: { id, name, unit } }: LabelledSeries,
  saysPerson: boolean,
): FoundDoubt[] {
  const other = otherMagnitude(name, unit ?? '');
  const thing = otherUnit(name, unit ?? '') ?? (saysPerson ? missingDivisor(name, unit ?? '') : null);
  const found = [
    ...contradictions(readClaims(name), readClaims(unit ?? '')),
    ...(other ? [{ aspect: 'magnitude', ...other }] : []),
    ...(thing ? [{ aspect: 'unit', ...thing }] : []),
  ];
  if (found.length === 0) return [];
  const parts = found.map(({ aspect, a, b }) => `${aspect} ${quote(a)} and ${quote(b)}`).join('; ');
  return [
    doubtAbout('unit_contradicts_name', id, `Name and unit contradict each other: ${parts}.`, found.length),
  ];
}

/** What upstream calls the series: its slug, name and unit, where they are not what is published. */
function upstreamTexts(
  { planned: { slug, upstream }, record }: LabelledSeries,
  hasWordySlugs: boolean,
): [string, string][] {
  const texts: [string, string][] = [];
  if (hasWordySlugs) texts.push(['slug', slugText(slug)]);
  if (upstream.name !== record.name) texts.push(['name upstream', upstream.name]);
  if (upstream.unit && upstream.unit !== record.unit) texts.push(['unit upstream', upstream.unit]);
  return texts;
}

function labelContradictsSource(series: LabelledSeries, hasWordySlugs: boolean): FoundDoubt[] {
  const { id, name, unit } = series.record;
  const own: [string, string, Claims][] = [
    ['name', name, readClaims(name)],
    ['unit', unit ?? '', readClaims(unit ?? '')],
  ];
  const found = upstreamTexts(series, hasWordySlugs).flatMap(([what, text]) => {
    const claims = readClaims(text);
    const parts = own.flatMap(([label, , ours]) =>
      contradictions(ours, claims).map(
        ({ a, b }) => `the ${label} says ${quote(a)}, the ${what} ${quote(b)}`,
      ),
    );
    const isUnit = what === 'unit upstream';
    return isUnit || sharesWords(name, text)
      ? parts
      : [...parts, `the name shares no word with the ${what} ${quote(text)}`];
  });
  if (found.length === 0) return [];
  return [doubtAbout('label_contradicts_source', id, `${quote(name)}: ${found.join('; ')}.`, found.length)];
}

function directionContradictsName({ record: { id, name, higher_is_better } }: LabelledSeries): FoundDoubt[] {
  const implied = impliedDirection(name);
  if (!implied || higher_is_better === null || implied.higher_is_better === higher_is_better) return [];
  const message = `Higher counts as ${higher_is_better ? 'better' : 'worse'}, but the name says ${quote(implied.words)}.`;
  return [doubtAbout('direction_contradicts_name', id, message)];
}

function topicContradictsName({ record: { id, name, topic } }: LabelledSeries): FoundDoubt[] {
  const found = contradictsTopic(name, topic);
  if (!found) return [];
  const message = `The topic is ${topic}, but the name says ${quote(found.words)}, which belongs to ${found.topics.join(' or ')}.`;
  return [doubtAbout('topic_contradicts_name', id, message)];
}

function unitDoubts({ record: { id, name, unit } }: LabelledSeries): FoundDoubt[] {
  if (unit === null) return [doubtAbout('unit_missing', id, `${quote(name)} has no unit.`)];
  const missing = missingPriceBasis(name, unit);
  return missing ? [doubtAbout('price_basis_missing', id, `${quote(unit)} names ${missing}.`)] : [];
}

/** Whether a description tells nothing that name and unit do not tell. */
function repeatsName({ name, unit, description }: IndicatorRecord): boolean {
  const known = new Set([...tellingWords(name), ...tellingWords(unit ?? '')]);
  return [...tellingWords(description ?? '')].every((word) => known.has(word));
}

function descriptionDoubts({ record, planned }: LabelledSeries): FoundDoubt[] {
  const { id, name, description, featured } = record;
  if (description === null) {
    const message = `${quote(name)} is featured and has no description.`;
    return featured ? [doubtAbout('description_uninformative', id, message)] : [];
  }
  if (repeatsName(record)) {
    return [
      doubtAbout('description_uninformative', id, `The description repeats the name: ${quote(description)}.`),
    ];
  }
  // A description in our own words may avoid those of the name.
  const ofUpstream = planned.upstream.description;
  if (ofUpstream === null || sharesWords(name, `${description} ${ofUpstream}`)) return [];
  const start = description.slice(0, 100);
  return [
    doubtAbout(
      'description_of_another',
      id,
      `${quote(name)} shares no word with its description ${quote(start)}.`,
    ),
  ];
}

/** Two series of a provider that a reader cannot tell apart. */
function labelsRepeated(series: readonly LabelledSeries[]): FoundDoubt[] {
  const first = new Map<string, string>();
  return series.flatMap(({ record: { id, name, unit }, planned }) => {
    const label = `${planned.providerId}\n${name.toLowerCase()}\n${unit?.toLowerCase() ?? ''}`;
    const same = first.get(label);
    if (same === undefined) first.set(label, id);
    return same === undefined
      ? []
      : [doubtAbout('label_repeated', same, `Both are called ${quote(name)}.`, 1, { other: id })];
  });
}

/** Fewer are no habit. */
const FEWEST_SAYING = 4;

/** Providers most of whose units say “per person” where their names do. Others leave it to the name. */
function sayingPerson(series: readonly LabelledSeries[]): ReadonlySet<string> {
  const providers = Map.groupBy(series, ({ planned }) => planned.providerId);
  return new Set(
    [...providers].flatMap(([provider, own]) => {
      const numberOf = (test: typeof isPerPerson | typeof missingDivisor): number =>
        own.filter(({ record: { name, unit } }) => test(name, unit ?? '')).length;
      const saying = numberOf(isPerPerson);
      return saying >= FEWEST_SAYING && saying > numberOf(missingDivisor) ? [provider] : [];
    }),
  );
}

/** Whether a provider's slugs are words: nearly all share one with the name of their series. */
function wordySlugs(series: readonly LabelledSeries[]): ReadonlySet<string> {
  const counts = new Map<string, { all: number; wordy: number }>();
  for (const { planned, record } of series) {
    const count = counts.get(planned.providerId) ?? { all: 0, wordy: 0 };
    count.all += 1;
    if (sharesWords(record.name, slugText(planned.slug))) count.wordy += 1;
    counts.set(planned.providerId, count);
  }
  return new Set(
    [...counts].filter(([, { all, wordy }]) => wordy >= 0.8 * all).map(([provider]) => provider),
  );
}

async function findDoubts(context: CheckContext): Promise<FoundDoubt[]> {
  const all = [...context.published.values()].sort((a, b) => (a.record.id < b.record.id ? -1 : 1));
  const [wordy, persons] = [wordySlugs(all), sayingPerson(all)];
  const single = all.flatMap((series) => [
    ...unitContradictsName(series, persons.has(series.planned.providerId)),
    ...labelContradictsSource(series, wordy.has(series.planned.providerId)),
    ...directionContradictsName(series),
    ...topicContradictsName(series),
    ...unitDoubts(series),
    ...descriptionDoubts(series),
  ]);
  return [...single, ...labelsRepeated(all)];
}

export const labelWords: QualityCheck = {
  kinds: [
    'unit_contradicts_name',
    'label_contradicts_source',
    'direction_contradicts_name',
    'topic_contradicts_name',
    'unit_missing',
    'price_basis_missing',
    'description_uninformative',
    'description_of_another',
    'label_repeated',
  ],
  find: findDoubts,
};
