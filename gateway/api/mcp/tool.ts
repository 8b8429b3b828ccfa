/**
 * The contract of a tool: an operation whose parameters are the tool's arguments and whose answer is an object. It is
 * planned, admitted and charged by `execute` like any other, so a tool costs what the operations that it asks cost.
 */
import { z } from 'zod';
import {
  type AsOf,
  defineOperation,
  type Input,
  type Operation,
  type Planned,
  type QuerySchema,
} from '../operations/operation.ts';
import { asOf } from '../operations/parameters/as-of.ts';
import { planOnce } from './known-answers.ts';

/** Most credits that a call of a priced tool may cost. */
const maxCredits = z
  .int()
  .min(0)
  .optional()
  .describe('Refuses a dearer answer, free of charge: the error names the price');

export const asOfArgument = asOf().optional();

export interface Tool {
  name: string;
  title: string;
  description: string;
  priceText: string;
  /** Arguments as JSON Schema. */
  inputSchema: Record<string, unknown>;
  outputSchema: Record<string, unknown>;
  /** Parses arguments; `max_credits` among them is for `execute`. */
  input: z.ZodType;
  /** Members that every answer of the tool has, for one that failed. */
  empty: Readonly<Record<string, unknown>>;
  operation: Operation;
}

interface Definition<Arguments> {
  name: string;
  title: string;
  description: string;
  /** `free`: works without a key. */
  priceText: string;
  /** Of a priced tool without `max_credits`, which `execute` obeys. */
  arguments: QuerySchema<Arguments>;
  answer: z.ZodObject;
  empty: Readonly<Record<string, unknown>>;
  /** The edition that is asked for; absent where only the served one answers. */
  asOf?: (sent: Arguments) => AsOf | undefined;
  plan(input: Input<Arguments>): Planned | Promise<Planned>;
}

export function defineTool<Arguments>(definition: Definition<Arguments>): Tool {
  const { name, title, description, priceText, answer, empty } = definition;
  const isPriced = priceText !== 'free';
  const { arguments: query } = definition;
  const input = z.strictObject({ ...query.shape, ...(isPriced && { max_credits: maxCredits }) });
  return {
    name,
    title,
    description: `${description} ${isPriced ? `Costs ${priceText}; needs an API key.` : 'Free.'}`,
    priceText,
    inputSchema: schemaOf(input, 'input'),
    outputSchema: schemaOf(answer, 'output'),
    input,
    empty,
    operation: defineOperation({
      name,
      path: `mcp:${name}`,
      tag: 'Data',
      summary: title,
      description,
      needsKey: isPriced,
      priceText,
      isCacheable: false,
      pathParameters: {},
      query,
      answer,
      errors: [],
      ...(definition.asOf && { asOf: definition.asOf }),
      plan: (asked) => planOnce(asked.snapshot, questionOf(name, asked), async () => definition.plan(asked)),
    }),
  };
}

/** All that an answer depends on, beside its edition. */
const questionOf = (tool: string, { publicUrl, query }: Input<unknown>): string =>
  `${tool} ${publicUrl} ${JSON.stringify(query)}`;

/** Without the dialect, which hosts assume, and which some of them refuse. */
function schemaOf(schema: z.ZodType, io: 'input' | 'output'): Record<string, unknown> {
  const { $schema: _dialect, ...rest } = z.toJSONSchema(schema, { io });
  return rest;
}
