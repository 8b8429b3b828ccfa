/**
 * Parameters: the query string parser, and parameter types as schemas that parse text, or take values as they are. `parameter-reader.ts` reads a whole
 * set. OpenAPI is generated from the same schemas, so `meta` describes the rule that stands beside it.
 */
import { z } from 'zod';
import type { Failure } from './validation.ts';

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

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Most pairs of a query string or form. */
export const PAIRS_MAX = 1_000;

/** Whether a query string or form has more than `PAIRS_MAX` pairs. */
export function hasTooManyPairs(text: string): boolean {
  // A pair and its `&` are two characters or more.
  if (text.length < 2 * PAIRS_MAX) return false;
  return text.split('&').filter((pair) => pair !== '').length > PAIRS_MAX;
}

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

/** A country code as sent. Checked before upper-casing: some letters outside ASCII have an upper case inside it. */
export const COUNTRY_CODE = /^[A-Za-z]{3}$/;
