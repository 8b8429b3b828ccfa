/**
 * Parameters: the query string parser, parameter types as schemas that parse text, and the reader of a whole set.
 * OpenAPI is generated from the same schemas, so `meta` describes the rule that stands beside it.
 */
import { z } from 'zod';
import { type Failure, toDetail, type ValidationDetail } from './validation.ts';

/** A value that is not valid percent-encoded UTF-8: an error if the operation knows the parameter, else ignored. */
export const UNREADABLE = Symbol('not valid percent-encoded UTF-8');
export type RawValue = string | typeof UNREADABLE;

const REPEATED = Symbol('all values of repeated parameters');

/** The last value of each parameter; the readers of repeatable ones find the others, too. */
export type RawParameters = Readonly<Record<string, RawValue>> & {
  readonly [REPEATED]?: ReadonlyMap<string, readonly RawValue[]>;
};

/** The parameters of a request without any; readers compare by identity. */
export const NO_PARAMETERS: RawParameters = Object.freeze(Object.create(null));

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

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
    const name = decode(equals < 0 ? pair : pair.slice(0, equals));
    if (name === UNREADABLE) continue;
    const value = equals < 0 ? '' : decode(pair.slice(equals + 1));
    const before = parameters[name];
    if (before !== undefined) repeated.set(name, [...(repeated.get(name) ?? [before]), value]);
    parameters[name] = value;
  }
  // Not enumerable, so that a copy of the parameters is one of their last values.
  return repeated.size === 0 ? parameters : Object.defineProperty(parameters, REPEATED, { value: repeated });
}

const PLAIN = /^[\x20-\x24\x26-\x2a\x2c-\x7e]*$/;

function decode(text: string): RawValue {
  if (PLAIN.test(text)) return text;
  const bytes = Buffer.from(text.replaceAll('+', ' '), 'latin1');
  const unescaped = bytes.includes(PERCENT) ? unescapeBytes(bytes) : bytes;
  if (unescaped === null) return UNREADABLE;
  try {
    return utf8.decode(unescaped);
  } catch {
    return UNREADABLE;
  }
}

const PERCENT = 0x25;

/** The bytes that `%XX` stand for, or null when a `%` is not followed by two hexadecimal digits. */
function unescapeBytes(bytes: Buffer): Buffer | null {
  const out = Buffer.allocUnsafe(bytes.length);
  let length = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0;
    if (byte !== PERCENT) {
      out[length] = byte;
    } else {
      const digits = bytes.toString('latin1', at + 1, at + 3);
      if (!/^[0-9A-Fa-f]{2}$/.test(digits)) return null;
      out[length] = Number.parseInt(digits, 16);
      at += 2;
    }
    length += 1;
  }
  return out.subarray(0, length);
}

/** Reports a failure from within a schema. */
export function fail(ctx: z.core.$RefinementCtx, ...failures: Failure[]): never {
  for (const failure of failures) ctx.addIssue({ code: 'custom', params: { failure } });
  return z.NEVER;
}

const DECIMAL = /^-?[0-9]+$/;

/** A plain decimal integer within bounds: no plus sign, no exponent, no blanks. */
export function integer(bounds: { min?: number; max?: number } = {}) {
  const { min, max } = bounds;
  return z
    .string()
    .transform((text, ctx): number => {
      if (!DECIMAL.test(text)) return fail(ctx, { type: 'int_parsing' });
      const value = Number(text);
      if (!Number.isSafeInteger(value)) return fail(ctx, { type: 'int_parsing_size' });
      if (min !== undefined && value < min)
        return fail(ctx, { type: 'greater_than_equal', ctx: { ge: min } });
      if (max !== undefined && value > max) return fail(ctx, { type: 'less_than_equal', ctx: { le: max } });
      return value === 0 ? 0 : value;
    })
    .meta({
      type: 'integer',
      ...(min === undefined ? {} : { minimum: min }),
      ...(max === undefined ? {} : { maximum: max }),
    });
}

const FLAGS: ReadonlyMap<string, boolean> = new Map([
  ...['true', '1', 'yes', 'on'].map((word) => [word, true] as const),
  ...['false', '0', 'no', 'off'].map((word) => [word, false] as const),
]);

/** true/false/1/0/yes/no/on/off, case-insensitive. */
export const flag = () =>
  z
    .string()
    .transform((text, ctx): boolean => FLAGS.get(text.toLowerCase()) ?? fail(ctx, { type: 'bool_parsing' }))
    .meta({ type: 'boolean' });

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

/** A country code as sent. Checked before upper-casing: some letters outside ASCII have an upper case inside it. */
export const COUNTRY_CODE = /^[A-Za-z]{3}$/;

export type ParameterReading<Values> =
  | { ok: true; values: Values }
  | { ok: false; detail: ValidationDetail[] };

export type ParameterReader<Values> = (sent: RawParameters) => ParameterReading<Values>;

/**
 * Makes the reader of an operation's parameters; unknown ones are ignored. A parameter that is described as an array may
 * be repeated, and its schema gets a list. The result for no parameters is computed once, because most requests have none.
 */
export function parameterReader<Values>(
  schema: z.ZodType<Values> & { shape: Readonly<Record<string, z.ZodType>> },
): ParameterReader<Values> {
  const parameters = Object.entries(schema.shape).map(([name, parameter]) => ({
    name,
    isRepeatable: z.toJSONSchema(parameter, { io: 'input' }).type === 'array',
  }));
  const withoutParameters = check(schema, {});
  return (sent) => {
    if (sent === NO_PARAMETERS) return withoutParameters;
    const known: KnownValues = {};
    const unreadable: ValidationDetail[] = [];
    for (const { name, isRepeatable } of parameters) {
      const last = sent[name];
      if (last === undefined) continue;
      const values: readonly RawValue[] = isRepeatable ? (sent[REPEATED]?.get(name) ?? [last]) : [last];
      const texts = values.filter((value) => typeof value === 'string');
      known[name] = isRepeatable ? texts : texts[0];
      unreadable.push(...unreadableAt(values).map((at) => unreadableDetail(name, isRepeatable ? [at] : [])));
    }
    return unreadable.length > 0 ? { ok: false, detail: unreadable } : check(schema, known);
  };
}

const unreadableAt = (values: readonly RawValue[]): number[] =>
  [...values.keys()].filter((at) => values[at] === UNREADABLE);

const unreadableDetail = (name: string, index: number[]): ValidationDetail =>
  toDetail({ type: 'string_unicode' }, ['query', name, ...index], undefined);

type KnownValues = Record<string, string | readonly string[] | undefined>;

function check<Values>(schema: z.ZodType<Values>, known: KnownValues): ParameterReading<Values> {
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
