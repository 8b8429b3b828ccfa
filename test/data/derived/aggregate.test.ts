/** Figures of groups against a recomputation by their definition, written without a look at the code. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type AggregateMethod,
  type Containment,
  type GroupMember,
  groupFigures,
  yearValues,
} from '../../../data/derived/aggregate.ts';
import { type Country, expectedMean, expectedSum, type Row } from '../../group-figures.ts';

const memberOf = ({ iso3, figures, divisors }: Country, hidden: number[] = []): GroupMember => ({
  iso3,
  figures: yearValues(figures),
  divisors: yearValues(divisors),
  hidden: hidden.length === 0 ? null : new Set(hidden),
});

const figuresOf = (method: AggregateMethod, countries: readonly Country[]) =>
  groupFigures(
    method,
    countries.map((one) => memberOf(one)),
    [],
  );
function expected(method: AggregateMethod, countries: readonly Country[]) {
  const years = [...new Set(countries.flatMap(({ figures }) => figures.map(({ year }) => year)))];
  return years
    .sort((a, b) => a - b)
    .flatMap((year) => {
      const found = (method === 'sum' ? expectedSum : expectedMean)(countries, year);
      if (found.counted === 0) return [];
      const coverage = Math.round(found.coverage * 1e6) / 1e6;
      const isCovered = coverage >= 0.666667 - 1e-12;
      return [
        {
          year,
          ...found,
          coverage,
          members: countries.length,
          value: isCovered ? found.value : null,
          reason: isCovered ? null : 'coverage',
        },
      ];
    });
}

const value = fc.oneof(fc.double({ min: -1e9, max: 1e9, noNaN: true }), fc.integer({ min: -5, max: 5 }));
const rows = (values: fc.Arbitrary<number>): fc.Arbitrary<Row[]> =>
  fc
    .uniqueArray(
      fc.record({ year: fc.integer({ min: 1990, max: 2002 }), value: values, projected: fc.boolean() }),
      {
        selector: ({ year }) => year,
        maxLength: 13,
      },
    )
    .map((all) => all.sort((a, b) => a.year - b.year));
const countries = fc
  .uniqueArray(
    fc.record({
      iso3: fc.stringMatching(/^[A-Z]{3}$/),
      figures: rows(value),
      divisors: rows(fc.oneof(fc.double({ min: 0, max: 1e9, noNaN: true }), fc.constant(-1))),
    }),
    { selector: ({ iso3 }) => iso3, minLength: 1, maxLength: 8 },
  )
  .map((all) => all.sort((a, b) => (a.iso3 < b.iso3 ? -1 : 1)));

const people = (value: number): Row[] => [{ year: 2000, value, projected: false }];
const flat = (iso3: string, size: number, from: number, to: number): Country => ({
  iso3,
  figures: Array.from({ length: to - from + 1 }, (_, at) => ({
    year: from + at,
    value: size,
    projected: false,
  })),
  divisors: people(size),
});

describe('figures of a group', () => {
  it.each(['sum', 'mean'] as const)('are equal to the bit to a recomputation: %s', (method) => {
    fc.assert(
      fc.property(countries, (all) => {
        expect(figuresOf(method, all)).toEqual(expected(method, all));
      }),
      { numRuns: 500 },
    );
  });

  it('fall as members are missing, and are null below two thirds', () => {
    const all = [flat('AAA', 60, 2000, 2000), flat('BBB', 30, 1999, 1999), flat('CCC', 30, 1999, 2000)];
    expect(figuresOf('sum', all)).toMatchObject([
      { year: 1999, value: null, counted: 2, coverage: 0.5, reason: 'coverage' },
      { year: 2000, value: 90, counted: 2, coverage: 0.75, reason: null },
    ]);
  });

  it('count members without any figure by their population', () => {
    const never: Country = { iso3: 'ZZZ', figures: [], divisors: people(100) };
    const found = figuresOf('sum', [flat('AAA', 300, 2000, 2000), never]);
    expect(found).toMatchObject([{ value: 300, members: 2, counted: 1, coverage: 0.75 }]);
  });

  it('are null with a member whose figure must not be published', () => {
    const hidden = memberOf({ ...flat('BBB', 1, 2000, 2000), figures: [] }, [2000]);
    const found = groupFigures('sum', [memberOf(flat('AAA', 300, 1999, 2000)), hidden], []);
    expect(found).toMatchObject([
      { year: 1999, value: 300 },
      { year: 2000, value: null, coverage: 0, reason: 'withheld' },
    ]);
  });
});

describe('territories', () => {
  const pair = (contained: boolean | null, from = 2000): Containment => ({
    parent: 'FRA',
    child: 'REU',
    from,
    to: 2005,
    contained,
  });
  const all = [flat('DEU', 80, 1999, 2001), flat('FRA', 66, 1999, 2001), flat('REU', 1, 1999, 2001)];
  const members = all.map((one) => memberOf(one));
  const figures = (containment: Containment, of = members) => groupFigures('sum', of, [containment]);

  it('count once where the other figure includes them, in the years for which that holds', () => {
    expect(figures(pair(true))).toMatchObject([
      { year: 1999, value: 147, members: 3, counted: 3 },
      { year: 2000, value: 146, members: 2, counted: 2, coverage: 1 },
      { year: 2001, value: 146 },
    ]);
    expect(figures(pair(false)).map(({ value }) => value)).toEqual([147, 147, 147]);
  });

  it('count by themselves while the other place has no figure or is no member', () => {
    const late = [
      memberOf(flat('DEU', 80, 2000, 2001)),
      memberOf(flat('FRA', 66, 2001, 2001)),
      ...members.slice(2),
    ];
    expect(figures(pair(true), late)).toMatchObject([
      { year: 1999, counted: 1 },
      { year: 2000, counted: 2 },
      { year: 2001, counted: 2 },
    ]);
    expect(figures(pair(true), members.slice(2))).toMatchObject([{ value: 1 }, { value: 1 }, { value: 1 }]);
  });

  it('count in a mean where the other place has no weight', () => {
    const weightless: Country = { ...flat('FRA', 66, 2000, 2000), divisors: [] };
    const child = memberOf({ ...flat('REU', 1, 2000, 2000), divisors: people(5) });
    for (const contained of [true, null])
      expect(groupFigures('mean', [memberOf(weightless), child], [pair(contained)])).toMatchObject([
        { value: 1, counted: 1, members: 2, coverage: 1, reason: null },
      ]);
  });

  it('leave no figure where nobody has decided and both have one', () => {
    expect(figures(pair(null))).toMatchObject([
      { value: 147, reason: null },
      { value: null, reason: 'territory' },
      { value: null, reason: 'territory' },
    ]);
    const alone = [...members.slice(0, 2), memberOf({ iso3: 'REU', figures: [], divisors: people(1) })];
    expect(figures(pair(null), alone).every(({ value }) => value === 146)).toBe(true);
  });
});
