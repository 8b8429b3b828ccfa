/**
 * The contract of a tool: an operation whose parameters are the tool's arguments and whose answer is an object. It is
 * planned, admitted and charged by `execute` like any other, so a tool costs what the operations that it asks cost.
 */
import type { CallToolResult } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { TRANSFORM_FORMS, TRANSFORMS_MAX } from '../../../data/derived/transforms.ts';
import { truncateInput } from '../core/errors.ts';
import type { QuotaStatus } from '../core/execute.ts';
import {
  type AsOf,
  asOf,
  asOfSent,
  type Content,
  type Controls,
  defineOperation,
  type Input,
  type Operation,
  type ParameterReading,
  type Plan,
  type Planned,
  type QuerySchema,
  type ValidationDetail,
} from '../operations/operations.ts';
import { type Answer, answerText, memberTexts } from './answer.ts';
import {
  type CallError,
  carryOut,
  errorText,
  needsSignIn,
  type Outcome,
  type RequestContext,
} from './calls.ts';
import { type Cursor, digestQuestion, type Page, pageOf } from './pages.ts';
import { readList, renamed } from './sent.ts';

/** Most credits that a call of a priced tool may cost. */
const maxCredits = z
  .int()
  .min(0)
  .optional()
  .describe('Refuses a dearer answer, free of charge: the error names the price');

export const asOfArgument = asOf()
  .meta({ anyOf: undefined, examples: undefined })
  .optional()
  .describe('An earlier edition: a date, a timestamp with UTC offset, or its id');

/** A list of texts, which may be sent as one text with commas. */
export const listArgument = (max: number) =>
  z.preprocess(readList, z.array(z.string().min(1)).min(1).max(max));

/** Figures derived from the published ones, and groups as places. */
export const derivedArguments = {
  transform: z
    .preprocess((sent) => (Array.isArray(sent) ? sent.join(',') : sent), z.string())
    .optional()
    .describe(`At most ${TRANSFORMS_MAX} of ${TRANSFORM_FORMS.join(', ')}, one after the other`),
  groups: z
    .enum(['members', 'figure'])
    .optional()
    .describe('A group is its members (default), or one figure'),
};

export interface Tool {
  name: string;
  title: string;
  description: string;
  priceText: string;
  /** Arguments as JSON Schema. */
  inputSchema: Record<string, unknown>;
  outputSchema: Record<string, unknown>;
  /** Answers with its own members alone, and the same as JSON text. */
  isBare: boolean;
  /** Parses arguments; `max_credits` among them is for `execute`. */
  input: z.ZodType;
  /** Members that every answer of the tool has, for one that failed. */
  empty: Readonly<Record<string, unknown>>;
  operation: Operation;
}

/** Works without a key. */
export const isFree = ({ priceText }: Pick<Tool, 'priceText'>): boolean => priceText === 'free';

interface Definition<Arguments extends object> {
  name: string;
  title: string;
  description: string;
  /** `free`: works without a key. */
  priceText: string;
  /** Without the `max_credits` of a priced tool, which `execute` obeys. */
  arguments: QuerySchema<Arguments>;
  answer: z.ZodObject;
  isBare?: true;
  empty: Readonly<Record<string, unknown>>;
  plan(input: Input<Arguments>, page: Page): Planned | Promise<Planned>;
}

export function defineTool<Arguments extends object>(definition: Definition<Arguments>): Tool {
  const { name, title, description, priceText, answer, empty } = definition;
  const isPriced = !isFree(definition);
  const { arguments: query } = definition;
  const input = z.strictObject({ ...query.shape, ...(isPriced && { max_credits: maxCredits }) });
  return {
    name,
    title,
    description: `${description} ${isPriced ? `Costs ${priceText}; needs a sign-in or a key.` : 'Free.'}`,
    priceText,
    inputSchema: toJsonSchema(input, 'input'),
    outputSchema: outline(toJsonSchema(answer, 'output')),
    isBare: definition.isBare ?? false,
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
      query,
      answer,
      asOf: (sent) => editionOf(cursorOf(sent)) ?? asOfSent(sent),
      plan: (asked) => planPage(definition, asked),
    }),
  };
}

