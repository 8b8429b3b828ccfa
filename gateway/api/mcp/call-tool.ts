/** Calls a tool: arguments in, one object out, as structured content and as text. */
import type { CallToolResult } from '@modelcontextprotocol/server';
import type { z } from 'zod';
import { truncateInput } from '../core/errors.ts';
import type { QuotaStatus } from '../core/execute.ts';
import type { Content } from '../operations/operation.ts';
import type { Controls } from '../operations/parameters/controls.ts';
import type { ParameterReading } from '../operations/parameters/parameter-reader.ts';
import type { ValidationDetail } from '../operations/parameters/validation.ts';
import type { Answer } from './answer.ts';
import { answerText, memberTexts } from './answer-text.ts';
import { type CallError, carryOut, errorText, type RequestContext } from './mcp-call.ts';
import type { Tool } from './tool.ts';

export async function callTool(
  tool: Tool,
  sent: Readonly<Record<string, unknown>>,
  context: RequestContext,
): Promise<CallToolResult> {
  const { operation } = tool;
  const asked = { operation, route: operation.path, reading: read(tool, sent) };
  const outcome = await carryOut(asked, context, answerOf);
  const answer = 'error' in outcome ? failed(tool, outcome.error) : outcome.made;
  const added = outcome.quota ? { credits: creditsOf(outcome.quota) } : {};
  return {
    content: [{ type: 'text', text: [answerText(answer), ...memberTexts(added)].join('\n') }],
    structuredContent: { ...answer, ...added },
    isError: 'error' in outcome,
  };
}

/** Tools answer with objects. */
function answerOf(content: Content): Answer {
  if (content.kind !== 'object') throw new Error(`a ${content.kind} is no answer of a tool`);
  return content.value as Answer;
}

const creditsOf = ({ charged, balance }: QuotaStatus) => ({ charged, balance });

const failed = ({ empty }: Tool, error: CallError): Answer => ({
  outcome: 'error',
  message: `The call failed: ${errorText(error)}`,
  edition: null,
  ...empty,
  error: {
    code: error.code,
    message: errorText(error),
    ...('retryAfter_s' in error && error.retryAfter_s !== undefined && { retry_after_s: error.retryAfter_s }),
  },
});

function read({ input }: Tool, sent: Readonly<Record<string, unknown>>): ParameterReading<unknown> {
  const parsed = input.safeParse(sent);
  if (!parsed.success) return { ok: false, detail: parsed.error.issues.map(detailOf) };
  const { max_credits, ...values } = parsed.data as { max_credits?: number };
  const controls: Controls = max_credits === undefined ? {} : { max_credits };
  return { ok: true, values, controls, ignored: [] };
}

function detailOf({ code, message, path, ...issue }: z.core.$ZodIssue): ValidationDetail {
  const failure = 'params' in issue ? issue.params?.failure : undefined;
  const expected = (failure as { ctx?: { expected?: string } } | undefined)?.ctx?.expected;
  return {
    loc: ['arguments', ...path.map((part) => (typeof part === 'number' ? part : String(part)))],
    msg: truncateInput(expected === undefined ? message : `should be ${expected}`),
    type: code,
  };
}
