/** Reads `ambiguous-names.csv`: names that people use for more than one country. Such a name is asked back. */
import type { Spine } from './countries.ts';
import { foldName } from './places.ts';
import type { Problems } from './problems.ts';
import { readTable } from './table.ts';

const COLUMNS = ['name', 'candidates'] as const;

/** Codes of the countries by folded name. */
export function loadAmbiguousNames(
  file: string,
  { named }: Spine,
  problems: Problems,
): ReadonlyMap<string, readonly string[]> {
  const names = new Map<string, readonly string[]>();
  for (const { cells, ...at } of readTable<(typeof COLUMNS)[number] | 'note'>(
    file,
    COLUMNS,
    ['note'],
    problems,
  )) {
    const name = foldName(cells.name ?? '');
    const candidates = cells.candidates?.split(/\s+/) ?? [];
    const unknown = candidates.find((iso3) => !named.has(iso3));
    if (name === '') problems.add(at, 'a name is needed');
    else if (names.has(name)) problems.add(at, `${cells.name} is listed twice`);
    else if (candidates.length < 2) problems.add(at, `${cells.name}: at least two countries are needed`);
    else if (unknown !== undefined) problems.add(at, `${cells.name}: ${unknown} is not on the spine`);
    else names.set(name, candidates);
  }
  return names;
}
