/**
 * What a reader knows of a series from its name and unit. Written from the labels of the providers, for the generator of
 * faults only: it shares no code with the checks that it tests.
 */

export interface Label {
  name: string;
  unit: string | null;
}

/** Percentages that may exceed 100 or fall below 0, or whose whole is not stated. */
const UNBOUNDED_PERCENT =
  /growth|change|per year|annual|gross|net\b|gdp|gni|income per|imports|exports|reserves|revenue|tax|interest|inflation|debt|balance|price|expens|spending|aid|per capita|per person|ratio|credit|deviation|difference|capital|withdrawal|resources|minus|tariff|trade|profit|output|saving|% of men|index|completion|detection|libor/i;

const text = ({ name, unit }: Label): string => `${name} ${unit ?? ''}`;

/** Whether the unit is a percentage of any kind. */
export const isPercent = ({ unit }: Label): boolean => /^(%|percent)/i.test(unit ?? '');

/** Whether the figures are parts of a whole, so that 100 % is the most there can be. */
export const isShare = (label: Label): boolean => isPercent(label) && !UNBOUNDED_PERCENT.test(text(label));

/** Whether the unit is a number from nought to one. */
export const isFraction = ({ unit }: Label): boolean =>
  /(scale|index)( from)? 0( to |-|–)1$|share of one/i.test(unit ?? '');

/** Whether the unit counts persons or events, each at most one a person. */
export const countsPeople = ({ unit }: Label): boolean =>
  /^(people|persons|deaths|births|children|girls|boys|new cases|cases)$/i.test(unit ?? '');

/** Whether the unit is an amount of a whole country in dollars, without a stated magnitude. */
export const isNationalMoney = (label: Label): boolean =>
  /^(current|constant \d{4}) (US\$|international \$)$/.test(label.unit ?? '') &&
  !/per (capita|person|employee|worker|hour)|capita/i.test(text(label));

/** The base of a rate such as `deaths per 100,000 people`: 100,000; null for other units. */
export function rateBase(unit: string | null): number | null {
  const digits = /\bper (1,000|10,000|100,000)\b/.exec(unit ?? '')?.[1];
  return digits === undefined ? null : Number(digits.replaceAll(',', ''));
}

/** Whether the things counted by a rate are part of its base: deaths of people, of births. */
const isPartOfBase = (unit: string | null): boolean =>
  /^(deaths|new cases|cases|maternal deaths|stillbirths) per/i.test(unit ?? '');

/** The name's own base of a rate: `per 1000`, `per 100 000`, `per 100,000`. */
export function namedBase(name: string): number | null {
  const digits = /\bper (\d{1,3}(?:[ ,]?\d{3})+)\b/.exec(name)?.[1];
  return digits === undefined ? null : Number(digits.replaceAll(/[ ,]/g, ''));
}

/** More persons than live, or will; more dollars than ten times the world's product of a year. */
const MOST_PEOPLE = 1.1e10;
const MOST_DOLLARS = 1.2e15;
const LONGEST_LIFE = 130;

/** The least and the greatest figure that the label allows; null when it sets no limits. */
export function possibleRange(label: Label): [number, number] | null {
  const base = rateBase(label.unit);
  if (isShare(label)) return [0, 100];
  if (isFraction(label)) return [0, 1];
  if (base !== null && isPartOfBase(label.unit)) return [0, base];
  const { scale, unit } = readScale(label.unit);
  if (countsPeople({ ...label, unit })) return [0, MOST_PEOPLE / scale];
  if (isNationalMoney({ ...label, unit })) return [-MOST_DOLLARS / scale, MOST_DOLLARS / scale];
  if (label.unit === 'years' && /life|age|school/i.test(label.name)) return [0, LONGEST_LIFE];
  return null;
}

const SCALES: Record<string, number> = { thousands: 1e3, millions: 1e6, billions: 1e9 };

/** Splits `thousands of people` into its magnitude and the rest. */
function readScale(unit: string | null): { scale: number; unit: string | null } {
  const [, word, rest] = /^(thousands|millions|billions) of (.+)$/.exec(unit ?? '') ?? [];
  return { scale: SCALES[word ?? ''] ?? 1, unit: rest ?? unit };
}

/** Which dollars the unit means; null when it is no money. */
export function currencyOf(label: string): 'US$' | 'international $' | null {
  if (/international (\$|dollars?)|\bPPP\b/i.test(label)) return 'international $';
  return /\bUS ?(\$|dollars?)/i.test(label) ? 'US$' : null;
}
