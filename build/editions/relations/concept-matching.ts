/**
 * Finds series of different providers that measure one concept. A wrong link is worse than a missing one, so names,
 * units and figures must agree. Reviewed pairs are in `data/concept-series.csv`; series in units of different magnitude
 * (millions, thousands) are linked only there.
 */
import { type ConceptWords, readConcept, unitsAgree } from '../../quality/quality.ts';

/** Statistics over the countries that both series have. */
export interface Agreement {
  common: number;
  rho: number;
  /** Median of |a − b| / max(|a|, |b|). */
  medianDifference: number;
}

export interface ConceptSeries extends ConceptWords {
  providerId: string;
}

/** Fewer common countries are no evidence. */
export const MIN_COMMON = 30;
/** Minimum share of common subject words. */
const MIN_OVERLAP = 0.5;
/** Required when only most subject words agree. Vintages of one statistic differ by a few percent. */
const SAME_RHO = 0.98;
const SAME_DIFFERENCE = 0.05;
/** Required when all subject words agree. */
const PLAUSIBLE_RHO = 0.9;
const PLAUSIBLE_DIFFERENCE = 0.2;

export function describeSeries(providerId: string, name: string, unit: string | null): ConceptSeries {
  return { providerId, ...readConcept(name, unit) };
}

/**
 * Compares two series by their words: `no` match, equal `name`, equal `subject`, or `most` of the subject.
 * All but `no` still need figures that agree.
 */
export function compareWords(a: ConceptSeries, b: ConceptSeries): 'no' | 'name' | 'subject' | 'most' {
  if (a.providerId === b.providerId || a.parts !== b.parts || !unitsAgree(a.unit, b.unit)) return 'no';
  if (a.name === b.name) return 'name';
  const overlap = wordOverlap(a.subject, b.subject);
  if (overlap < MIN_OVERLAP || a.unit === null) return 'no';
  return overlap === 1 ? 'subject' : 'most';
}

/** Whether two series are one concept. `agreement` is called only when their words match. */
export function isSameConcept(a: ConceptSeries, b: ConceptSeries, agreement: () => Agreement): boolean {
  const words = compareWords(a, b);
  if (words === 'no') return false;
  const { common, rho, medianDifference } = agreement();
  if (common < MIN_COMMON) return words === 'name';
  return words === 'most'
    ? rho >= SAME_RHO && medianDifference <= SAME_DIFFERENCE
    : rho >= PLAUSIBLE_RHO && medianDifference <= PLAUSIBLE_DIFFERENCE;
}

/** The rarest half of a subject's words and one more. Two sets that share half of their elements share one of these. */
function blockingWords(subject: ReadonlySet<string>, frequency: ReadonlyMap<string, number>): string[] {
  const count = (word: string): number => frequency.get(word) ?? 0;
  return [...subject]
    .sort((a, b) => count(a) - count(b) || (a < b ? -1 : 1))
    .slice(0, Math.floor(subject.size / 2) + 1);
}

/**
 * Returns for each series the later ones whose words match, in ascending order, without comparing all pairs.
 *
 * Blocking (prefix filtering): series are grouped by parts, unit and each of their rarest words, and only members of
 * one group are compared. No pair with an overlap of at least one half is missed.
 */
export function conceptCandidates(series: readonly ConceptSeries[]): number[][] {
  const frequency = new Map<string, number>();
  for (const { subject } of series)
    for (const word of subject) frequency.set(word, (frequency.get(word) ?? 0) + 1);
  const groups = new Map<string, number[]>();
  const candidates: Set<number>[] = series.map(() => new Set<number>());
  for (const [index, one] of series.entries()) {
    const block = `${one.parts}\n${one.unit?.kind ?? ''}\n`;
    // The name is a key, too: its subject may be empty.
    for (const word of [...blockingWords(one.subject, frequency), `\n${one.name}`]) {
      const group = groups.get(block + word) ?? [];
      groups.set(block + word, group);
      for (const other of group) candidates[other]?.add(index);
      group.push(index);
    }
  }
  return candidates.map((others, index) => {
    const one = series[index];
    const matching = [...others].filter((other) => {
      const another = series[other];
      return one !== undefined && another !== undefined && compareWords(one, another) !== 'no';
    });
    return matching.sort((a, b) => a - b);
  });
}

/** Jaccard index of two word sets, 0 to 1. */
function wordOverlap(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  const common = [...a].filter((word) => b.has(word)).length;
  const all = a.size + b.size - common;
  return all === 0 ? 0 : common / all;
}