/** Present where the arguments of a tool name one. */
const cursorOf = (sent: object): Cursor | undefined => (sent as { cursor?: Cursor | undefined }).cursor;

/** A page is of the edition of the page before. */
const editionOf = (cursor: Cursor | undefined): AsOf | undefined =>
  cursor && { sent: cursor.edition, edition: { id: cursor.edition } };

/** @returns invalid where the cursor stands beyond the last row, or belongs to another question */
async function planPage<Arguments extends object>(
  { name, plan }: Definition<Arguments>,
  asked: Input<Arguments>,
): Promise<Planned> {
  const cursor = cursorOf(asked.query);
  const digest = digestQuestion(name, { ...asked.query, cursor: undefined });
  if (cursor !== undefined && cursor.question !== digest)
    return invalidCursor('belongs to another call: send the arguments that it came with');
  const planned = await plan(asked, pageOf(cursor, asked.snapshot.id, digest));
  const isBeyond = cursor !== undefined && isAnswer(planned) && planned.answer.page === undefined;
  return isBeyond ? invalidCursor('stands beyond the last row') : planned;
}

const invalidCursor = (msg: string): Planned => ({
  kind: 'invalid',
  detail: [{ loc: ['arguments', 'cursor'], msg, type: 'invalid_cursor' }],
});

/** Without the dialect, which hosts assume, and which some of them refuse; and without bounds that nobody passes. */
function toJsonSchema(schema: z.ZodType, io: 'input' | 'output'): Record<string, unknown> {
  const { $schema: _dialect, ...rest } = z.toJSONSchema(schema, { io, override: omitVastBounds });
  return rest;
}

function omitVastBounds({ jsonSchema }: { jsonSchema: z.core.JSONSchema.BaseSchema }): void {
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
  if (jsonSchema.minLength === 1) delete jsonSchema.minLength;
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
}

/**
 * The members of an answer that it always has or that need explaining, each with what it is for. What stands within them says its own names, and whole schemas would take more
 * of a model's room than all else that a list of tools says.
 */
function outline({ properties, required }: Record<string, unknown>): Record<string, unknown> {
  const always = new Set(required as string[]);
  const members = Object.entries(properties as Record<string, MemberSchema>).flatMap(
    ([name, { type, enum: values, anyOf, description }]) => {
      if (!always.has(name) && description === undefined) return [];
      const types = [type ?? [], ...(anyOf ?? []).map((one) => one.type ?? [])].flat();
      const kind = types.length === 1 ? types[0] : types;
      return [[name, { type: kind, ...(values && { enum: values }), ...(description && { description }) }]];
    },
  );
  return { type: 'object', properties: Object.fromEntries(members), required };
}

interface MemberSchema {
  type?: string;
  enum?: readonly unknown[];
  anyOf?: readonly MemberSchema[];
  description?: string;
}

/** A plan whose answer is known already. */
interface AnswerPlan extends Plan {
  answer: Answer;
}

/** @param charge what the answer costs; nothing unless it is given */
export const answerPlan = (
  answer: Answer,
  { price, rows, indicators = [] }: Pick<Plan, 'price' | 'rows' | 'indicators'> = { price: 0, rows: 0 },
): AnswerPlan => ({
  kind: 'plan',
  price,
  rows,
  indicators,
  answer,
  produce: () => ({ kind: 'object', value: answer }),
});

const isAnswer = (planned: Planned): planned is AnswerPlan => 'answer' in planned;

/** Where ChatGPT looks for the challenge; other hosts look for the header. */
const CHALLENGE = 'mcp/www_authenticate';

