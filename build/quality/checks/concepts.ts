/** Series that seem to be of one concept, and that nobody has reviewed. */
import type { CheckContext, QualityCheck } from '../check.ts';
import { twinPairs } from '../twin-pairs.ts';
import { labelDoubt, quote } from './label-words.ts';

async function findUnreviewed(context: CheckContext) {
  return twinPairs(context)
    .filter(({ isReviewed }) => !isReviewed)
    .map(({ a: { record: a }, b: { record: b } }) => {
      const known = [a, b].flatMap(({ id }) => context.curated.concepts.of(id)?.concept.name ?? []);
      const where =
        known[0] === undefined ? 'neither is in a concept' : `one is of the concept ${quote(known[0])}`;
      const message = `${quote(a.name)} (${a.id}) and ${quote(b.name)} (${b.id}) agree in name, unit and figures; ${where}.`;
      return labelDoubt('unreviewed_twin', a.id, message, 1, b.id);
    });
}

export const concepts: QualityCheck = { kinds: ['unreviewed_twin'], find: findUnreviewed };
