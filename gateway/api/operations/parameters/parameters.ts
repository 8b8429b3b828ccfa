/**
 * Parameters: the query string parser, parameter types as schemas that parse text or take values as they are, and
 * the reader of a whole set. OpenAPI is
 * generated from the same schemas, so `meta` describes the rule that stands beside it.
 *
 * A priced operation refuses a parameter that it does not know, or that is sent twice: a misspelt filter would otherwise
 * sell the whole series. A free one ignores them and names them, and refuses them on request (`isStrict`).
 */
import { distance } from 'fastest-levenshtein';
import { z } from 'zod';
import { truncateInput } from '../../core/errors.ts';
import { type Failure, toDetail, type ValidationDetail } from './validation.ts';

/** A value that is not valid percent-encoded UTF-8. */
export const UNREADABLE = Symbol('not valid percent-encoded UTF-8');
export type RawValue = string | typeof UNREADABLE;

const REPEATED = Symbol('all values of repeated parameters');

/** The last value of each parameter; `repeatedValues` gives all of repeated ones. */
export type RawParameters = Readonly<Record<string, RawValue>> & {
  readonly [REPEATED]?: ReadonlyMap<string, readonly RawValue[]>;
};

/** The parameters of a request without any; readers compare by identity. */
export const NO_PARAMETERS: RawParameters = Object.freeze(Object.create(null));

/** Most pairs of a query string or form. */
export const PAIRS_MAX = 1_000;

/** Whether a query string or form has more than `PAIRS_MAX` pairs: a pair and its `&` are two characters or more. */
export const hasTooManyPairs = (text: string): boolean =>
  text.length >= 2 * PAIRS_MAX && text.split('&').filter((pair) => pair !== '').length > PAIRS_MAX;

/**
 * Parses a query string: the last of a repeated parameter counts, `+` is a space, bytes are UTF-8. Libraries replace or
 * pass through what is not valid UTF-8; here such a value is `UNREADABLE`, so that the caller is told.
 */
export function parseQueryString(text: string): RawParameters {
  if (text === '') return NO_PARAMETERS;
  const parameters: Record<string, RawValue> = Object.create(null);
  const repeated = new Map<string, RawValue[]>();
  for (const pair of text.split('&')) {
    if (pair === '') continue;
    const equals = pair.indexOf('=');
    const name = parameterName(pair);
    const value = equals < 0 ? '' : decode(pair.slice(equals + 1));
    const before = parameters[name];
    const all = repeated.get(name);
    if (all !== undefined) all.push(value);
    else if (before !== undefined) repeated.set(name, [before, value]);
    parameters[name] = value;
  }
  // Not enumerable, so that a copy of the parameters is one of their last values.
  return repeated.size === 0 ? parameters : Object.defineProperty(parameters, REPEATED, { value: repeated });
}

/** All values of each parameter that was sent more than once, in their order. */
export const repeatedValues = (sent: RawParameters): ReadonlyMap<string, readonly RawValue[]> =>
  sent[REPEATED] ?? NONE_REPEATED;

const NONE_REPEATED: ReadonlyMap<string, readonly RawValue[]> = new Map();

/** The name in `name=value`; as sent where it is not valid UTF-8, which no known name is. */
export function parameterName(pair: string): string {
  const equals = pair.indexOf('=');
  const raw = equals < 0 ? pair : pair.slice(0, equals);
  const name = decode(raw);
  return name === UNREADABLE ? raw : name;
}

const PLAIN = /^[\x20-\x24\x26-\x2a\x2c-\x7e]*$/;

/** What is beyond ASCII came as bytes. */
const BYTE = /[\x80-\xff]/g;

function decode(text: string): RawValue {
  if (PLAIN.test(text)) return text;
  const escaped = text.replaceAll('+', ' ').replaceAll(BYTE, (byte) => `%${byte.charCodeAt(0).toString(16)}`);
  try {
    return decodeURIComponent(escaped);
  } catch {
    return UNREADABLE;
  }
}

