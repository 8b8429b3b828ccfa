/** Parameters of the verbs, as the service reads them. Wrong ones are refused here, before anything is sent. */
import type { ChosenRow } from './records.ts';

/** One word, or several. */
export type Words = string | readonly string[];
/**
 * `2020`; `[2000, 2010]` for these years alone; `{ from: 2000, to: 2010 }` or `'2000-2010'` from the first to the last, of
 * which either may be left out.
 */
export type Years = number | string | readonly number[] | { from?: number; to?: number };
/** A date, a moment, or the id of an edition. */
export type AsOf = string | Date;
/** A column that `fields` can name. */
export type Column = keyof ChosenRow;

/** How the figures of a group's members become one: as the edition declares it, or of `group` another way. */
export type Aggregate = 'declared' | 'median' | 'min' | 'max';

/** A lock pins an edition; a time or an edition stands for itself. */
export type Since = AsOf | { edition: string };

/** Names and values; repeated names are several values. */
export type Query = readonly (readonly [name: string, value: string])[];

/** Which figures. */
export interface DataQuestion {
  /**
   * ISO3, ISO2 or M49 codes, groups such as `@eu` and usual names; none means all. `unmatched` of the table names codes that
   * no country has.
   */
  countries?: Words;
  /** A list means these years alone, and costs no others. Both ends of a span are included. */
  years?: Years;
  /** Of what passes, the newest n observed values of each country and indicator. */
  latest?: number;
  /** Columns, in the order wanted. */
  fields?: readonly Column[];
  /** `wide` has a column for each indicator. */
  layout?: 'long' | 'wide';
  /** `omit` leaves out rows without a value, which then cost nothing. */
  missing?: 'keep' | 'omit';
  /** Derived figures instead: one transform such as `growth:5`, or two, of which the second works on the first. */
  transform?: Words;
  /** `declared`: groups among `countries` are places of their own. The others are of `group`. */
  aggregate?: Aggregate;
  /** A group of one's own, as one place: three countries or more. */
  group?: Words;
  /** Adds the column `name`, of countries and groups. Not with `fields`, which may have it, nor with `layout: 'wide'`. */
  names?: boolean;
}

/** @throws {TypeError} */
export function wordsOf(value: Words, name: string): string[] {
  const words: unknown[] = typeof value === 'string' ? [value] : [...value];
  const isText = (word: unknown): word is string => typeof word === 'string' && word !== '';
  if (words.length === 0 || !words.every(isText))
    throw new TypeError(`${name} must be a text or a list of texts, not ${JSON.stringify(value)}`);
  return words;
}

function listed(name: string, value: Words | undefined): [string, string][] {
  if (value === undefined || value.length === 0) return [];
  if (typeof value === 'string') return [[name, value]];
  // A comma separates places. One within a name (`Hong Kong SAR, China`) says nothing that a space does not.
  const words = wordsOf(value, name).map((word) => word.replaceAll(',', ' '));
  return [[name, words.join(',')]];
}

const SPAN = /^(-?\d+)?-(-?\d+)?$/;

/** @throws {TypeError} */
function yearsQuery(years: Years | undefined): Query {
  if (years === undefined) return [];
  if (typeof years === 'string') return yearsQuery(parseYears(years));
  if (isSpan(years)) {
    const { from, to } = years;
    if ((from ?? to) === undefined) throw wrongYears(years);
    const text = (year?: number) => (year === undefined ? undefined : wholeNumber(year, 'years'));
    return given({ from: text(from), to: text(to) });
  }
  const chosen = [...new Set([years].flat())].sort((a, b) => a - b);
  const texts = chosen.map((year) => wholeNumber(year, 'years'));
  const [first, last] = [texts[0], texts.at(-1)];
  if (first === undefined || last === undefined) throw wrongYears(years);
  const isRun = Number(last) - Number(first) === texts.length - 1;
  return isRun ? given({ from: first, to: last }) : given({ years: texts.join(',') });
}

