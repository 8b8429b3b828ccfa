import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Spearman, sortByValue } from '../../../build/editions/relations/spearman.ts';

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

const COUNTRIES = 70;
const value = fc.oneof(
  { weight: 1, arbitrary: fc.constant(Number.NaN) },
  { weight: 3, arbitrary: fc.integer({ min: -5, max: 5 }) },
  { weight: 2, arbitrary: fc.double({ noNaN: true, noDefaultInfinity: true }) },
);
const column = fc.oneof(
  fc.array(value, { minLength: COUNTRIES, maxLength: COUNTRIES }),
  // No two of its values are equal.
  fc
    .uniqueArray(fc.integer(), { minLength: COUNTRIES, maxLength: COUNTRIES })
    .chain((values) =>
      fc
        .subarray([...values.keys()])
        .map((gaps) => values.map((one, at) => (gaps.includes(at) ? Number.NaN : one))),
    ),
);

describe('Spearman', () => {
  it('equals the naive computation on any two columns, ties and gaps included', () => {
    const spearman = new Spearman(COUNTRIES);
    fc.assert(
      fc.property(column, column, (a, b) => {
        const [x, y] = [sortByValue(Float64Array.from(a)), sortByValue(Float64Array.from(b))];
        expect(spearman.rho(x, y)).toBeCloseTo(naiveRho(a, b), 12);
        expect(spearman.rho(x, y)).toBe(spearman.rho(y, x));
      }),
    );
  });

  it('counts common countries', () => {
    const spearman = new Spearman(COUNTRIES);
    fc.assert(
      fc.property(column, column, (a, b) => {
        const both = a.filter((x, index) => !Number.isNaN(x) && !Number.isNaN(b[index] ?? 0)).length;
        expect(spearman.common(sortByValue(Float64Array.from(a)), sortByValue(Float64Array.from(b)))).toBe(
          both,
        );
      }),
    );
  });

  it('is 1, -1 and 0 for equal, opposite and constant rankings', () => {
    const spearman = new Spearman(4);
    const up = sortByValue(Float64Array.of(1, 2, 3, 4));
    const steep = sortByValue(Float64Array.of(1, 10, 1000, 1e9));
    const down = sortByValue(Float64Array.of(4, 3, 2, 1));
    const flat = sortByValue(Float64Array.of(7, 7, 7, 7));
    expect(spearman.rho(up, steep)).toBe(1);
    expect(spearman.rho(up, down)).toBe(-1);
    expect(spearman.rho(up, flat)).toBe(0);
  });
});
