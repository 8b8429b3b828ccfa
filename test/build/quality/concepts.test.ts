/** Checks of concepts: twins that nobody reviewed, and what a review explains. */
import { expect, it } from 'vitest';
import { concepts as check, twins } from '../../../build/quality/checks/twins.ts';
import { readTraits } from '../../../build/quality/quality.ts';
import { Concepts } from '../../../data/curated/concepts.ts';
import { loadCurated } from '../../../data/curated/curated.ts';
import type { Concept, ConceptSeries } from '../../../data/schema/curated.ts';
import { DATA } from '../world.ts';
import { findIn } from './checked-figures.ts';

const curated = await loadCurated(DATA);
it.each<[string, string | null, Partial<ReturnType<typeof readTraits>>]>([
  ['Life expectancy at birth, total (years)', 'years', { sex: null, age: null, scale: 0, unit: 'years' }],
  ['Life expectancy of women', 'years', { sex: 'female' }],
  ['Unemployment rate (%), males aged 65+', 'percent', { sex: 'male', age: '65+', unit: '%' }],
  [
    'Literacy rate, youth total (% of people ages 15-24)',
    '% of people ages 15-24',
    { age: '15-24', unit: '%' },
  ],
  ['Ratio of girls to boys in school', 'girls per boy', { sex: null }],
  ['Employment', 'millions of persons', { scale: 6 }],
  ['GDP, current prices', 'billions of US dollars', { scale: 9 }],
  ['CO2 emissions (kt)', 'kt', { scale: 3 }],
  ['Secure servers', 'per 1 million people', { scale: 0, unit: 'per 1 million people' }],
  ['GDP per capita, constant prices, PPP', null, { unit: null, variants: ['per person', 'ppp', 'constant'] }],
  ['Urban population growth (annual %)', 'annual %', { variants: ['urban', 'growth'] }],
])('reads what divides a series: %s', (name, unit, expected) => {
  expect(readTraits(name, unit)).toMatchObject(expected);
});

const CONCEPT: Concept = {
  id: 'life',
  name: 'Life expectancy',
  topic: 'health',
  higher_is_better: true,
  preferred: 'p.a',
  projected_from: null,
};
const member = (indicator: string, deviates: ConceptSeries['deviates'] = []) => ({
  concept: CONCEPT,
  series: {
    concept: CONCEPT.id,
    indicator,
    factor: 1,
    deviates,
    reason: deviates.length > 0 ? 'Why.' : null,
  },
});
const label = { name: 'Life expectancy', unit: 'years', topic: 'health', higher_is_better: true };

it('finds each pair that the build links and nobody has reviewed, and says which concept it may join', async () => {
  const found = await findIn(
    check,
    { 'p.a': label, 'q.a': label, 'r.a': label, 'r.b': label },
    {
      curated: { ...curated, concepts: new Concepts([member('p.a'), member('q.a')]) },
      twins: ['q.a p.a', 'r.a q.a', 'r.b r.a', 'r.a gone.a'].map(
        (pair) => pair.split(' ') as [string, string],
      ),
    },
  );
  expect(found.map(({ kind, indicator, other }) => [kind, indicator, other])).toEqual([
    ['unreviewed_twin', 'q.a', 'r.a'],
    ['unreviewed_twin', 'r.a', 'r.b'],
  ]);
  expect(found[0]?.message).toMatch(/one is of the concept “?"?Life expectancy/);
  expect(found[1]?.message).toMatch(/neither is in a concept\.$/);
});

it.each<[string, { published: string[]; withheld?: string[] }, [string | null, number][]]>([
  ['is withheld, others not', { published: ['q.a', 'r.a'], withheld: ['p.a'] }, [['q.a', 2]]],
  ['is withheld with all others', { published: ['s.a'], withheld: ['p.a', 'q.a', 'r.a'] }, []],
  ['is published, others not', { published: ['p.a'], withheld: ['q.a', 'r.a'] }, []],
  ['is not in the lake', { published: ['q.a'] }, []],
])(
  'finds a concept without a published preferred series: it %s',
  async (_, { published, withheld }, expected) => {
    const members = [member('p.a'), member('q.a'), member('r.a')];
    const found = await findIn(check, Object.fromEntries(published.map((id) => [id, label])), {
      curated: { ...curated, concepts: new Concepts(members) },
      withheld: new Set(withheld),
    });
    expect(found.map(({ indicator, extent }) => [indicator, extent])).toEqual(expected);
    for (const { kind, message } of found)
      expect([kind, message]).toEqual(['preferred_not_published', expect.stringContaining('prefers p.a')]);
  },
);

it.each<[string, ConceptSeries['deviates'], string[]]>([
  ['nothing', [], ['twins_differ_in_direction', 'twins_differ_in_topic', 'twins_differ_in_projection']],
  ['the topic', ['topic'], ['twins_differ_in_direction', 'twins_differ_in_projection']],
  ['all of it', ['topic', 'higher_is_better', 'projected_from'], []],
])('reviewed twins disagree but for what has a reason: %s', async (_, deviates, kinds) => {
  const found = await findIn(
    twins,
    {
      'p.a': { ...label, figures: [['IND', 2024, 70]] },
      'q.a': { ...label, topic: 'gender', higher_is_better: null, figures: [['IND', 2024, 70, true]] },
    },
    { curated: { ...curated, concepts: new Concepts([member('p.a'), member('q.a', deviates)]) } },
  );
  expect(found.map(({ kind }) => kind)).toEqual(kinds);
});
