/** How published series relate: correlation, concepts, and the selection of candidates beyond all pairs. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type ConceptSeries,
  compareWords,
  conceptCandidates,
  describeSeries,
  isSameConcept,
} from '../../../build/editions/relations/concept-matching.ts';
import { correlationCandidates } from '../../../build/editions/relations/correlation-candidates.ts';
import {
  findRelations,
  MAX_RELATED,
  type RelationInput,
} from '../../../build/editions/relations/relations.ts';
import { Spearman, sortByValue } from '../../../build/editions/relations/spearman.ts';
import type { IndicatorCoverage } from '../../../build/editions/tables/summary-tables.ts';
import { Concepts } from '../../../data/curated/concepts.ts';
import type { IndicatorRecord } from '../../../data/schema/records.ts';
import { seededRandom } from '../../seeded-random.ts';

const relatedTo = (given: Parameters<typeof findRelations>[0]) => findRelations(given).related;

interface Given {
  id: string;
  name?: string;
  unit?: string | null;
  topic?: string;
  values?: number[];
}

function record({ id, name = id, unit = null, topic = 'economy' }: Given): Omit<IndicatorRecord, 'coverage'> {
  const credit = { licence: 'CC BY 4.0', licence_url: null, attribution: 'A' };
  return {
    id,
    name,
    description: null,
    unit,
    topic,
    higher_is_better: null,
    preferred: false,
    featured: false,
    access_tier: 'open',
    no_rank: false,
    ...credit,
    provider: { id: id.split('.')[0] ?? '', name: 'P', ...credit },
  };
}

const iso3 = (country: number): string =>
  `C${String.fromCharCode(65 + Math.floor(country / 26), 65 + (country % 26))}`;

function input(
  given: Given[],
  links: RelationInput['links'] = [],
  concepts = new Concepts([]),
): RelationInput {
  const cells = given.flatMap(({ id, values = [] }) =>
    values.flatMap((value, country) => (Number.isNaN(value) ? [] : [{ id, iso3: iso3(country), value }])),
  );
  const coverage = new Map(
    given.map(({ id, values = [] }): [string, IndicatorCoverage] => [
      id,
      {
        rows: values.length,
        coverage: { n_countries: values.length, yr_min: 2000, yr_max: 2000, latest_year: 2000 },
      },
    ]),
  );
  return {
    indicators: given.map((one) => ({
      id: one.id,
      providerId: one.id.split('.')[0] ?? '',
      record: record(one),
    })),
    coverage,
    latest: {
      indicator: cells.map((cell) => cell.id),
      iso3: cells.map((cell) => cell.iso3),
      year: cells.map(() => 2000),
      value: cells.map((cell) => cell.value),
      rank: cells.map(() => null),
      rankDelta: cells.map(() => null),
    },
    concepts,
    links,
  };
}

/** Distinct values without correlation to 0, 1, 2, ... */
const scattered = (size: number): number[] => Array.from({ length: size }, (_, index) => (index * 37) % 101);
const rising = (size: number): number[] => Array.from({ length: size }, (_, index) => index);
const short = (found: Map<string, { id: string; relation: string }[]>, id: string): string[] =>
  (found.get(id) ?? []).map((entry) => `${entry.id} ${entry.relation}`);

