/**
 * Normalises the name and the unit of a series, so that the words of two providers can be compared:
 *
 * - the *unit* in one spelling, with its kind (%, count, per 1,000 people, US$) and, where stated, its base;
 * - the *subject*: the words that tell statistics apart, without brackets and filler words, synonyms unified;
 * - the *parts*: words that split a statistic (female, rural, ages 15 to 24, exports, constant prices, per person).
 *   They must be equal on both sides, even when the values agree.
 */
import type { SeriesTraits } from '../../data/schema/traits.ts';

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
const rewrite = (text: string, rules: readonly Rewrite[]): string =>
  rules
    .reduce((result, [pattern, word]) => result.replaceAll(pattern, word), text)
    .replaceAll(/ +/g, ' ')
    .trim();

/** Equivalent spellings in names and units. */
const SPELLINGS: readonly Rewrite[] = [
  [/\bper ?cent(age)?\b|\bpct\b/g, '%'],
  [/\bcurrent us ?\$|\bus ?dollars?\b|\busd\b|\bus ?\$/g, 'us$'],
  [/\binternational (\$|dollars?)/g, 'ppp'],
  [/\bsq(uare)? (km|kilomet(er|re)s?)\b|\bkm2\b/g, 'km2'],
  [/\bcu(bic)? met(er|re)s?\b/g, 'm3'],
  [/\bmetric tons?\b|\btonnes?\b|\btons?\b/g, 'tonnes'],
  [/\blit(er|re)s\b/g, 'litres'],
  [/\b(gdp|gni) capita\b/g, '$1 per person'],
  [/\b(per capita|per person|per head)\b/g, 'per person'],
  [/\blabor\b/g, 'labour'],
  [/\benrollment\b/g, 'enrolment'],
  [/\byears of age\b|\byrs?\b/g, 'years'],
];

