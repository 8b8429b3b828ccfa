/**
 * What a series' name and unit say, in one spelling, so that two providers' words can be compared:
 *
 * - the unit as a *kind* (`%`, `years`, `per 1000 births`) and, where it says so, *of what* (`population`, `deaths`);
 *   two units are comparable when the kinds are equal and neither says another whole than the other;
 * - the *subject*: the words of the name that tell one statistic from another, without those that every provider sets
 *   differently (rate, total, share of), without brackets, synonyms in one form;
 * - the *parts*: words that make two statistics of one (female, rural, ages 15 to 24, primary, exports, constant
 *   prices, per person, growth). They must be the same on both sides, whatever the figures say.
 */

/** Lower case, without accents, thousands separators, punctuation and spare spaces. */
function plainWords(text: string): string {
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
    .reduce((said, [pattern, word]) => said.replaceAll(pattern, word), text)
    .replaceAll(/ +/g, ' ')
    .trim();

/** Spellings that mean the same in names and units alike. */
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
  /** What it is a share or a count of, where the unit says so. */
  of: string | null;
}

/** Counts of something; what is counted may be said or not. */
const COUNTED = /^(people|number|deaths|children|boys|girls|subscriptions|cases|new cases)$/;

/** A unit in one spelling; null when nothing is said. */
export function readUnit(unit: string | null): Unit | null {
  if (unit === null) return null;
  const said = rewrite(rewrite(plainWords(unit), SPELLINGS), UNIT_SPELLINGS);
  if (said === '') return null;
  const share = /^% (?:of )?(.+)$/.exec(said);
  if (share?.[1]) return { kind: '%', of: share[1].replace(/^total /, '') };
  if (said === '% of total') return { kind: '%', of: null };
  const rate = /^(.*?) ?per (\d+) (.+)$/.exec(said);
  if (rate) return { kind: `per ${rate[2]} ${rate[3]}`, of: rate[1] || null };
  if (COUNTED.test(said)) return { kind: 'count', of: said === 'number' ? null : said };
  const perPerson = /^(.+) per person$/.exec(said);
  return { kind: perPerson?.[1] ?? said, of: null };
}

/** Whether figures in these units can be one statistic: one kind, and not shares or counts of different things. */
export function unitsAgree(a: Unit | null, b: Unit | null): boolean {
  if (!a || !b) return a === b;
  if (a.kind !== b.kind) return false;
  return a.of === b.of || a.of === null || b.of === null || a.of === 'total' || b.of === 'total';
}

/** Different words for one thing. Longer phrases come first. */
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

/** Words that do not tell one statistic from another; whether one says them is a matter of style. */
const IDLE = new Set(
  `the of in at by and to for from with a an on as or which that who are is be per person rate ratio total overall
   share proportion number annual estimated estimate modeled modelled ilo data source individuals people population
   persons ages age aged years year old older above birth live births any all value added including
   construction > % us$ km2 cme who wb ihme igme maddison project projections long series held worldwide net
   crude edition 2018 estimates`.split(/\s+/),
);
/** Where nothing else is left, these are the subject. */
const SUBJECT_OF_LAST_RESORT = new Set(['population', 'births', 'people']);

/** Words that make two statistics of one, as a name or a unit says them. */
const PARTS: readonly Rewrite[] = [
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
  /** The whole name in one spelling. */
  name: string;
  subject: ReadonlySet<string>;
  parts: string;
  unit: Unit | null;
}

/** Reads a series' name and unit. */
export function readConcept(name: string, unit: string | null): ConceptWords {
  const whole = rewrite(plainWords(name), SPELLINGS);
  const bare = rewrite(plainWords(name.replaceAll(/\([^()]*\)/g, ' ')), SPELLINGS);
  const said = `${whole} ${unit === null ? '' : rewrite(rewrite(plainWords(unit), SPELLINGS), UNIT_SPELLINGS)}`;
  const parts = PARTS.flatMap(([pattern, word]) => (pattern.test(said) ? [word] : []));
  return { name: bare, subject: subjectOf(bare), parts: parts.join(), unit: readUnit(unit) };
}

function subjectOf(bare: string): ReadonlySet<string> {
  const words = rewrite(bare, SYNONYMS).split(' ');
  const telling = words.filter((word) => !IDLE.has(word));
  return new Set(telling.length > 0 ? telling : words.filter((word) => SUBJECT_OF_LAST_RESORT.has(word)));
}

/** Share of the words of two names that both have: 0 to 1. */
export function wordsInCommon(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  const common = [...a].filter((word) => b.has(word)).length;
  const all = a.size + b.size - common;
  return all === 0 ? 0 : common / all;
}
