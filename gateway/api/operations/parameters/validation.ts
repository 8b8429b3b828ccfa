/** Validation failures of parameters, in the shape of a 422 body: where, what is wrong, what was expected. */
import { z } from 'zod';
import { truncateInput } from '../../core/errors.ts';

export const validationDetail = z.object({
  loc: z
    .array(z.union([z.string(), z.int()]))
    .describe('Location: `query` or `header`, the name, the index within a list, and the part of that item'),
  msg: z.string(),
  type: z.string().describe('Stable name of the failure'),
  input: z.unknown().optional().describe('What was sent'),
  ctx: z.record(z.string(), z.unknown()).optional().describe('The bound or the values expected'),
});
export type ValidationDetail = z.infer<typeof validationDetail>;

export const validationBody = z.object({ detail: z.array(validationDetail).min(1) });

/** Failure types with their messages. */
const MESSAGES = {
  missing: () => 'Field required',
  int_parsing: () => 'Input should be a valid integer, unable to parse string as an integer',
  int_parsing_size: () => 'Unable to parse input string as an integer, exceeded maximum size',
  greater_than_equal: ({ ge }) => `Input should be greater than or equal to ${ge}`,
  less_than_equal: ({ le }) => `Input should be less than or equal to ${le}`,
  bool_parsing: () => 'Input should be a valid boolean, unable to interpret input',
  literal_error: ({ expected }) => `Input should be ${expected}`,
  string_pattern_mismatch: ({ expected }) => `String should be ${expected}`,
  string_too_short: ({ min_length }) => `String should have at least ${min_length} character`,
  string_too_long: ({ max_length }) => `String should have at most ${max_length} characters`,
  string_unicode: () => 'Input should be valid percent-encoded UTF-8',
  too_long: ({ max_length }) => `List should have at most ${max_length} items`,
  too_many_rows: ({ max_rows, advice }) => `Answer should have at most ${max_rows} rows: ${advice}`,
  value_error: ({ error }) => `Value error, ${error}`,
  transform_undefined: ({ transform, indicator, measure, right_for }) =>
    `${transform} is undefined for ${indicator}, whose measure is '${measure}': it is defined for ${right_for}`,
  extra_forbidden: ({ nearest }) =>
    nearest === undefined
      ? 'Extra inputs are not permitted'
      : `Extra inputs are not permitted; the nearest parameter is '${nearest}'`,
  repeated: () => 'Input should be sent once',
  idempotency_conflict: () => 'This key was used for another request',
} as const satisfies Record<string, (ctx: Record<string, unknown>) => string>;

export type FailureType = keyof typeof MESSAGES;

/** A failure as a parameter's schema reports it; `toDetail` turns it into an entry of the 422 body. */
export interface Failure {
  type: FailureType;
  ctx?: Record<string, unknown>;
  /** The offending part, unless it is the whole value. */
  input?: string;
  /** Index within a list. */
  at?: number;
  /** Part of the item at that index. */
  part?: string;
}

export function toDetail(
  failure: Failure,
  loc: (string | number)[],
  sent: string | undefined,
): ValidationDetail {
  const input = failure.input ?? sent;
  return {
    loc: [...loc, ...[failure.at, failure.part].filter((part) => part !== undefined)],
    msg: MESSAGES[failure.type](failure.ctx ?? {}),
    type: failure.type,
    ...(input === undefined ? {} : { input: truncateInput(input) }),
    ...(failure.ctx === undefined ? {} : { ctx: failure.ctx }),
  };
}
