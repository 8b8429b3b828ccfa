/** Checks of series that are one concept. */
import { expect, it } from 'vitest';
import { twins } from '../../../build/quality/checks/twins.ts';
import { type ConstructedSeries, type Figure, findIn } from './checked-figures.ts';

const TWINS = [['q.a', 'p.a']] as const;
const label = { name: 'Life expectancy', unit: 'years', topic: 'health', higher_is_better: true };
const rows = (from: number, to: number, projectedFrom = 3000): Figure[] =>
  Array.from({ length: to - from + 1 }, (_, at) => ['IND', from + at, 70 + at, from + at >= projectedFrom]);

async function found(a: ConstructedSeries, b: ConstructedSeries) {
  const doubts = await findIn(
    twins,
    { 'p.a': { ...label, ...a }, 'q.a': { ...label, ...b } },
    { twins: TWINS },
  );
  expect(doubts.filter(({ indicator, other }) => indicator !== 'p.a' || other !== 'q.a')).toEqual([]);
  return doubts.map(({ kind, extent }) => [kind, extent]);
}

it.each<[string, ConstructedSeries, ConstructedSeries, [string, number][]]>([
  ['agree', {}, { name: 'Life expectancy at birth' }, []],
  ['differ in direction', {}, { higher_is_better: null }, [['twins_differ_in_direction', 1]]],
  ['differ in topic', {}, { topic: 'gender' }, [['twins_differ_in_topic', 1]]],
  ['are both featured', { featured: true }, { featured: true }, [['twins_both_featured', 1]]],
  ['have units of other powers of ten', { unit: 'hectares' }, { unit: 'km²' }, [['twins_differ_in_unit', 1]]],
  [
    'are reported here and estimated there',
    { name: 'TB cases, reported', unit: 'cases' },
    { name: 'TB cases, estimated', unit: 'cases' },
    [['twins_differ_in_unit', 1]],
  ],
  [
    'have a preferred one that is older',
    { preferred: true, figures: rows(2000, 2018) },
    { figures: rows(2000, 2021) },
    [['preferred_older_than_twin', 3]],
  ],
  [
    'have a preferred one that is newer',
    { preferred: true, figures: rows(2000, 2022) },
    { figures: rows(2000, 2021) },
    [],
  ],
  [
    'project what the other observes',
    { figures: rows(2000, 2024, 2024) },
    { figures: rows(2000, 2024, 2023) },
    [['twins_differ_in_projection', 1]],
  ],
  ['project the same years', { figures: rows(2000, 2024, 2024) }, { figures: rows(2000, 2024, 2024) }, []],
])('twins that %s', async (_, a, b, kinds) => {
  expect(await found(a, b)).toEqual(kinds);
});

it('names countries, years and the one that projects', async () => {
  const observed = { ...label, figures: rows(2000, 2024) };
  const projected = { ...label, figures: rows(2000, 2024, 2024) };
  const message = await findIn(twins, { 'p.a': observed, 'q.a': projected }, { twins: TWINS });
  expect(message).toMatchObject([{ countries: ['IND'], years: [2024, 2024], extent: 1 }]);
  expect(message[0]?.message).toMatch(/\(q\.a\) projects what .*\(p\.a\) observes, such as India/);
});