const isSpan = (years: Exclude<Years, string>): years is { from?: number; to?: number } =>
  typeof years === 'object' && !Array.isArray(years);

const wrongYears = (years: Years): TypeError =>
  new TypeError(
    `years must be 2020, [2000, 2010], { from: 2000, to: 2010 } or '2000-2010', not ${JSON.stringify(years)}`,
  );

/** `2020`, `2000-2010`, `2000-`, `-2010`, or years separated by commas. */
function parseYears(text: string): Exclude<Years, string> {
  const [, from, to] = SPAN.exec(text.trim()) ?? [];
  if (from !== undefined || to !== undefined)
    return { ...(from && { from: Number(from) }), ...(to && { to: Number(to) }) };
  const parts = text.split(',').map((part) => part.trim());
  if (!parts.every((part) => /^\d+$/.test(part))) throw wrongYears(text);
  return parts.map(Number);
}

/** @throws {TypeError} */
export function wholeNumber(value: number, name: string): string {
  if (!Number.isSafeInteger(value)) throw new TypeError(`${name} must be whole numbers, not ${value}`);
  return String(value);
}

/** @throws {TypeError} */
export function asOfText(asOf: AsOf): string {
  if (typeof asOf === 'string') return asOf;
  if (Number.isNaN(asOf.getTime())) throw new TypeError('asOf must be a valid date');
  return asOf.toISOString();
}

/** The parameters that have a value. */
export const given = (parameters: Record<string, string | undefined>): Query =>
  Object.entries(parameters).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  );

/** @throws {TypeError} */
export function sinceText(since: Since | undefined): string | undefined {
  if (since === undefined) return undefined;
  return typeof since === 'string' || since instanceof Date ? asOfText(since) : since.edition;
}

/** Countries and years alone, members of a group of one's own among them. @throws {TypeError} */
export function extentQuery({
  countries = [],
  group = [],
  years,
}: Pick<DataQuestion, 'countries' | 'group' | 'years'>): Query {
  const places = [...listed('countries', countries), ...listed('group', group)].map(([, words]) => words);
  return [...listed('countries', places.join(',')), ...yearsQuery(years)];
}

/** @throws {TypeError} */
export const transformQuery = (transform: Words | undefined): Query => listed('transform', transform);

const columnsWithNames = (isGrouped: boolean): Column[] => [
  ...(['indicator', 'iso3'] as const),
  ...(isGrouped ? (['group'] as const) : []),
  ...(['name', 'year', 'value', 'ci_lo', 'ci_hi', 'rank', 'projected'] as const),
];

/** For callers without types. */
function oneOf(name: string, value: string, known: readonly string[]): void {
  if (!known.includes(value)) throw new TypeError(`${name} must be one of ${known.join(', ')}, not ${value}`);
}

/** @throws {TypeError} */
export function dataQuery(indicators: readonly string[], question: DataQuestion): Query {
  const { countries, years, latest, fields, layout = 'long', missing = 'keep' } = question;
  const { transform, aggregate, group, names = false } = question;
  oneOf('layout', layout, ['long', 'wide']);
  oneOf('missing', missing, ['keep', 'omit']);
  if (names && (fields !== undefined || layout === 'wide'))
    throw new TypeError(
      "names must not be sent together with fields, which may have `name`, nor with layout: 'wide'",
    );
  const isGrouped = aggregate !== undefined || group !== undefined;
  return [
    [indicators.length === 1 ? 'indicator' : 'indicators', indicators.join(',')],
    ...listed('countries', countries),
    ...yearsQuery(years),
    ...(latest === undefined ? [] : [['latest', wholeNumber(latest, 'latest')] as const]),
    ...listed('fields', names ? columnsWithNames(isGrouped) : fields),
    ...(layout === 'wide' ? [['layout', 'wide'] as const] : []),
    ...(missing === 'omit' ? [['missing', 'omit'] as const] : []),
    ...transformQuery(transform),
    ...given({ aggregate }),
    ...listed('group', group),
  ];
}