describe('related indicators', () => {
  it('come curated first, then same concept, then correlated, then of the same topic', () => {
    const found = relatedTo(
      input(
        [
          { id: 'a.one', name: 'Thing', unit: 'kg', values: rising(40) },
          { id: 'b.one', name: 'Thing', unit: 'kg', values: rising(40) },
          { id: 'a.near', values: rising(40).map((x) => x ** 2) },
          { id: 'a.curated', values: scattered(40), topic: 'health' },
          { id: 'a.topical', values: scattered(40) },
          { id: 'a.elsewhere', values: scattered(40), topic: 'health' },
        ],
        [{ from: 'a.one', to: 'a.curated', relation: 'drives' }],
      ),
    );
    expect(short(found, 'a.one')).toEqual([
      'a.curated drives',
      'b.one same_concept',
      'a.near correlated',
      'a.topical related',
    ]);
    expect(short(found, 'a.curated')[0]).toBe('a.one drives');
  });

  it('are correlated from |ρ| 0.7 of either sign over 30 common countries, strongest first', () => {
    const down = rising(40).map((x) => -x);
    const bumpy = rising(40).map((x) => (x % 8 === 0 ? 40 - x : x));
    const found = relatedTo(
      input([
        { id: 'a.one', values: rising(40), topic: 'economy' },
        { id: 'a.bumpy', values: bumpy, topic: 'health' },
        { id: 'a.down', values: down, topic: 'energy' },
        { id: 'a.few', values: rising(29), topic: 'trade' },
        { id: 'a.scattered', values: scattered(40), topic: 'gender' },
      ]),
    );
    expect(short(found, 'a.one')).toEqual(['a.down correlated', 'a.bumpy correlated']);
    // Too few common countries for a correlation and none in its topic: by widest coverage, then input order.
    const ids = ['a.one', 'a.bumpy', 'a.down', 'a.scattered'];
    expect(short(found, 'a.few')).toEqual(ids.map((id) => `${id} related`));
  });

  it('fall back to the same topic by widest coverage, then to any topic', () => {
    const found = relatedTo(
      input([
        { id: 'a.one', values: [1] },
        { id: 'a.narrow', values: scattered(3) },
        { id: 'a.wide', values: scattered(9) },
        { id: 'a.lonely', values: [1], topic: 'gender' },
        { id: 'a.empty', topic: 'energy' },
      ]),
    );
    expect(short(found, 'a.one')).toEqual(['a.wide related', 'a.narrow related']);
    expect(short(found, 'a.lonely')[0]).toBe('a.wide related');
    expect(found.get('a.empty')).not.toHaveLength(0);
    expect(relatedTo(input([{ id: 'a.only', values: [1] }])).get('a.only')).toEqual([]);
  });

  it('are at most twelve, without itself or duplicates', () => {
    const given = Array.from({ length: 30 }, (_, index) => ({ id: `a.n${index}`, values: rising(40) }));
    const links = [
      { from: 'a.n0', to: 'a.n1', relation: 'first' },
      { from: 'a.n1', to: 'a.n0', relation: 'back' },
      { from: 'a.n0', to: 'a.gone', relation: 'nowhere' },
    ];
    for (const [id, entries] of relatedTo(input(given, links))) {
      expect(entries).toHaveLength(MAX_RELATED);
      const ids = entries.map((entry) => entry.id);
      expect(ids).not.toContain(id);
      expect(new Set(ids).size).toBe(ids.length);
    }
  });
});

describe('the same concept at two providers', () => {
  type Words = [provider: string, name: string, unit: string | null];
  const agree = { common: 100, rho: 0.999, medianDifference: 0.01 };
  const life: Words = ['a', 'Life expectancy', 'years'];
  const lived: Words = ['b', 'Years lived', 'years'];
  it.each<[string, boolean, Words, Words, Partial<typeof agree>?]>([
    [
      'the same name and unit',
      true,
      ['a', 'Rural population', 'people'],
      ['b', 'rural  Population', 'People'],
    ],
    [
      'a share',
      true,
      ['a', 'Access (% of population)', '% of population'],
      ['b', 'Access', 'percent of population'],
    ],
    ['the same unit and values', true, life, ['b', 'Expected life at birth', 'years']],
    ['other values', false, life, lived, { medianDifference: 0.2 }],
    ['another order', false, life, lived, { rho: 0.97 }],
    ['few values', false, life, lived, { common: 29 }],
    ['values that contradict the words', false, ['a', 'Thing', 'kg'], ['b', 'Thing', 'kg'], { rho: 0.4 }],
    ['one of a part', false, ['a', 'Life expectancy, male', 'years'], ['b', 'Life expectancy', 'years']],
    ['different parts', false, ['a', 'Urban population', 'people'], ['b', 'Rural inhabitants', 'people']],
    ['one provider', false, ['a', 'Thing', 'kg'], ['a', 'Thing', 'kg']],
    ['different units', false, ['a', 'Thing', 'kg'], ['b', 'Thing', 'tonnes']],
    ['no units', false, ['a', 'Some', null], ['b', 'Other', null]],
  ])('with %s: %s', (_, isSame, a, b, values) => {
    const [one, other] = [describeSeries(...a), describeSeries(...b)];
    expect(isSameConcept(one, other, () => ({ ...agree, ...values }))).toBe(isSame);
  });
});

const WORDS = [
  'life',
  'expectancy',
  'urban',
  'female',
  'rate',
  'of',
  'births',
  'gdp',
  '(total)',
  'exports',
  '12',
];
const anySeries = fc
  .tuple(
    fc.constantFrom('a', 'b', 'c'),
    fc.array(fc.constantFrom(...WORDS), { minLength: 1, maxLength: 6 }),
    fc.constantFrom(null, 'years', 'percent', '% of births', '% of GDP', 'people'),
  )
  .map(([provider, words, unit]): ConceptSeries => describeSeries(provider, words.join(' '), unit));

