/**
 * Simulated coverage of rank intervals: true values with ties, estimates with normal errors, and how often the interval
 * of each country contains its true rank, or all the ranks that it shares.
 */
import { bdtr, ndtri } from 'cephes';
import { describe, expect, it } from 'vitest';
import {
  CriticalFactors,
  compareCountries,
  type Estimate,
} from '../../../build/editions/tables/rank-intervals.ts';

const ROUNDS = 1000;
const LEVELS = [0.8, 0.9, 0.95];
/** A correct method fails any of the comparisons below with this probability. */
const FALSE_ALARM = 1e-4;

const numbers = (count: number, at: (index: number) => number): number[] =>
  Array.from({ length: count }, (_, i) => at(i));

/** True values, best first, and standard errors. The names say why a case is hard. */
const CASES: Record<string, { truth: number[]; errors: number[] }> = {
  'two equal countries': { truth: [0, 0], errors: [1, 1] },
  'two near countries, one of them nearly certain': { truth: [1, 0], errors: [1, 0.01] },
  'five, three of them equal': { truth: [9, 4, 4, 4, 0], errors: [1, 2, 1, 0.5, 1] },
  'twenty equal countries': { truth: numbers(20, () => 0), errors: numbers(20, () => 1) },
  'twenty equal countries with unequal errors': {
    truth: numbers(20, () => 5),
    errors: numbers(20, (i) => 1.5 ** (i / 4)),
  },
  'twenty at steps of half an error': { truth: numbers(20, (i) => -i / 2), errors: numbers(20, () => 1) },
  'thirty in tied pairs at steps of three errors': {
    truth: numbers(30, (i) => -3 * Math.floor(i / 2)),
    errors: numbers(30, (i) => 0.5 + (i % 3) / 2),
  },
  'sixty: two clusters of equals far apart': {
    truth: numbers(60, (i) => (i < 20 ? 50 : 0)),
    errors: numbers(60, (i) => 1 + (i % 7)),
  },
  'sixty at growing steps, some certain': {
    truth: numbers(60, (i) => -(i ** 1.5) / 10),
    errors: numbers(60, (i) => (i % 10 === 0 ? 0 : 1 + (i % 4))),
  },
};

/** Mulberry32: uniform on (0, 1), reproducible. */
function createUniform(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return (((mixed ^ (mixed >>> 14)) >>> 0) + 0.5) / 2 ** 32;
  };
}

/** An estimate of a value and its bounds. */
type Draw = (truth: number, error: number, z: number, deviation: number) => Estimate;

const symmetric: Draw = (truth, error, z, deviation) => ({
  score: truth + error * deviation,
  marginBelow: z * error,
  marginAbove: z * error,
});

/** Errors in proportion to the value, as of rates: normal on the logarithmic scale, with bounds to match. */
const proportional: Draw = (truth, error, z, deviation) => {
  const score = Math.exp((truth + error * deviation) / 10);
  return {
    score,
    marginBelow: score * (1 - Math.exp((-z * error) / 10)),
    marginAbove: score * (Math.exp((z * error) / 10) - 1),
  };
};

/** How often the interval of each country contained its true ranks, and the average number of ranks outside. */
function simulate({ truth, errors }: { truth: number[]; errors: number[] }, level: number, draw: Draw) {
  const uniform = createUniform(truth.length * 1000 + level * 100);
  const factors = new CriticalFactors(level);
  const z = -ndtri((1 - level) / 2);
  const covered = truth.map(() => 0);
  let excluded = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    const drawn = truth
      .map((value, country) => ({
        country,
        value,
        ...draw(value, errors[country] ?? 0, z, ndtri(uniform())),
      }))
      .sort((a, b) => b.score - a.score);
    compareCountries(drawn, factors).forEach(({ better, worse }, index) => {
      const { country = 0, value = 0 } = drawn[index] ?? {};
      excluded += better + worse;
      const trulyBetter = truth.filter((other) => other > value).length;
      const trulyWorse = truth.filter((other) => other < value).length;
      if (better <= trulyBetter && worse <= trulyWorse) covered[country] = (covered[country] ?? 0) + 1;
    });
  }
  return { covered, excluded: excluded / ROUNDS / truth.length };
}

const COMPARISONS =
  2 * LEVELS.length * Object.values(CASES).reduce((sum, { truth }) => sum + truth.length, 0);

/** Countries whose coverage would be this low with a probability below what one comparison may have. */
const tooLow = (covered: number[], level: number): number[] =>
  covered.filter((count) => bdtr(count, ROUNDS, level) < FALSE_ALARM / COMPARISONS);

describe('rank intervals contain the true rank with at least the declared level', () => {
  describe.each(Object.entries(CASES))('of %s', (_name, one) => {
    it.each(LEVELS)('with normal errors, at %d', (level) => {
      expect(tooLow(simulate(one, level, symmetric).covered, level)).toEqual([]);
    });

    it.each(LEVELS)('with errors in proportion to the value, at %d', (level) => {
      expect(tooLow(simulate(one, level, proportional).covered, level)).toEqual([]);
    });
  });

  it('and still exclude what is far away', () => {
    const clusters = simulate(
      CASES['sixty: two clusters of equals far apart'] ?? { truth: [], errors: [] },
      0.95,
      symmetric,
    );
    // A country of 20 excludes 40 others, one of 40 excludes 20: 26.7 on average.
    expect(clusters.excluded).toBeGreaterThan(26);
    const two = simulate({ truth: [0, 0], errors: [1, 1] }, 0.9, symmetric);
    // Two equal countries are told apart as often as the level allows, in either direction.
    expect(two.excluded).toBeGreaterThan(0.08);
  });
});
