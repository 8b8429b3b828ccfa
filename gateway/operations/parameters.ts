/**
 * The kinds of query parameter there are, as schemas that read text, and the reading of a whole query.
 *
 * The same schemas give the OpenAPI description: what is said there (`meta`) stands beside the rule it describes.
 */
import { z } from 'zod';
import { NO_PARAMETERS, type QueryParameters, UNREADABLE } from '../http/query-string.ts';
import { type Failure, toDetail, type ValidationDetail } from './validation.ts';

/** Reports a failure from within a schema. */
export function fail(ctx: z.core.$RefinementCtx, ...failures: Failure[]): never {
  for (const failure of failures) ctx.addIssue({ code: 'custom', params: { failure } });
  return z.NEVER;
}

const DECIMAL = /^-?[0-9]+$/;

/** A plain decimal integer within bounds: no sign but minus, no exponent, no blanks. */
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

/** true/false/1/0/yes/no/on/off in any case. */
export const flag = () =>
  z
    .string()
    .transform((text, ctx): boolean => FLAGS.get(text.toLowerCase()) ?? fail(ctx, { type: 'bool_parsing' }))
    .meta({ type: 'boolean' });

/** One of some words, exactly. */
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

export type ParameterReading<Values> =
  | { ok: true; values: Values }
  | { ok: false; detail: ValidationDetail[] };

export type ParameterReader<Values> = (sent: QueryParameters) => ParameterReading<Values>;

/**
 * Makes the reader of a route's parameters: it checks those that the route knows and ignores all others. What it says
 * of a request without any is worked out once, for most requests have none.
 */
export function parameterReader<Values>(
  schema: z.ZodType<Values> & { shape: Readonly<Record<string, unknown>> },
): ParameterReader<Values> {
  const names = Object.keys(schema.shape);
  const ofNone = check(schema, {});
  return (sent) => {
    if (sent === NO_PARAMETERS) return ofNone;
    const known: Record<string, string> = {};
    const unreadable: ValidationDetail[] = [];
    for (const name of names) {
      const value = sent[name];
      if (value === undefined) continue;
      if (value === UNREADABLE)
        unreadable.push(toDetail({ type: 'string_unicode' }, ['query', name], undefined));
      else known[name] = value;
    }
    return unreadable.length > 0 ? { ok: false, detail: unreadable } : check(schema, known);
  };
}

function check<Values>(schema: z.ZodType<Values>, known: Record<string, string>): ParameterReading<Values> {
  const parsed = schema.safeParse(known);
  if (parsed.success) return { ok: true, values: parsed.data };
  return { ok: false, detail: parsed.error.issues.map((issue) => issueDetail(issue, known)) };
}

function issueDetail(issue: z.core.$ZodIssue, known: Record<string, string>): ValidationDetail {
  const path = issue.path.map((part) => (typeof part === 'number' ? part : String(part)));
  const failure = issue.code === 'custom' ? (issue.params?.failure as Failure | undefined) : undefined;
  return toDetail(failure ?? { type: 'missing' }, ['query', ...path], known[String(path[0])]);
}
