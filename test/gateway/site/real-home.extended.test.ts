/** What the home page tells of a build of the whole mirror. */
import { expect, test } from 'vitest';
import { describeReal } from './real-edition.ts';
import { checkHome } from './told-findings.ts';

describeReal('the home page of the real edition', (real) => {
  test('tells four findings that the rows of the API say', async () => {
    const ask = (path: string) => real.json(path);
    const population = real.records.find(({ id }) => id === 'world-bank.SP.POP.TOTL');
    const people = population ? await real.opened(population) : [];
    expect(people.length).toBeGreaterThan(150);
    const kinds = await checkHome(
      ask,
      await real.page('/'),
      new Map(people.map(({ iso3, value }) => [iso3, value])),
    );
    expect(kinds).toEqual(['crossing', 'shared', 'change', 'record']);
  });
});
