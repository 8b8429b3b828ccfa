/**
 * Whether two providers' series measure one concept. A wrong link is worse than none, so two things must agree: the
 * words (name and unit), or the figures (nearly the same order of countries *and* nearly the same values in one unit, about the same part of the whole).
 * Words that agree are not believed against figures that do not.
 */

/** Figures of two series over their common countries. */
export interface Agreement {
  common: number;
  rho: number;
  /** Middle of |a − b| / max(|a|, |b|) over the common countries. */
  medianDifference: number;
}

/** What a series is called, in one spelling, so that equal means equal. */
export interface Described {
  providerId: string;
  name: string;
  unit: string | null;
  /** Which part of a whole it is about, as far as its name says. */
  qualifiers: string;
}

export const MIN_COMMON = 30;
const SAME_ORDER = 0.98;
/** Agreeing names need no more than figures that do not contradict them: vintages and definitions differ a little. */
const PLAUSIBLE_ORDER = 0.9;
/** Two vintages of one statistic differ by a few percent; two statistics in one unit by more. */
const SAME_VALUES = 0.05;

const UNIT_WORDS: readonly [RegExp, string][] = [
  [/\bper\s?cent(age)?\b|\bpct\b/g, '%'],
  [/\bus dollars?\b|\busd\b|\bcurrent us\$/g, 'us$'],
  [/\b(years? of age|yrs?)\b/g, 'years'],
];

/** Lower case, without accents, punctuation and spare spaces. */
function plainWords(text: string): string {
  return text
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}%$+]+/gu, ' ')
    .trim();
}

/** A unit in one spelling; null when nothing is said. */
export function normaliseUnit(unit: string | null): string | null {
  if (unit === null) return null;
  const said = UNIT_WORDS.reduce(
    (text, [pattern, word]) => text.replaceAll(pattern, word),
    unit.toLowerCase(),
  );
  return plainWords(said) || null;
}

/** A name in one spelling, without the unit that some providers put in brackets behind it. */
export function normaliseName(name: string, unit: string | null): string {
  const bracket = /^(.*\S)\s*\(([^()]*)\)\s*$/.exec(name);
  const isUnit =
    bracket?.[2] !== undefined && unit !== null && normaliseUnit(bracket[2]) === normaliseUnit(unit);
  return plainWords(isUnit ? (bracket[1] ?? name) : name);
}

/** Words that make two statistics of one: they must be the same on both sides, whatever the figures say. */
const QUALIFIERS: readonly [string, RegExp][] = [
  ['female', /\b(females?|women|girls?)\b/],
  ['male', /\b(males?|men|boys?)\b/],
  ['urban', /\burban\b/],
  ['rural', /\brural\b/],
  ['youth', /\b(youth|young)\b/],
  ['adult', /\badults?\b/],
  ['primary', /\bprimary\b/],
  ['secondary', /\bsecondary\b/],
  ['tertiary', /\btertiary\b/],
  ['exports', /\bexports?\b/],
  ['imports', /\bimports?\b/],
];

const qualifiersOf = (name: string): string =>
  QUALIFIERS.filter(([, pattern]) => pattern.test(name))
    .map(([word]) => word)
    .join();

export function describe(providerId: string, name: string, unit: string | null): Described {
  const plain = normaliseName(name, unit);
  return { providerId, name: plain, unit: normaliseUnit(unit), qualifiers: qualifiersOf(plain) };
}

/** Whether two series of different providers are one concept; figures are only looked at where words allow it. */
export function isSameConcept(a: Described, b: Described, agreement: () => Agreement): boolean {
  if (a.providerId === b.providerId || a.unit !== b.unit) return false;
  const namesAgree = a.name === b.name;
  if (!namesAgree && (a.unit === null || a.qualifiers !== b.qualifiers)) return false;
  const { common, rho, medianDifference } = agreement();
  if (namesAgree) return common < MIN_COMMON || rho >= PLAUSIBLE_ORDER;
  return common >= MIN_COMMON && rho >= SAME_ORDER && medianDifference <= SAME_VALUES;
}
