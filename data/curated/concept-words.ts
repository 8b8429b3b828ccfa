/**
 * The words by which people ask for a concept: its name, and `synonyms.csv`, with a row for each concept and its phrases
 * separated by `;`. What the gateway needs of a concept to find it; `concepts.ts` checks all of it for the build.
 */
import { join } from 'node:path';
import type { Problems } from './problems.ts';
import { readTable } from './table.ts';

export interface ConceptWords {
  id: string;
  name: string;
  /** Its series, the preferred one first. */
  series: readonly string[];
  phrases: readonly string[];
}

const CONCEPT_COLUMNS = ['id', 'name', 'topic', 'higher_is_better', 'preferred', 'projected_from'] as const;
const SERIES_COLUMNS = ['concept', 'indicator', 'factor', 'deviates', 'reason'] as const;

/** @param dir the directory of curated data. @returns in the order of `concepts.csv` */
export function loadConceptWords(dir: string, problems: Problems): ConceptWords[] {
  const series = Map.groupBy(
    readTable(join(dir, 'concept-series.csv'), SERIES_COLUMNS, [], problems),
    ({ cells }) => cells.concept,
  );
  const concepts = readTable(join(dir, 'concepts.csv'), CONCEPT_COLUMNS, [], problems);
  const phrases = readPhrases(dir, new Set(concepts.map(({ cells }) => cells.id)), problems);
  return concepts.map(({ cells: { id, name, preferred } }) => ({
    id: id ?? '',
    name: name ?? '',
    series: [
      ...new Set([preferred ?? '', ...(series.get(id) ?? []).map(({ cells }) => cells.indicator ?? '')]),
    ],
    phrases: phrases.get(id ?? '') ?? [],
  }));
}

function readPhrases(
  dir: string,
  known: ReadonlySet<string | null>,
  problems: Problems,
): ReadonlyMap<string, readonly string[]> {
  const phrases = new Map<string, readonly string[]>();
  for (const { cells, ...at } of readTable(join(dir, 'synonyms.csv'), ['concept', 'phrases'], [], problems)) {
    const listed = (cells.phrases ?? '').split(';').map((phrase) => phrase.trim());
    if (!known.has(cells.concept)) problems.add(at, `there is no concept "${cells.concept}"`);
    else if (phrases.has(cells.concept ?? '')) problems.add(at, `${cells.concept} is listed twice`);
    else if (listed.includes('')) problems.add(at, 'a phrase is empty');
    else if (new Set(listed).size < listed.length) problems.add(at, 'a phrase is listed twice');
    else phrases.set(cells.concept ?? '', listed);
  }
  return phrases;
}
