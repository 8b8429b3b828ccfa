/** Candidate selection for relations, used beyond the number of indicators up to which every pair is compared. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type ConceptSeries,
  compareWords,
  conceptCandidates,
  describeSeries,
} from '../../../build/editions/relations/concept-matching.ts';
import { correlationCandidates } from '../../../build/editions/relations/correlation-candidates.ts';
import { findRelations } from '../../../build/editions/relations/relations.ts';
import { Spearman, sortByValue } from '../../../build/editions/relations/spearman.ts';
import { Concepts } from '../../../data/curated/concepts.ts';

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

describe('concept candidates', () => {
  it('include every pair whose words match', () => {
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
});

const COUNTRIES = 200;

/** A seeded generator of numbers between 0 and 1. */
function noise(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) >>> 0;
    return state / 2 ** 32;
  };
}

/**
 * Families of series that follow a common ranking of countries, from nearly equal to barely similar, some inverted.
 * Every fourth has values for a third of the countries only.
 */
function families(count: number, members: number): Float64Array[] {
  const next = noise(7);
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
  const orders = values.map(sortByValue);
  const spearman = new Spearman(COUNTRIES);
  const strength = (a: number, b: number): number => {
    const [one, other] = [orders[a], orders[b]];
    if (!one || !other || a === b || spearman.common(one, other) < 30) return 0;
    return Math.abs(spearman.rho(one, other));
  };
  const strongest = (a: number): number[] => {
    const strengths = values.map((_, b) => strength(a, b));
    const at = (b: number): number => strengths[b] ?? 0;
    return [...values.keys()].filter((b) => at(b) >= 0.7).sort((b, c) => at(c) - at(b));
  };

  it('include nearly all that exact comparison of every pair finds, and at most `keep`', () => {
    const found = correlationCandidates(values, 16);
    let wanted = 0;
    let met = 0;
    for (const [a, partners] of found.entries()) {
      expect(partners.length).toBeLessThanOrEqual(16);
      expect(partners).not.toContain(a);
      expect(new Set(partners).size).toBe(partners.length);
      const exact = strongest(a).slice(0, 9);
      wanted += exact.length;
      met += exact.filter((b) => partners.includes(b)).length;
    }
    expect(wanted).toBeGreaterThan(1000);
    expect(met / wanted).toBeGreaterThan(0.97);
  });

  it('are deterministic, and empty when there is nothing to compare', () => {
    expect(correlationCandidates(values, 8)).toEqual(correlationCandidates(values, 8));
    const nothing = [Float64Array.from([Number.NaN, 1]), Float64Array.from([2, Number.NaN])];
    expect(correlationCandidates(nothing, 8)).toEqual([[], []]);
    expect(correlationCandidates([], 8)).toEqual([]);
  });

  it('lead to the same relations as comparing every pair', () => {
    const credit = { licence: 'CC BY 4.0', licence_url: null, attribution: 'A' };
    const indicators = values.map((_, index) => ({
      id: `p.s${index}`,
      providerId: 'p',
      record: {
        id: `p.s${index}`,
        name: `s${index}`,
        description: null,
        unit: null,
        topic: 'economy',
        higher_is_better: null,
        preferred: false,
        featured: false,
        access_tier: 'open' as const,
        no_rank: false,
        ...credit,
        provider: { id: 'p', name: 'P', ...credit },
      },
    }));
    const cells = values.flatMap((column, index) =>
      [...column.entries()].map(([country, value]) => ({ id: `p.s${index}`, country, value })),
    );
    const held = cells.filter(({ value }) => !Number.isNaN(value));
    const latest = {
      indicator: held.map(({ id }) => id),
      iso3: held.map(({ country }) => String(1000 + country)),
      year: held.map(() => 2000),
      value: held.map(({ value }) => value),
      rank: held.map(() => null),
      rankDelta: held.map(() => null),
    };
    const input = { indicators, coverage: new Map(), latest, concepts: new Concepts([]), links: [] };
    const [all, sketched] = [findRelations(input), findRelations(input, 0)];
    const same = indicators.filter(
      ({ id }) => JSON.stringify(all.related.get(id)) === JSON.stringify(sketched.related.get(id)),
    );
    expect(same.length / indicators.length).toBeGreaterThan(0.97);
  });
});