/** Reports a failure from within a schema. */
export function fail(ctx: z.core.$RefinementCtx, ...failures: Failure[]): never {
  for (const failure of failures) ctx.addIssue({ code: 'custom', params: { failure } });
  return z.NEVER;
}

/**
 * A parameter that is parsed from its text. A caller inside the service, such as a tool of `/mcp`, has the value itself: it is
 * taken as it is, a number by its digits, so that bounds hold.
 */
export const parsed = <Value>(parse: (text: string, ctx: z.core.$RefinementCtx) => Value) =>
  z.preprocess(
    (sent, ctx): unknown => {
      const text = typeof sent === 'number' ? String(sent) : sent;
      return typeof text === 'string' ? parse(text, ctx) : text;
    },
    present as z.ZodType<Value>,
  );

const present = z.unknown().refine((value) => value !== undefined, { abort: true });

const DECIMAL = /^-?[0-9]+$/;

/** A plain decimal integer within bounds: no plus sign, no exponent, no blanks. */
export function integer(bounds: { min?: number; max?: number } = {}) {
  const { min, max } = bounds;
  return parsed((text, ctx): number => {
    if (!DECIMAL.test(text)) return fail(ctx, { type: 'int_parsing' });
    const value = Number(text);
    if (!Number.isSafeInteger(value)) return fail(ctx, { type: 'int_parsing_size' });
    if (min !== undefined && value < min) return fail(ctx, { type: 'greater_than_equal', ctx: { ge: min } });
    if (max !== undefined && value > max) return fail(ctx, { type: 'less_than_equal', ctx: { le: max } });
    return value === 0 ? 0 : value;
  }).meta({
    type: 'integer',
    minimum: min ?? Number.MIN_SAFE_INTEGER,
    maximum: max ?? Number.MAX_SAFE_INTEGER,
  });
}

const FLAGS: ReadonlyMap<string, boolean> = new Map([
  ...['true', '1', 'yes', 'on'].map((word) => [word, true] as const),
  ...['false', '0', 'no', 'off'].map((word) => [word, false] as const),
]);

/** true/false/1/0/yes/no/on/off, case-insensitive. */
export const flag = () =>
  parsed((text, ctx): boolean => FLAGS.get(text.toLowerCase()) ?? fail(ctx, { type: 'bool_parsing' })).meta({
    type: 'boolean',
  });

/** Exactly one of the given words. */
export const oneOf = <const Word extends string>(words: readonly [Word, ...Word[]]) =>
  z
    .string()
    .transform((text, ctx): Word => {
      const word = words.find((candidate) => candidate === text);
      const expected = words.map((candidate) => `'${candidate}'`).join(' or ');
      return word ?? fail(ctx, { type: 'literal_error', ctx: { expected } });
    })
    .meta({ type: 'string', enum: [...words] });

export const text = () => z.string();

export const nonEmpty = () =>
  text().transform((sent, ctx) =>
    sent === '' ? fail(ctx, { type: 'string_too_short', ctx: { min_length: 1 } }) : sent,
  );

/** A country code as sent. Checked before upper-casing: some letters outside ASCII have an upper case inside it. */
export const COUNTRY_CODE = /^[A-Za-z]{3}$/;

const YEARS_MAX = 200;

/** Years separated by commas: ascending, each once. */
export const yearList = () =>
  parsed((text, ctx): number[] => {
    const parts = text.split(',').map((part) => part.trim());
    const wrong = parts.findIndex((part) => !DECIMAL.test(part) || !Number.isSafeInteger(Number(part)));
    if (wrong >= 0) return fail(ctx, { type: 'int_parsing', input: parts[wrong] ?? '', at: wrong });
    const years = [...new Set(parts.map((part) => Number(part) + 0))].sort((a, b) => a - b);
    if (years.length <= YEARS_MAX) return years;
    return fail(ctx, { type: 'too_long', ctx: { max_length: YEARS_MAX, actual_length: years.length } });
  }).meta({ type: 'string', pattern: `^-?[0-9]{1,15}(,-?[0-9]{1,15}){0,${YEARS_MAX - 1}}$` });

