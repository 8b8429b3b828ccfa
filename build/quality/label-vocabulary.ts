/**
 * Reads what the words of a label claim about its figures: measure, denominator, base of a share, currency, prices, part
 * of the population, the direction and the topic that plain words imply.
 *
 * Two texts of one series contradict when both claim something of an aspect and nothing in common. The words are in
 * `data/label-words.csv`.
 */
import { FILLER, normalise, PARTS, wordsFor, wordsOfKinds } from './concept-words.ts';

/** `measure`, `denominator`, `base`, `currency`, `sex` and so on. */
export type Aspect = string;

/** What a text says of an aspect: each value with the words that say it. */
export type Claims = ReadonlyMap<Aspect, ReadonlyMap<string, string>>;

const READINGS = wordsOfKinds('claim of ');

/** Words of `PARTS` that exclude each other. */
const SPLITS: ReadonlyMap<Aspect, readonly string[]> = new Map<Aspect, readonly string[]>([
  ['sex', ['female', 'male']],
  ['residence', ['urban', 'rural']],
  ['level of education', ['preprimary', 'primary', 'secondary', 'tertiary']],
  ['event', ['new', 'prevalence', 'deaths']],
  ['income group', ['poorest', 'richest']],
]);

/** Brackets and commas become `<`, which no pattern crosses. */
function prepare(text: string): string {
  const marked = text.replaceAll('/', ' per ').replaceAll(/[()]|[,;:](?!\d)/g, ' < ');
  return normalise(marked).replaceAll(/\bper ?cent(?:age)?\b|\bpct\b|\bperc\b/g, '%');
}

/** Whether a text claims a value of an aspect. */
export const says = (claims: Claims, aspect: Aspect, value: string): boolean =>
  claims.get(aspect)?.has(value) === true;

/** Parses one text of a label: a name, a unit, or the words of a slug. */
export function readClaims(text: string): Claims {
  const claims = new Map<Aspect, Map<string, string>>();
  const add = (aspect: Aspect, value: string, words: string): void => {
    const values = claims.get(aspect) ?? new Map<string, string>();
    claims.set(aspect, values.set(value, words.trim()));
  };
  const plain = prepare(text);
  for (const [aspect, value, pattern] of READINGS) {
    const match = pattern.exec(plain);
    if (match) add(aspect, value.replace('$1', match.slice(1).filter(Boolean).join('-')), match[0]);
  }
  for (const [pattern, part] of PARTS) {
    const match = pattern.exec(plain);
    for (const [aspect, parts] of match ? SPLITS : [])
      if (parts.includes(part)) add(aspect, part, match?.[0] ?? '');
  }
  return claims;
}

/** Words of two texts that contradict each other. */
export interface Contradiction {
  aspect: Aspect;
  a: string;
  b: string;
}

/** Longer texts may name a base in more words: one common word is enough. */
const isCommon = (aspect: Aspect, value: string, others: ReadonlyMap<string, string>): boolean =>
  others.has(value) ||
  (aspect === 'base' &&
    [...others.keys()].some((other) => other.split(' ').some((word) => value.split(' ').includes(word))));

export function contradictions(a: Claims, b: Claims): Contradiction[] {
  return [...a].flatMap(([aspect, values]) => {
    const others = b.get(aspect);
    if (!others || [...values.keys()].some((value) => isCommon(aspect, value, others))) return [];
    return [{ aspect, a: [...values.values()].join(', '), b: [...others.values()].join(', ') }];
  });
}

/** Plain words of harms and benefits. */
const HARM =
  /\b(?:deaths?|mortality|stillbirths|unemployment|poverty|malnutrition|undernourishment|underweight|stunting|wasting|murders?|homicides?|suicides?|drownings|killed|out of school|(?:hiv|tb|tuberculosis|malaria|cancer|diabetes|anemia) (?:new )?(?:cases|incidence|prevalence)|pollution|slums?|corruption)\b/;
const BENEFIT =
  /\b(?:life expectancy|literacy|access to|immuni[sz]ation|vaccinat\w*|completion rate|income per person|skilled health staff|surviv\w*)\b/;
