/** Concepts whose preferred series is not published, and series that seem to be of one and that nobody has reviewed. */
import type { FoundDoubt } from '../../../data/schema/quality.ts';
import type { CheckContext, QualityCheck } from '../check.ts';
import { twinPairs } from '../twin-pairs.ts';
import { labelDoubt, quote } from './label-words.ts';

/** A preferred series that upstream does not have is told by the run of its provider instead. */
function unpublishedPreferred({ curated, series, withheld }: CheckContext): FoundDoubt[] {
  return [...curated.concepts.members.values()].flatMap((members) => {
    const published = members.flatMap((member) => series.get(member.series.indicator) ?? []);
    const [{ concept } = {}, [first]] = [members[0], published];
    if (!concept || !first || !withheld.has(concept.preferred)) return [];
    const message = `The concept ${quote(concept.name)} prefers ${concept.preferred}, which is not published; ${quote(first.record.name)} (${first.record.id}) is.`;
    return [labelDoubt('preferred_not_published', first.record.id, message, published.length)];
  });
}

function unreviewedTwins(context: CheckContext): FoundDoubt[] {
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

export const concepts: QualityCheck = {
  kinds: ['preferred_not_published', 'unreviewed_twin'],
  find: async (context) => [...unpublishedPreferred(context), ...unreviewedTwins(context)],
};
