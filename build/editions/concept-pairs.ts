/**
 * Which pairs of series may measure one concept, by their words alone, without looking at every pair.
 *
 * Two series that can be one concept have the same parts, comparable units, and at least half of their words in common.
 * Sets with half of their elements in common share an element even when each shows only its rarer half and one more.
 * So every series is filed under those few words, and only series that meet under a word are looked at. Nothing is
 * missed, and frequent words, under which everybody would meet, are hardly ever among the rarer half.
 */
import { type Described, mayBeOneConcept } from './same-concept.ts';

/** Words of the subject that are enough to meet under, the rarest first. */
function telling(subject: ReadonlySet<string>, frequency: ReadonlyMap<string, number>): string[] {
  const often = (word: string): number => frequency.get(word) ?? 0;
  return [...subject]
    .sort((a, b) => often(a) - often(b) || (a < b ? -1 : 1))
    .slice(0, Math.floor(subject.size / 2) + 1);
}

/**
 * For each series, the later ones that may be one concept with it, in ascending order.
 * @param series in any order.
 */
export function conceptPairs(series: readonly Described[]): number[][] {
  const frequency = new Map<string, number>();
  for (const { subject } of series)
    for (const word of subject) frequency.set(word, (frequency.get(word) ?? 0) + 1);
  const files = new Map<string, number[]>();
  const partners: Set<number>[] = series.map(() => new Set<number>());
  for (const [index, one] of series.entries()) {
    const block = `${one.parts}\n${one.unit?.kind ?? ''}\n`;
    // Series of one name may have no telling word at all.
    for (const word of [...telling(one.subject, frequency), `\n${one.name}`]) {
      const file = files.get(block + word) ?? [];
      files.set(block + word, file);
      for (const other of file) partners[other]?.add(index);
      file.push(index);
    }
  }
  return partners.map((met, index) => {
    const one = series[index];
    const fit = [...met].filter((other) => {
      const another = series[other];
      return one !== undefined && another !== undefined && mayBeOneConcept(one, another) !== 'no';
    });
    return fit.sort((a, b) => a - b);
  });
}
