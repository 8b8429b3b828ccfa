/**
 * Names of places as people write them: each means what it says, or is asked back. The table was written from general
 * knowledge, before the curated names that it showed to be missing; `meant` is an ISO3 code, a group, several of which one
 * must be asked for, or nothing.
 */
import { readFileSync } from 'node:fs';
import { parse } from 'csv-parse/sync';
import { describe, expect, it } from 'vitest';
import { loadCurated } from '../../../../data/curated/curated.ts';
import { GROUPS, placeNamed } from '../../../../gateway/api/operations/operations.ts';

type Row = Record<'usage' | 'name' | 'meant', string>;
const table = <Row>(file: string | URL): Row[] =>
  parse(readFileSync(file, 'utf8'), { columns: true }) as Row[];
const rows = table<Row>(new URL('usual-place-names.csv', import.meta.url));

/** What a name means, as the table writes it; nothing where it is refused. */
function meaning(name: string): string {
  const named = placeNamed(name);
  if (named.kind === 'country') return named.iso3;
  if (named.kind === 'group') return `@${named.group.id}`;
  if (named.reason !== 'ambiguous_place') return '';
  return named.candidates.map((one) => ('group' in one ? one.group : one.iso3)).join(' ');
}

describe('usual names', () => {
  it('mean what people mean, in every usage', () => {
    const wrong = rows.filter(({ name, meant }) => meaning(name) !== meant);
    expect(wrong.map(({ name, meant }) => `${name}: ${meaning(name)}, not ${meant}`)).toEqual([]);
  });

  it('are more than 50 of each of five usages', () => {
    const counts = Map.groupBy(
      rows.filter(({ meant }) => meant !== ''),
      ({ usage }) => usage,
    );
    for (const usage of ['statistical', 'press', 'native', 'abbreviated', 'article'])
      expect(counts.get(usage)?.length, usage).toBeGreaterThan(50);
  });
});

/** Words of three letters and less may be codes. */
const CODE_LENGTH_MAX = 3;
const { countries } = await loadCurated('data');
const concepts = table<{ name: string }>('data/concepts.csv');

describe('a name resolves to no place that it does not mean', () => {
  it('not when a letter is missing', () => {
    for (const { iso3, name } of countries)
      for (const at of Array.from(name).keys()) {
        const misspelt = name.slice(0, at) + name.slice(at + 1);
        if (misspelt.length > CODE_LENGTH_MAX)
          expect([iso3, ''], `${misspelt} of ${name}`).toContain(meaning(misspelt));
      }
  });

  it('not when it is a word about a subject', () => {
    const words = new Set(concepts.flatMap(({ name }) => name.split(/[^\p{L}]+/u)));
    const subjects = [...words].filter(({ length }) => length > CODE_LENGTH_MAX);
    expect(subjects.length).toBeGreaterThan(100);
    expect(subjects.filter((word) => meaning(word) !== '')).toEqual([]);
  });

  it('not when a group shares its name', () => {
    for (const { id, name, names } of GROUPS.values())
      for (const said of [id, `@${id}`, name.replace(/ \(.*/, ''), ...names]) {
        const meant = meaning(said);
        if (said === 'Micronesia') expect(meant).toBe('FSM');
        else if (said === 'North America') expect(meant).toContain(`@${id}`);
        else expect(meant.split(' '), said).toContain(`@${id}`);
      }
  });
});
