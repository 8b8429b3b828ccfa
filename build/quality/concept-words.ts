/**
 * Normalises the name and the unit of a series, so that the words of two providers can be compared:
 *
 * - the *unit* in one spelling, with its kind (%, count, per 1,000 people, US$) and, where stated, its base;
 * - the *subject*: the words that tell statistics apart, without brackets and filler words, synonyms unified;
 * - the *parts*: words that split a statistic (female, rural, ages 15 to 24, exports, constant prices, per person).
 *   They must be equal on both sides, even when the values agree.
 *
 * The words are in `data/label-words.csv`: what they mean, by what they are used for, in the file's order. `said` is a
 * regular expression over normalised text; a `$1` in `means` stands for the groups that matched.
 */
import { fileURLToPath } from 'node:url';
import { Problems, readTable } from '../../data/curated/table.ts';
import type { SeriesTraits } from '../../data/schema/traits.ts';

const FILE = fileURLToPath(new URL('../../data/label-words.csv', import.meta.url));

interface LabelWord {
  use: string;
  means: string;
  said: RegExp;
}

/** @throws {CuratedError} for an expression that does not compile. */
function readWords(): LabelWord[] {
  const problems = new Problems();
  const words = readTable(FILE, ['use', 'means', 'said'], [], problems).flatMap(({ cells, ...at }) => {
    try {
      return [{ use: cells.use ?? '', means: cells.means ?? '', said: new RegExp(cells.said ?? '') }];
    } catch (error) {
      problems.add(at, `said: ${error instanceof Error ? error.message : error}`);
      return [];
    }
  });
  problems.throwIfAny();
  return words;
}

const WORDS = readWords();

/** The words of one use. */
export const wordsFor = (use: string): (readonly [said: RegExp, means: string])[] =>
  WORDS.filter((word) => word.use === use).map(({ said, means }) => [said, means]);

/** The words whose use begins so, with the rest of it. */
export const wordsOfKinds = (start: string): (readonly [kind: string, means: string, said: RegExp])[] =>
  WORDS.filter(({ use }) => use.startsWith(start)).map(({ use, means, said }) => [
    use.slice(start.length),
    means,
    said,
  ]);

/** Lower case, without accents, thousands separators, punctuation and repeated spaces. */
export function normalise(text: string): string {
  return text
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll(/(\d)[,\u00a0 ](?=\d{3}\b)/g, '$1')
    .replaceAll(/[^\p{L}\p{N}%$+.<>]+/gu, ' ')
    .replaceAll(/\.(?!\d)/g, ' ')
    .replaceAll(/ +/g, ' ')
    .trim();
}

type Rewrite = readonly [RegExp, string];
/** Words that are replaced wherever they stand. */
const everywhere = (use: string): Rewrite[] =>
  wordsFor(use).map(([said, means]) => [new RegExp(said, 'g'), means]);
const rewrite = (text: string, rules: readonly Rewrite[]): string =>
  rules
    .reduce((result, [pattern, word]) => result.replaceAll(pattern, word), text)
    .replaceAll(/ +/g, ' ')
    .trim();

/** Equivalent spellings in names and units. */
const SPELLINGS = everywhere('spelling');

const UNIT_SPELLINGS = everywhere('spelling of units');

export interface Unit {
  kind: string;
  /** The base of a share or the thing counted; null when not stated. */
  of: string | null;
}

/** Units that count something. */
const COUNTED = /^(people|number|deaths|children|boys|girls|subscriptions|cases|new cases)$/;

/** Parses a unit; null when there is none. */
function readUnit(unit: string | null): Unit | null {
  if (unit === null) return null;
  const text = rewrite(rewrite(normalise(unit), SPELLINGS), UNIT_SPELLINGS);
  if (text === '') return null;
  const share = /^% (?:of )?(.+)$/.exec(text);
  if (share?.[1]) return { kind: '%', of: share[1].replace(/^total /, '') };
  if (text === '% of total') return { kind: '%', of: null };
  const rate = /^(.*?) ?per (\d+) (.+)$/.exec(text);
  if (rate) return { kind: `per ${rate[2]} ${rate[3]}`, of: rate[1] || null };
  if (COUNTED.test(text)) return { kind: 'count', of: text === 'number' ? null : text };
  const perPerson = /^(.+) per person$/.exec(text);
  return { kind: perPerson?.[1] ?? text, of: null };
}

/** Whether two units can belong to one statistic: the same kind, and no different bases. */
export function unitsAgree(a: Unit | null, b: Unit | null): boolean {
  if (!a || !b) return a === b;
  if (a.kind !== b.kind) return false;
  return a.of === b.of || a.of === null || b.of === null || a.of === 'total' || b.of === 'total';
}

/** Synonyms. Longer phrases come first. */
const SYNONYMS = everywhere('synonym');

/** Filler words that do not tell statistics apart. */
export const FILLER: ReadonlySet<string> = new Set(
  `the of in at by and to for from with a an on as or which that who are is be per person rate ratio total overall
   share proportion number annual estimated estimate modeled modelled ilo data source individuals people population
   persons ages age aged years year old older above birth live births any all value added including
   construction > % us$ km2 cme who wb ihme igme maddison project projections long series held worldwide net
   crude edition 2018 estimates`.split(/\s+/),
);
/** Filler words that are the subject when nothing else is left. */
const FALLBACK_SUBJECTS = new Set(['population', 'births', 'people']);

/** Words in a name or a unit that split a statistic. */
export const PARTS: readonly Rewrite[] = wordsFor('part');

export interface ConceptWords {
  /** The normalised name. */
  name: string;
  subject: ReadonlySet<string>;
  parts: string;
  unit: Unit | null;
}

/** Parses the name and the unit of a series. */
export function readConcept(name: string, unit: string | null): ConceptWords {
  const whole = rewrite(normalise(name), SPELLINGS);
  const bare = rewrite(normalise(name.replaceAll(/\([^()]*\)/g, ' ')), SPELLINGS);
  const text = `${whole} ${unit === null ? '' : rewrite(rewrite(normalise(unit), SPELLINGS), UNIT_SPELLINGS)}`;
  const parts = PARTS.flatMap(([pattern, word]) => (pattern.test(text) ? [word] : []));
  return { name: bare, subject: subjectOf(bare), parts: parts.join(), unit: readUnit(unit) };
}

const SEXES = ['female', 'male'] as const;
const AGE = /^\d+(?:-\d+|\+)$/;
/** Words of units for powers of ten. */
const SCALES = wordsFor('power of ten in amounts');

/** What splits a series from others of its subject. */
export function readTraits(name: string, unit: string | null): Omit<SeriesTraits, 'concept' | 'measured'> {
  const words = readConcept(name, unit);
  const parts = words.parts.split(',').filter((part) => part !== '');
  const sex = SEXES.filter((one) => parts.includes(one));
  const age = parts.find((part) => AGE.test(part)) ?? null;
  const amount = normalise(unit ?? '').replace(/\bper\b.*/, '');
  return {
    sex: sex.length === 1 ? (sex[0] ?? null) : null,
    age,
    unit: words.unit?.kind ?? null,
    scale: Number(SCALES.find(([pattern]) => pattern.test(amount))?.[1] ?? 0),
    variants: parts.filter((part) => part !== age && !SEXES.some((one) => one === part)),
  };
}

function subjectOf(bare: string): ReadonlySet<string> {
  const words = rewrite(bare, SYNONYMS).split(' ');
  const specific = words.filter((word) => !FILLER.has(word));
  return new Set(specific.length > 0 ? specific : words.filter((word) => FALLBACK_SUBJECTS.has(word)));
}