/** The opposite of a harm, or a measure of how well a harm is recorded or treated. */
const TURNED =
  /\b(?:registration|coverage|detection|treatment|without|lack of|no access|unmet|reduction|expenditure)\b/;

/** The direction that plain words of a name imply, with these words; null when they imply none, or both. */
export function impliedDirection(name: string): { higher_is_better: boolean; words: string } | null {
  const plain = prepare(name);
  const harm = HARM.exec(plain)?.[0];
  const benefit = BENEFIT.exec(plain)?.[0];
  if ((harm === undefined) === (benefit === undefined) || TURNED.test(plain)) return null;
  return { higher_is_better: harm === undefined, words: harm ?? benefit ?? '' };
}

/** Strong words and the topics that they allow. */
const TOPIC_WORDS = wordsFor('topics').map(([said, topics]) => [said, topics.split(' ')] as const);

/** The first strong word whose topics do not include the given one; null when none contradicts or another one agrees. */
export function contradictsTopic(
  name: string,
  topic: string,
): { words: string; topics: readonly string[] } | null {
  const plain = prepare(name);
  const found = TOPIC_WORDS.flatMap(([pattern, topics]) => {
    const words = pattern.exec(plain)?.[0];
    return words === undefined ? [] : [{ words: words.trim(), topics }];
  });
  return found.some(({ topics }) => topics.includes(topic)) ? null : (found[0] ?? null);
}

/** Currencies that are no claim of their own. */
const OTHER_MONEY = /\b(?:euros?|eur|pounds? sterling|gbp|yen|jpy|yuan|cny|rupees?)\b/;
/** Amounts at constant prices, not their changes or shares. */
const AT_CONSTANT_PRICES = /\bconstant prices?\b|\b(?:in )?real terms\b|\binflation adjusted\b/;
const NO_AMOUNT = /%|\bper ?cent|\bindex\b|\bgrowth\b|\bratio\b|\bdeflator\b/;

/** Money whose price basis is not told: neither current nor constant prices, or constant ones without their year. */
export function missingPriceBasis(name: string, unit: string): string | null {
  const ofUnit = readClaims(unit);
  const claims = readClaims(`${name} ${unit}`);
  const [label, plain] = [prepare(`${name}, ${unit}`), prepare(unit)];
  const isConstant = says(claims, 'prices', 'constant');
  const isMoney =
    says(ofUnit, 'measure', 'money') ||
    (isConstant && (OTHER_MONEY.test(plain) || (AT_CONSTANT_PRICES.test(label) && !NO_AMOUNT.test(label))));
  if (!isMoney || says(claims, 'currency', 'national')) return null;
  if (isConstant && /\b(?:19|20)\d\d\b/.test(plain)) return null;
  // Readers see the unit beside the figures, without the name.
  if (says(ofUnit, 'prices', 'constant')) return 'constant prices without their year';
  if (claims.has('base year') || says(claims, 'prices', 'current')) return null;
  return isConstant ? 'constant prices without their year' : 'no prices';
}

/** Money that follows income: its conversion can be told from the figures. */
export const isIncome = (name: string): boolean =>
  /\b(?:gdp|gni|gnp|gross (?:domestic|national) (?:product|income)|income per|labou?r cost|wages?|earnings)\b/.test(
    prepare(name),
  );

const MAGNITUDE = /\b(?:thousand|million|billion|trillion)/;

/** Money that a name states in brackets in another magnitude than the unit; null when they agree or the name states none. */
export function otherMagnitude(name: string, unit: string): { a: string; b: string } | null {
  const stated = /\(([^()]*\$[^()]*)\)/.exec(name)?.[1];
  const isMoney = (text: string): boolean => says(readClaims(text), 'measure', 'money');
  if (stated === undefined || !isMoney(stated) || !isMoney(unit)) return null;
  const [ours, theirs] = [stated, unit].map((text) => MAGNITUDE.exec(prepare(text))?.[0]);
  return ours === theirs ? null : { a: stated, b: unit };
}

