/** Which collectors a source refers to. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { loadCurated } from '../../data/curated/curated.ts';

const { collectors } = await loadCurated('data');
const matchName = (name: string) => collectors.match({ name, url: null, note: null }).map(({ id }) => id);
const matchUrl = (url: string) => collectors.match({ name: null, url, note: null }).map(({ id }) => id);

describe('collectors.csv', () => {
  it('knows the collectors whose figures reach us through others', () => {
    const expected = {
      no: 'iea ihme sipri em-dat energy-institute fao who wdpa iucn freedom-house barro-lee',
      display: 'unicef un-igme imf transparency ncd-risc',
      yes: 'uis ilo oecd ember v-dem ucdp maddison pwt un-desa undp world-bank gapminder',
    };
    const found = Map.groupBy(collectors.all, ({ redistributable }) => redistributable);
    for (const [word, collected] of found)
      expect(collected.map(({ id }) => id).join(' ')).toBe(expected[word]);
    expect([...found.keys()].sort()).toEqual(Object.keys(expected).sort());
  });

  it('does not open a licence that is non-commercial or has all rights reserved', () => {
    for (const { id, licence, redistributable } of collectors.all.filter(({ licence: name }) =>
      /-NC|-ND|©|terms|agreement|permission/i.test(name),
    ))
      expect(redistributable, `${id}: ${licence}`).not.toBe('yes');
  });
});

describe('a name', () => {
  const long = collectors.all.flatMap(({ id, names }) => names.map((name) => ({ id, name })));
  const separator = fc.constantFrom(' ', ', ', '; ', ' – ', ' (', ') ', '/', '\n', ': ');

  it('is found anywhere in a text, between any separators', () => {
    fc.assert(
      fc.property(fc.constantFrom(...long), separator, separator, ({ id, name }, before, after) => {
        expect(matchName(`Figures of 1990${before}${name}${after}2nd edition`)).toContain(id);
      }),
    );
  });

  it('of more than three letters is found in any case', () => {
    const folded = long.filter(({ name }) => name.length > 3);
    fc.assert(
      fc.property(fc.constantFrom(...folded), fc.boolean(), ({ id, name }, isUpper) => {
        expect(matchName(isUpper ? name.toUpperCase() : name.toLowerCase())).toContain(id);
      }),
    );
  });

  it('is not found inside another word', () => {
    const letters = fc.stringMatching(/^[a-z0-9]{1,4}$/);
    fc.assert(
      fc.property(fc.constantFrom(...long), letters, fc.boolean(), ({ id, name }, more, isBefore) => {
        // "Lee-Lee" and the like hold a shorter word of their own.
        const others = long.some(
          (other) => other.id === id && other.name !== name && name.includes(other.name),
        );
        fc.pre(!others);
        const glued = isBefore ? more + name : name + more;
        fc.pre(!long.some((other) => other.id === id && other.name.toLowerCase() === glued.toLowerCase()));
        expect(matchName(glued)).not.toContain(id);
      }),
    );
  });

  it.each([
    ['people who live in towns', []],
    ['WHO & UNICEF (2025)', ['who', 'unicef']],
    ['IHMEX survey', []],
    ['Ember (2026)', ['ember']],
    ['September survey', []],
    ['World Telecommunication Database, via World Bank (2026)', ['world-bank']],
    ['OWID based on Maddison', []],
  ])('%s: %j', (name, expected) => {
    expect(matchName(name).toSorted()).toEqual([...expected].toSorted());
  });

  it('counts in a note too', () => {
    const source = { name: 'Survey', url: null, note: 'Estimates by IHME' };
    expect(collectors.match(source).map(({ id }) => id)).toEqual(['ihme']);
  });
});

describe('a URL', () => {
  it.each([
    ['https://www.iea.org/weo/', ['iea']],
    ['iea.org', ['iea']],
    ['HTTP://GHDX.HEALTHDATA.ORG/gbd-2017', ['ihme']],
    ['https://notiea.org/', []],
    ['https://iea.org.example/', []],
    ['https://example.org/iea.org', []],
    ['https://data.worldbank.org/indicator/EG.USE.ELEC.KH.PC/countries', ['iea', 'world-bank']],
    ['https://data.worldbank.org/indicator/EG.ELC.ACCS.ZS', ['world-bank']],
    ['https://data.worldbank.org/indicator/MS.MIL.XPND.GD.ZS', ['sipri', 'world-bank']],
    ['gapm.io/dpop', ['gapminder']],
    ['not a URL', []],
    ['', []],
  ])('%s: %j', (url, expected) => {
    expect(matchUrl(url).toSorted()).toEqual([...expected].toSorted());
  });
});