export interface AskedYears {
  from?: number | undefined;
  to?: number | undefined;
  years?: number[] | undefined;
}

/** As a filter of rows has them. */
export const yearFilter = ({ from, to, years }: AskedYears): AskedYears =>
  years === undefined ? { from, to } : { from: years[0], to: years.at(-1), years };

/** For `superRefine`. */
export function checkYears({ from, to, years }: AskedYears, ctx: z.core.$RefinementCtx): void {
  const fault = (path: string, error: string): void => {
    const failure: Failure = { type: 'value_error', ctx: { error } };
    ctx.addIssue({ code: 'custom', path: [path], params: { failure } });
  };
  if (years !== undefined && (from ?? to) !== undefined)
    fault('years', 'years must not be sent together with from or to');
  if (from !== undefined && to !== undefined && from > to) fault('from', 'from must not be after to');
}

/** What every priced operation takes beside its own parameters. `execute` obeys them; operations do not see them. */
export const controls = z.object({
  dry_run: flag()
    .optional()
    .describe('Answers with the price instead, free: `{ price, rows, balance_after }`')
    .meta({ default: false }),
  max_credits: integer({ min: 0 })
    .optional()
    .describe('Refuses an answer that costs more, free: 402 `max_credits_exceeded`'),
});
export type Controls = z.infer<typeof controls>;

/** An object schema whose members are the parameters that an operation knows. */
export type QuerySchema<Query> = z.ZodType<Query> & { shape: Readonly<Record<string, z.ZodType>> };

export type ParameterReading<Values> =
  | {
      ok: true;
      values: Values;
      /** Only set for a priced operation. */
      controls: Controls;
      /** Names of parameters that were ignored: unknown ones, and repeated ones of which the last counted. */
      ignored: readonly string[];
    }
  | { ok: false; detail: ValidationDetail[] };

export interface ParameterReader<Values> {
  /** @param isStrict refuses what would be ignored. */
  (sent: RawParameters, isStrict?: boolean): ParameterReading<Values>;
  /** The parameters that count, by name: whether all their values do, or the last one. */
  readonly known: ReadonlyMap<string, { isRepeatable: boolean }>;
}

/** Ignored without a word: a key in a query string is no credential, and must not be repeated anywhere. */
const CREDENTIALS: ReadonlySet<string> = new Set(['key', 'api_key', 'apikey', 'token', 'access_token']);

/** Most parameters that an answer names as ignored or refused. */
export const NAMED_AT_MOST = 20;

/**
 * Makes the reader of an operation's parameters. A parameter that is described as an array may be repeated, and its schema
 * gets a list. The result for no parameters is computed once, because most requests have none.
 */
export function parameterReader<Values>(
  schema: QuerySchema<Values>,
  isPriced = false,
): ParameterReader<Values> {
  const shared: QuerySchema<Controls> = isPriced ? controls : NO_SCHEMA;
  const known = new Map([...parametersOf(schema), ...parametersOf(shared)]);
  const readKnown = (sent: RawParameters): ParameterReading<Values> => {
    const { values, unreadable } = valuesOf(sent, known);
    if (unreadable.length > 0) return { ok: false, detail: unreadable };
    const own = checkValues(schema, values);
    const common = checkValues(shared, values);
    if (own.ok && common.ok) return { ...own, controls: common.values, ignored: [] };
    return { ok: false, detail: [own, common].flatMap((part) => (part.ok ? [] : part.detail)) };
  };
  const withoutParameters = readKnown(NO_PARAMETERS);
  const read = (sent: RawParameters, isStrict = false): ParameterReading<Values> => {
    if (sent === NO_PARAMETERS) return withoutParameters;
    const reading = readKnown(sent);
    const surplus = findSurplus(sent, known);
    if (surplus.length === 0) return reading;
    if (isPriced || isStrict) {
      const own = reading.ok ? [] : reading.detail;
      return { ok: false, detail: [...own, ...surplus.map((one) => surplusDetail(one, [...known.keys()]))] };
    }
    return reading.ok ? { ...reading, ignored: surplus.map(({ name }) => name) } : reading;
  };
  return Object.assign(read, { known });
}