/** Things that units measure, by their words; a unit of one is none of another. */
const THINGS = wordsFor('thing');
/** What amounts are divided by. */
const DIVISORS = wordsFor('divisor');
const words = (named: typeof THINGS): string => named.map(([said]) => said.source).join('|');
const PLAIN_UNIT = new RegExp(
  `^(?:(?:in|number of|total|average|mean) )*(?:(?:thousand|million|billion)s? (?:of )?)?(${words(THINGS)})(?: per (${words(DIVISORS)}))?$`,
);
const nameIn = (named: typeof THINGS, found: string): string =>
  named.find(([said]) => new RegExp(`^(?:${said.source})$`).test(found))?.[1] ?? found;

/** `kg per hectare` of a text that is a plain unit and nothing else. */
function plainUnit(text: string): string | null {
  const match = PLAIN_UNIT.exec(prepare(text));
  const [, thing, divisor] = match ?? [];
  if (thing === undefined) return null;
  return nameIn(THINGS, thing) + (divisor === undefined ? '' : ` per ${nameIn(DIVISORS, divisor)}`);
}

/** A plain unit that a name states in brackets, after its last comma or after “in”, where the series has another; else null. */
export function otherUnit(name: string, unit: string): { a: string; b: string } | null {
  const theirs = plainUnit(unit);
  const stated = [/\(([^()]*)\)\s*$/, /,([^,()]*)$/, /\bin ([^(),]*)$/].map((at) =>
    at.exec(name)?.[1]?.trim(),
  );
  const ours = stated.find((text) => text !== undefined && plainUnit(text) !== null);
  if (theirs === null) return null;
  if (ours !== undefined) return plainUnit(ours) === theirs ? null : { a: ours, b: unit };
  const age = IN_YEARS.exec(prepare(name))?.[0];
  return age !== undefined && SHORT_TIMES.has(theirs) ? { a: age, b: unit } : null;
}

/** Ages and lives, which are told in years. */
const IN_YEARS =
  /\b(?:life expectancy|(?:median|mean|average) age|age at|mean years|years (?:in|of) school\w*)\b/;
const SHORT_TIMES: ReadonlySet<string> = new Set(['hours', 'days', 'weeks', 'months']);

/** Amounts that a name divides by the population. */
const PER_HEAD =
  /\b(?:gdp|gni|gnp|incomes?|spending|expenditure|use|generation|production|supply|consumption|emissions?|withdrawal|aid \w+|resources)\b[^<]* per (?:person|capita|head)\b/;
const AMOUNT = /^(?:\w+ (?:of )?)?(?:tonnes of .*|kg of .*|kwh|cubic met(?:re|er)s|litres of .*)$/;

/** Whether name and unit both say that an amount is one per person. */
export const isPerPerson = (name: string, unit: string): boolean =>
  PER_HEAD.test(prepare(name)) && /\bper (?:person|capita|head)\b/.test(prepare(unit));

/** The words of a name by which an amount is one per person, where the unit is an amount and nothing else; else null. */
export function missingDivisor(name: string, unit: string): { a: string; b: string } | null {
  const [perHead, plain] = [PER_HEAD.exec(prepare(name))?.[0], prepare(unit)];
  const isAmount =
    says(readClaims(unit), 'measure', 'money') || plainUnit(unit) !== null || AMOUNT.test(plain);
  return perHead !== undefined && isAmount && !/\bper\b|%/.test(plain) ? { a: perHead, b: unit } : null;
}

/** Words of a slug, or parts of a provider's code such as `NY.GDP.PCAP.CD`. */
export const slugText = (slug: string): string => slug.replaceAll(/[_.-]+/g, ' ');

/** Words are compared by their first letters, so that inflected forms are equal. */
const STEM = 5;

/** The stems of the words that tell a series from others. */
export function tellingWords(text: string): ReadonlySet<string> {
  const words = prepare(text).match(/[a-z][a-z0-9]{2,}/g) ?? [];
  const telling = words.filter((word) => !FILLER.has(word) && !/^(?:under|over)$/.test(word));
  return new Set(telling.map((word) => word.slice(0, STEM)));
}

