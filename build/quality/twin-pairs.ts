/** Pairs of published series of one concept: the reviewed ones, and those that the build takes for one. */
import type { ConceptDeviation } from '../../data/schema/curated.ts';
import type { CheckContext, CheckedSeries } from './check.ts';

/** Two series of one concept, ordered by id. */
export interface TwinPair {
  a: CheckedSeries;
  b: CheckedSeries;
  /** In what one of the two differs from its concept for a reason that was given. */
  explained: ReadonlySet<ConceptDeviation>;
  /** Whether their figures are in units of different size, as reviewed. */
  isScaled: boolean;
  isReviewed: boolean;
}

export function twinPairs({ concepts, curated, series }: CheckContext): TwinPair[] {
  const pairs = new Map<string, TwinPair>();
  const add = (ids: [string, string], review: Omit<TwinPair, 'a' | 'b'>): void => {
    const [first = '', second = ''] = ids.toSorted();
    const [a, b] = [series.get(first), series.get(second)];
    if (a && b && !pairs.has(`${first} ${second}`)) pairs.set(`${first} ${second}`, { a, b, ...review });
  };
  for (const [{ series: one }, { series: other }] of curated.concepts.pairs()) {
    add([one.indicator, other.indicator], {
      explained: new Set([...one.deviates, ...other.deviates]),
      isScaled: one.factor !== other.factor,
      isReviewed: true,
    });
  }
  for (const { a, b } of concepts) add([a, b], { explained: new Set(), isScaled: false, isReviewed: false });
  return [...pairs.values()];
}