const NO_SCHEMA = z.object({});

const parametersOf = ({ shape }: QuerySchema<unknown>): [string, { isRepeatable: boolean }][] =>
  Object.entries(shape).map(([name, parameter]) => [
    name,
    { isRepeatable: z.toJSONSchema(parameter, { io: 'input' }).type === 'array' },
  ]);

function valuesOf(
  sent: RawParameters,
  known: ParameterReader<unknown>['known'],
): { values: KnownValues; unreadable: ValidationDetail[] } {
  const values: Record<string, RawValue | readonly RawValue[]> = {};
  const unreadable: ValidationDetail[] = [];
  for (const [name, { isRepeatable }] of known) {
    const last = sent[name];
    if (last === undefined) continue;
    const all: readonly RawValue[] = isRepeatable ? (repeatedValues(sent).get(name) ?? [last]) : [last];
    values[name] = isRepeatable ? all : last;
    for (const [at, value] of all.entries()) {
      const loc = ['query', name, ...(isRepeatable ? [at] : [])];
      if (value === UNREADABLE) unreadable.push(toDetail({ type: 'string_unicode' }, loc, undefined));
    }
  }
  return { values, unreadable };
}

/** A parameter that does not count, or not wholly. */
interface Surplus {
  name: string;
  value: RawValue | undefined;
  type: 'extra_forbidden' | 'repeated';
}

function findSurplus(sent: RawParameters, known: ParameterReader<unknown>['known']): Surplus[] {
  const surplus: Surplus[] = [];
  const repeated = repeatedValues(sent);
  for (const name in sent) {
    if (CREDENTIALS.has(name) && !known.has(name)) continue;
    const parameter = known.get(name);
    const value = sent[name];
    if (parameter === undefined) surplus.push({ name, value, type: 'extra_forbidden' });
    else if (repeated.has(name) && !parameter.isRepeatable) surplus.push({ name, value, type: 'repeated' });
    if (surplus.length === NAMED_AT_MOST) break;
  }
  return surplus;
}

function surplusDetail({ name, value, type }: Surplus, known: readonly string[]): ValidationDetail {
  const loc = ['query', truncateInput(name)];
  if (type === 'repeated') return toDetail({ type }, loc, undefined);
  const nearest = findNearest(name, known);
  const failure: Failure = nearest === undefined ? { type } : { type, ctx: { nearest } };
  return toDetail(failure, loc, typeof value === 'string' ? value : undefined);
}

/** Longer than every known name: what follows makes no name nearer. */
const COMPARED_MAX = 40;

function findNearest(name: string, known: readonly string[]): string | undefined {
  const compared = name.slice(0, COMPARED_MAX).toLowerCase();
  return known.toSorted((a, b) => distance(compared, a) - distance(compared, b))[0];
}

type KnownValues = Readonly<Record<string, unknown>>;

type Checked<Values> = { ok: true; values: Values } | { ok: false; detail: ValidationDetail[] };

/** @param known values by name, each as its text or as itself */
export function checkValues<Values>(schema: z.ZodType<Values>, known: KnownValues): Checked<Values> {
  const parsed = schema.safeParse(known);
  if (parsed.success) return { ok: true, values: parsed.data };
  return { ok: false, detail: parsed.error.issues.map((issue) => issueDetail(issue, known)) };
}

function issueDetail(issue: z.core.$ZodIssue, known: KnownValues): ValidationDetail {
  const path = issue.path.map((part) => (typeof part === 'number' ? part : String(part)));
  const failure = issue.code === 'custom' ? (issue.params?.failure as Failure | undefined) : undefined;
  const sent = known[String(path[0])];
  const input = typeof sent === 'string' ? sent : undefined;
  return toDetail(failure ?? { type: 'missing' }, ['query', ...path], input);
}