const UNIT_SPELLINGS: readonly Rewrite[] = [
  [/\bannual % growth\b|\bannual %|% change\b|% per year\b/g, '%/year'],
  [/\blive births\b/g, 'births'],
  [/\b(population|inhabitants|persons|people)\b/g, 'people'],
  [/\b(children|births) per woman\b/g, 'births per woman'],
  [/^(scale|index)( from)? 0 (to )?1$/g, 'index 0 1'],
  [/^(scale|index)( from)? 0 (to )?100$/g, 'index 0 100'],
  [/^total people$/g, 'people'],
  [/\bkm2 of land area\b/g, 'km2'],
];

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
const SYNONYMS: readonly Rewrite[] = [
  [/\bunder (5|five)( s| year olds?)?\b|\b0 5 year olds?\b/g, 'under5'],
  [/\bchild mortality\b/g, 'under5 mortality'],
  [/\bnewborns?\b/g, 'neonatal'],
  [/\bdeath rate\b/g, 'mortality'],
  [/\bexpected life\b/g, 'life expectancy'],
  [/\bmobile cellular subscriptions?\b|\bcell phones?\b/g, 'mobile'],
  [/\bfixed (line|telephone) (subscriptions?|subscribers?)\b/g, 'fixedline'],
  [/\bfixed broadband\b/g, 'broadband'],
  [/\bsubscribers?\b/g, 'subscriptions'],
  [/\bindividuals using\b|\busing\b/g, 'users'],
  [/\btuberculosis\b/g, 'tb'],
  [/\badolescent\b|\bteen\b/g, 'teen'],
  [/\blowest\b/g, 'poorest'],
  [/\bhighest\b/g, 'richest'],
  [/\bcurrent health expenditure\b|\bhealth spending\b/g, 'health expenditure'],
  [/\bgovernment expenditure per student\b/g, 'expenditure per student'],
  [/\bwage and salaried\b/g, 'salaried'],
  [/\bfreshwater\b/g, 'water'],
  [/\bwithdrawals\b/g, 'withdrawal'],
  [/\b(goods and services|of goods)\b/g, ''],
  [/\bservice workers\b/g, 'services employment'],
  [/\bsalaried workers\b/g, 'salaried'],
  [/\b(industry|agriculture) workers\b/g, '$1 employment'],
  [
    /\b(females?|women|girls?|males?|men|boys?|youth|adults?|\d+ ?\+|15 (24|49|64)|25 (54|64)|55 64)(?![^ ])/g,
    '',
  ],
  [/\bppp\b/g, ''],
  [/\bagriculture forestry and fishing\b/g, 'agriculture'],
  [/\bmore than\b/g, '>'],
];

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
export const PARTS: readonly Rewrite[] = [
  [/\b(females?|women|girls?)\b/, 'female'],
  [/\b(males?|men|boys?)\b/, 'male'],
  [/\burban\b/, 'urban'],
  [/\brural\b/, 'rural'],
  [/\byouth\b|\b15 24\b/, '15-24'],
  [/\badults?\b(?! 15 49)|\b15 ?\+|\b15 and (above|older)\b/, '15+'],
  [/\b15 64\b/, '15-64'],
  [/\b25 54\b/, '25-54'],
  [/\b25 64\b/, '25-64'],
  [/\b55 64\b/, '55-64'],
  [/\b65 ?\+|\b65 and over\b|\b65 and above\b/, '65+'],
  [/\b15 49\b/, '15-49'],
  [/\bunder ?15\b|\b0 14\b/, '0-14'],
  [/\bunder ?25\b/, '0-24'],
  [/\bunder ?5\b|\bunder five\b|\b0 4\b/, '0-4'],
  [/\bneonatal\b|\bnewborns?\b/, 'neonatal'],
  [/\binfants?\b/, 'infant'],
  [/\bpre ?primary\b/, 'preprimary'],
  [/\b(?<!pre )primary\b/, 'primary'],
  [/\bsecondary\b/, 'secondary'],
  [/\btertiary\b/, 'tertiary'],
  [/\bexports?\b/, 'exports'],
  [/\bimports?\b/, 'imports'],
  [/\bgrowth\b|%\/year/, 'growth'],
  [/\bper person\b/, 'per person'],
  [/\bppp\b/, 'ppp'],
  [/\bconstant\b|(?<!not )\binflation adjusted\b/, 'constant'],
  [/\batlas\b/, 'atlas'],
  [/\bnational currency\b/, 'national currency'],
  [/\bgni\b/, 'gni'],
  [/\bgross\b/, 'gross'],
  [/\bincidence\b|\bnew cases\b|\bnewly\b/, 'new'],
  [/\bprevalence\b/, 'prevalence'],
  [/\b(deaths?|mortality)\b/, 'deaths'],
  [/\breported\b/, 'reported'],
  [/\bpublic\b/, 'public'],
  [/\bnon ?residents?\b/, 'nonresident'],
  [/\bpoorest\b|\blowest\b/, 'poorest'],
  [/\brichest\b|\bhighest\b/, 'richest'],
  [/\b10 ?%/, '10%'],
  [/\b20 ?%/, '20%'],
  [/\b2nd\b|\bsecond\b/, 'second'],
  [/\bsalaried\b/, 'salaried'],
];

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
const SCALES: readonly (readonly [RegExp, number])[] = [
  [/\bbillions?\b/, 9],
  [/\bmillions?\b/, 6],
  [/\bthousands?\b|\bkt\b|\bkilotonnes\b/, 3],
];

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
    scale: SCALES.find(([pattern]) => pattern.test(amount))?.[1] ?? 0,
    variants: parts.filter((part) => part !== age && !SEXES.some((one) => one === part)),
  };
}

function subjectOf(bare: string): ReadonlySet<string> {
  const words = rewrite(bare, SYNONYMS).split(' ');
  const specific = words.filter((word) => !FILLER.has(word));
  return new Set(specific.length > 0 ? specific : words.filter((word) => FALLBACK_SUBJECTS.has(word)));
}