export async function callTool(
  tool: Tool,
  sent: Readonly<Record<string, unknown>>,
  context: RequestContext,
): Promise<CallToolResult> {
  const { operation } = tool;
  const asked = { operation, route: operation.path, reading: read(tool, sent) };
  const outcome = await carryOut(asked, context, parseAnswer);
  const answer = 'error' in outcome ? failed(tool, outcome.error) : outcome.made;
  const isChallenged = 'error' in outcome && needsSignIn(outcome.error);
  return {
    ...(tool.isBare ? bareResult(answer, tool) : wholeResult(answer, outcome)),
    ...(isChallenged && { _meta: { [CHALLENGE]: [context.challenge(errorText(outcome.error))] } }),
  };
}

function wholeResult(answer: Answer, outcome: Outcome<Answer>): CallToolResult {
  const added = outcome.quota ? { credits: creditsOf(outcome.quota) } : {};
  return {
    content: [{ type: 'text', text: [answerText(answer), ...memberTexts(added)].join('\n') }],
    structuredContent: { ...answer, ...added },
    isError: 'error' in outcome,
  };
}

/** A failure is its message alone, beside members that hold nothing. */
function bareResult(
  { outcome, message, edition: _edition, ...members }: Answer,
  { empty }: Tool,
): CallToolResult {
  const isError = outcome !== 'answer';
  return {
    content: [{ type: 'text', text: isError ? message : JSON.stringify(members) }],
    structuredContent: isError ? { ...empty } : members,
    isError,
  };
}

/** Tools answer with objects. */
function parseAnswer(content: Content): Answer {
  if (content.kind !== 'object') throw new Error(`a ${content.kind} is no answer of a tool`);
  return content.value as Answer;
}

const creditsOf = ({ charged, balance }: QuotaStatus) => ({ charged, balance });

const failed = ({ empty }: Tool, error: CallError): Answer => ({
  outcome: 'error',
  message: `The call failed: ${errorText(error)} Until it succeeds there is no figure: estimate none.`,
  edition: null,
  ...empty,
  error: {
    code: error.code,
    message: errorText(error),
    ...('retryAfter_s' in error && error.retryAfter_s !== undefined && { retry_after_s: error.retryAfter_s }),
  },
});

function read(tool: Tool, sent: Readonly<Record<string, unknown>>): ParameterReading<unknown> {
  const parsed = tool.input.safeParse(sent);
  if (!parsed.success)
    return { ok: false, detail: parsed.error.issues.flatMap((one) => toDetails(one, tool)) };
  const { max_credits, ...values } = parsed.data as { max_credits?: number };
  const controls: Controls = max_credits === undefined ? {} : { max_credits };
  return { ok: true, values, controls, ignored: [] };
}

/** Of parameters that do not exist; the others are counted. */
const UNKNOWN_TOLD_MAX = 10;

/** A parameter that does not exist is told with those that may be meant. */
function toDetails(issue: z.core.$ZodIssue, { inputSchema }: Tool): ValidationDetail[] {
  if (issue.code !== 'unrecognized_keys' || issue.path.length > 0) return [toDetail(issue)];
  const known = Object.keys(inputSchema.properties as object);
  const told = issue.keys.slice(0, UNKNOWN_TOLD_MAX).map((name) => ({
    loc: ['arguments', truncateInput(name)],
    msg: renamed(name, known),
    type: issue.code,
  }));
  const others = issue.keys.length - told.length;
  if (others === 0) return told;
  return [...told, { loc: ['arguments'], msg: `${others} more do not exist`, type: issue.code }];
}

function toDetail({ code, message, path, ...issue }: z.core.$ZodIssue): ValidationDetail {
  const failure = 'params' in issue ? issue.params?.failure : undefined;
  const expected = (failure as { ctx?: { expected?: string } } | undefined)?.ctx?.expected;
  return {
    loc: ['arguments', ...path.map((part) => (typeof part === 'number' ? part : String(part)))],
    msg: truncateInput(expected === undefined ? message : `should be ${expected}`),
    type: code,
  };
}
