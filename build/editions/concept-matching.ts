/**
 * Whether two providers' series measure one concept. A wrong link is worse than none, so words and figures must agree.
 *
 * Words: comparable units, the same part of the whole, and enough of the subject (see `concept-words.ts`). Figures:
 * with the same subject, nothing that contradicts it (vintages and definitions differ a little); with only most of the
 * subject, nearly the same order of countries *and* nearly the same values. What review finds besides stands in
 * `data/links.csv`; series in units of different size (millions, thousands) are linked only there.
 */
import { type ConceptWords, readConcept, unitsAgree, wordsInCommon } from './concept-vocabulary.ts';

/** Figures of two series over their common countries. */
export interface Agreement {
  common: number;
  rho: number;
  /** Middle of |a − b| / max(|a|, |b|) over the common countries. */
  medianDifference: number;
}

export interface Described extends ConceptWords {
  providerId: string;
}

export const MIN_COMMON = 30;
/** Most of the subject must be common. */
const MOST = 0.5;
const SAME_ORDER = 0.98;
/** Two vintages of one statistic differ by a few percent; two statistics in one unit by more. */
const SAME_VALUES = 0.05;
/** What a common subject needs of the figures. */
const PLAUSIBLE_ORDER = 0.9;
const PLAUSIBLE_VALUES = 0.2;

export function describe(providerId: string, name: string, unit: string | null): Described {
  return { providerId, ...readConcept(name, unit) };
}

/**
 * What words say of two series: `no`, or that figures decide, given the same subject or only most of it.
 * `name` means that the names are equal, too.
 */
export function compareWords(a: Described, b: Described): 'no' | 'name' | 'subject' | 'most' {
  if (a.providerId === b.providerId || a.parts !== b.parts || !unitsAgree(a.unit, b.unit)) return 'no';
  if (a.name === b.name) return 'name';
  const shared = wordsInCommon(a.subject, b.subject);
  if (shared < MOST || a.unit === null) return 'no';
  return shared === 1 ? 'subject' : 'most';
}

/** Whether two series of different providers are one concept; figures are only looked at where words allow it. */
export function isSameConcept(a: Described, b: Described, agreement: () => Agreement): boolean {
  const words = compareWords(a, b);
  if (words === 'no') return false;
  const { common, rho, medianDifference } = agreement();
  if (common < MIN_COMMON) return words === 'name';
  return words === 'most'
    ? rho >= SAME_ORDER && medianDifference <= SAME_VALUES
    : rho >= PLAUSIBLE_ORDER && medianDifference <= PLAUSIBLE_VALUES;
}

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
export function conceptCandidates(series: readonly Described[]): number[][] {
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
      return one !== undefined && another !== undefined && compareWords(one, another) !== 'no';
    });
    return fit.sort((a, b) => a - b);
  });
}