/** Ages and limits, which tell a series, too. */
const numbersOf = (plain: string): string[] => plain.match(/\b\d\d\b/g) ?? [];

/**
 * Whether a label shares a telling word or a number with another text, or has none. An acronym is shared by the words that
 * it stands for.
 */
export function sharesWords(label: string, text: string): boolean {
  const plain = prepare(text);
  const words = tellingWords(label);
  const initials = (plain.match(/[a-z]+/g) ?? []).map((word) => word[0]).join('');
  const numbers = numbersOf(plain);
  return (
    words.size === 0 ||
    [...words].some(
      (word) => plain.includes(word) || (/^[a-z]{3,4}$/.test(word) && initials.includes(word)),
    ) ||
    numbersOf(prepare(label)).some((number) => numbers.includes(number))
  );
}

const NUMBER = String.raw`(-?\d{1,3}(?:\.\d+)?)(?!\d)`;
/** Ranges that a label states, read from the text as it is written: normalised text has lost its signs. */
const STATED_RANGES: readonly RegExp[] = [
  new RegExp(
    String.raw`(?:index|scale|score|points|levels?)\s*\(?(?:from )?${NUMBER}(?: ?[–-] ?| to )${NUMBER}`,
    'i',
  ),
  new RegExp(String.raw`${NUMBER}\s*=[^()=]*?\bto ${NUMBER}\s*=`, 'i'),
];
/** The longest life. */
const LIFE: Readonly<{ min: number; max: number }> = { min: 0, max: 120 };

/** The range that name and unit leave to the figures, with the words that state it; null when they state none. */
export function rangeOf(name: string, unit: string): { min: number; max: number; words: string } | null {
  for (const pattern of STATED_RANGES) {
    const match = pattern.exec(unit) ?? pattern.exec(name);
    if (match) return { min: Number(match[1]), max: Number(match[2]), words: match[0] };
  }
  const rate = /\b(?:deaths|cases|stillbirths)\b.* per (\d+) \w*/.exec(prepare(`${name} ${unit}`));
  if (rate) return { min: 0, max: Number(rate[1]), words: rate[0] };
  const isLife =
    prepare(unit) === 'years' && /\b(?:life expectancy|age|years in school|schooling)\b/.test(prepare(name));
  return isLife ? { ...LIFE, words: 'years' } : null;
}

/** Nouns of things that are counted. */
const COUNTED =
  /^(?:people|persons|deaths|births|(?:new )?cases|girls|boys|children|subscriptions|subscribers|computers|patents|applications|companies|vehicles)$/;

/** Whether a unit measures a total of a country or a rate; null when it cannot be told, as for prices and scores. */
export function quantityOf(name: string, unit: string): 'total' | 'rate' | null {
  const [claims, plain] = [readClaims(unit), prepare(unit)];
  if (/\bof (?:the )?world\b/.test(plain)) return null;
  const isRate = says(claims, 'measure', 'share') || says(claims, 'measure', 'rate');
  if (isRate || rangeOf(name, unit) || /\bper (?:person|capita|adult)\b/.test(plain)) return 'rate';
  const isPer = /\bper\b|\bratio\b|\baverage\b|\bmean\b|\bindex\b/.test(prepare(`${name} ${unit}`));
  if (isPer || says(claims, 'currency', 'national')) return null;
  return says(claims, 'measure', 'money') || COUNTED.test(plain) ? 'total' : null;
}

/** Powers of ten by which units of one quantity differ. */
const MAGNITUDES = wordsFor('power of ten');

/** The power of ten that turns a figure of a unit into its base: −2 for per cent, 9 for billions, −3 for kg, as tonnes; else 0. */
export function magnitudeOf(unit: string): number {
  const plain = prepare(unit);
  const per = /\bper (\d+)\b/.exec(plain);
  if (per) return -Math.log10(Number(per[1]));
  if (/\bper (?:one )?million\b/.test(plain)) return -6;
  if (/^%|%$|^annual %/.test(plain)) return -2;
  return Number(MAGNITUDES.find(([pattern]) => pattern.test(plain))?.[1] ?? 0);
}