it('concept candidates include every pair whose words match', () => {
  fc.assert(
    fc.property(fc.array(anySeries, { maxLength: 60 }), (series) => {
      const brute = series.map((a, index) =>
        [...series.keys()].filter((other) => {
          const b = series[other];
          return other > index && b !== undefined && compareWords(a, b) !== 'no';
        }),
      );
      expect(conceptCandidates(series)).toEqual(brute);
    }),
  );
});

const COUNTRIES = 200;

/**
 * Families of series that follow a common ranking of countries, from nearly equal to barely similar, some inverted.
 * Every fourth has values for a third of the countries only.
 */
function families(count: number, members: number): Float64Array[] {
  const { next } = seededRandom(7);
  return Array.from({ length: count }, () => Array.from({ length: COUNTRIES }, next)).flatMap((hidden) =>
    Array.from({ length: members }, (_, member) => {
      const sign = member % 3 === 0 ? -1 : 1;
      return Float64Array.from(hidden, (value) => {
        const own = sign * value + (next() - 0.5) * (member / members);
        return member % 4 === 0 && next() < 0.66 ? Number.NaN : own;
      });
    }),
  );
}

describe('correlation candidates', () => {
  const values = families(40, 10);

  it('are none when there is nothing to compare', () => {
    const nothing = [Float64Array.from([Number.NaN, 1]), Float64Array.from([2, Number.NaN])];
    expect(correlationCandidates(nothing, 8)).toEqual([[], []]);
    expect(correlationCandidates([], 8)).toEqual([]);
  });

  it('lead to the same relations as comparing every pair', () => {
    const given = values.map((column, index) => ({ id: `p.s${index}`, values: [...column] }));
    const whole = input(given);
    const [all, sketched] = [findRelations(whole), findRelations(whole, 0)];
    const same = given.filter(
      ({ id }) => JSON.stringify(all.related.get(id)) === JSON.stringify(sketched.related.get(id)),
    );
    expect(same.length / given.length).toBeGreaterThan(0.97);
  });
});

/** The textbook definition: average ranks of the common subset, then Pearson's coefficient. */
function naiveRho(a: readonly number[], b: readonly number[]): number {
  const common = a.flatMap((x, index) => {
    const y = b[index] ?? Number.NaN;
    return Number.isNaN(x) || Number.isNaN(y) ? [] : [[x, y] as const];
  });
  const ranksOf = (values: number[]): number[] =>
    values.map((value) => {
      const less = values.filter((other) => other < value).length;
      const equal = values.filter((other) => other === value).length;
      return less + (equal + 1) / 2;
    });
  const x = ranksOf(common.map(([one]) => one));
  const y = ranksOf(common.map(([, other]) => other));
  const mean = (common.length + 1) / 2;
  const sum = (term: (index: number) => number): number =>
    x.reduce((total, _, index) => total + term(index), 0);
  const dx = (index: number): number => (x[index] ?? 0) - mean;
  const dy = (index: number): number => (y[index] ?? 0) - mean;
  const scale = Math.sqrt(sum((i) => dx(i) ** 2) * sum((i) => dy(i) ** 2));
  return common.length < 2 || scale === 0 ? 0 : sum((i) => dx(i) * dy(i)) / scale;
}

const COLUMN_LENGTH = 70;
const anyFigure = fc.oneof(
  { weight: 1, arbitrary: fc.constant(Number.NaN) },
  { weight: 3, arbitrary: fc.integer({ min: -5, max: 5 }) },
  { weight: 2, arbitrary: fc.double({ noNaN: true, noDefaultInfinity: true }) },
);
const anyColumn = fc.oneof(
  fc.array(anyFigure, { minLength: COLUMN_LENGTH, maxLength: COLUMN_LENGTH }),
  // No two of its values are equal.
  fc
    .uniqueArray(fc.integer(), { minLength: COLUMN_LENGTH, maxLength: COLUMN_LENGTH })
    .chain((values) =>
      fc
        .subarray([...values.keys()])
        .map((gaps) => values.map((one, at) => (gaps.includes(at) ? Number.NaN : one))),
    ),
);

it('Spearman equals the naive computation on any two columns, ties and gaps included, and counts common countries', () => {
  const spearman = new Spearman(COLUMN_LENGTH);
  fc.assert(
    fc.property(anyColumn, anyColumn, (a, b) => {
      const [x, y] = [sortByValue(Float64Array.from(a)), sortByValue(Float64Array.from(b))];
      const compared = spearman.compare(x, y);
      expect(compared.rho).toBeCloseTo(naiveRho(a, b), 12);
      expect(compared).toEqual(spearman.compare(y, x));
      const both = a.filter((one, index) => !Number.isNaN(one) && !Number.isNaN(b[index] ?? 0));
      expect(compared.common).toBe(both.length);
    }),
  );
});
