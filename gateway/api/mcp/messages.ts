/**
 * Messages: bounded before the protocol's library sees them (how deep the JSON nests, which revision may send batches and how
 * long), counted in the rate windows, and answered by a server of their own with lists or by a call.
 */
import { ProtocolError, ProtocolErrorCode, Server } from '@modelcontextprotocol/server';
import { ERRORS } from '../core/errors.ts';
import { unlistedOperation } from '../operations/operations.ts';
import {
  type AskedCall,
  type CallError,
  carryOut,
  errorText,
  isUncounted,
  needsSignIn,
  type RequestContext,
} from './calls.ts';
import { complete } from './completions.ts';
import type { Description } from './description.ts';
import { getPrompt, PROMPT_LIST } from './prompts.ts';
import { listResources, RESOURCE_TEMPLATES, readResource } from './resources.ts';
import { callTool } from './tool.ts';
import { TOOLS } from './tools/registry.ts';

/** A claim, the deepest argument, is on level 5. */
const DEPTH_MAX = 32;
/** Twice what a batch of the longest calls has. Checking a member takes some microseconds, whatever its length. */
const VALUES_MAX = 10_000;
/** JSON-RPC batches came with this revision and went with the next. A request that names none is of this one. */
export const BATCH_REVISION = '2025-03-26';
const BATCH_MAX = 20;

export const JSON_TYPE = 'application/json';
const PARSE_ERROR = -32_700;
const INVALID_REQUEST = -32_600;
/** A code from the range that JSON-RPC leaves to servers. */
const REFUSED = -32_000;

/** An answer over HTTP. */
export interface HttpAnswer {
  status: number;
  headers: Readonly<Record<string, string>>;
  text: string;
}

const errorAnswer = (status: number, error: object, id: unknown = null): HttpAnswer => ({
  status,
  headers: { 'content-type': JSON_TYPE },
  text: id === undefined ? '' : JSON.stringify({ jsonrpc: '2.0', error, id }),
});

export const invalidRequest = (message: string, status = 400): HttpAnswer =>
  errorAnswer(status, { code: INVALID_REQUEST, message });

/** @param message that is refused; null for all of a request. A notification gets no JSON. */
export function refusal(error: CallError, message: unknown): HttpAnswer {
  const status = error.code === 'invalid_arguments' ? 422 : ERRORS[error.code].status;
  const retry_after_s = 'retryAfter_s' in error ? error.retryAfter_s : undefined;
  const data = { code: error.code, retry_after_s };
  const id = message === null ? null : (message as { id?: unknown }).id;
  const answer = errorAnswer(status, { code: REFUSED, message: errorText(error), data }, id);
  if (retry_after_s === undefined) return answer;
  return { ...answer, headers: { ...answer.headers, 'retry-after': String(retry_after_s) } };
}

/** @param revision as the request names it */
export function readMessages(
  body: string,
  revision: string,
): { messages: readonly unknown[]; isBatch: boolean } | { refused: HttpAnswer } {
  const refuse = (message: string) => ({ refused: invalidRequest(message) });
  if (isTooComplex(body))
    return refuse(`The JSON nests more than ${DEPTH_MAX} levels deep or has more than ${VALUES_MAX} values.`);
  let sent: unknown;
  try {
    sent = JSON.parse(body);
  } catch {
    return { refused: errorAnswer(400, { code: PARSE_ERROR, message: 'The body is not JSON.' }) };
  }
  if (!Array.isArray(sent) || sent.length === 0) return { messages: [sent], isBatch: false };
  if (revision !== BATCH_REVISION)
    return refuse(`Only revision ${BATCH_REVISION} has batches: send each message alone.`);
  if (sent.length > BATCH_MAX) return refuse(`A batch has at most ${BATCH_MAX} messages.`);
  if (sent.some(Array.isArray)) return refuse('A batch holds messages, not batches.');
  return { messages: sent, isBatch: true };
}

const LEVELS: ReadonlyMap<string | undefined, number> = new Map([
  ['[', 1],
  ['{', 1],
  [']', -1],
  ['}', -1],
]);

function isTooComplex(json: string): boolean {
  let depth = 0;
  let values = 1;
  let isInString = false;
  for (let at = 0; at < json.length; at += 1) {
    const char = json[at];
    if (isInString && char === '\\') at += 1;
    else if (char === '"') isInString = !isInString;
    else if (!isInString) {
      depth += LEVELS.get(char) ?? 0;
      if (char === ',') values += 1;
      if (depth > DEPTH_MAX || values > VALUES_MAX) return true;
    }
  }
  return false;
}

/** Their handlers call an operation, which counts by itself. */
const CALLING: ReadonlySet<unknown> = new Set([
  'tools/call',
  'resources/list',
  'resources/read',
  'completion/complete',
]);

export const isCalling = (message: unknown): boolean =>
  CALLING.has((message as { method?: unknown } | null)?.method);

/** A message that calls no operation: free, and counted like any call. */
const OTHER_MESSAGE: AskedCall = {
  operation: unlistedOperation('message', 'mcp:message', 'Catalogue', false),
  route: 'mcp:message',
  reading: { ok: true, values: {}, controls: {}, ignored: [] },
};

/**
 * Counts a message that calls nothing: for its key, or for its address where it has none that works.
 * @returns why it is refused: the window is used up, or the credential does not work
 */
export async function countMessage(context: RequestContext): Promise<CallError | null> {
  const outcome = await carryOut(OTHER_MESSAGE, context, () => null);
  if (!('error' in outcome)) return null;
  const { error } = outcome;
  if (!isUncounted(error)) return error;
  const limited = await countMessage({ ...context, authorization: undefined });
  return limited ?? (needsSignIn(error) ? error : null);
}

/** Instructions for a language model that uses the service: through `/mcp`, and in `/llms.txt`. */
export const MODEL_INSTRUCTIONS = [
  'Almanac holds statistics about countries, from public providers. It is the source: do not answer from memory what it can answer.',
  'Find the series with find_indicators first; never make up an id. If `match` is weak, say that nothing measures exactly that; if none, say that Almanac has nothing of the kind.',
  'Take figures from the tools only, exactly as they are given, each with its unit, its year, and its source. Say when `projected` is true: it is a forecast.',
  'Where the answer is a refusal (no_data, not_held, unknown_place, ambiguous_place, not_a_country), give no figure: do not estimate, interpolate, or fill in from memory. Name the nearest years held, or ask which country is meant.',
  'Groups such as the EU have no figure of their own: their members have. Do not add or average them, unless the user asks for it and is told that you computed it.',
  'For a comparison use compare_countries, which takes one year for all; for “the most” and “the least”, rank_countries, and name the year, the direction and how many countries are ranked.',
  'Publish the credit line (`source`) and the licence with the figures.',
  'Finding and describing is free. Figures cost credits of the account: set max_credits to bound a call.',
] as const;

const INSTRUCTIONS = MODEL_INSTRUCTIONS.join('\n');

/** Lists change with a release only; what is read may change with the next snapshot. */
const LIST_TTL_MS = 3_600_000;
const LISTED = { ttlMs: LIST_TTL_MS, cacheScope: 'public' } as const;

/** Log levels are accepted from clients that set one; what is worth knowing stands in the answers. */
const CAPABILITIES = { tools: {}, resources: {}, prompts: {}, completions: {}, logging: {} };

/** A server for one message: it keeps nothing. */
export function createServer(
  context: RequestContext,
  { implementation, toolList }: Pick<Description, 'implementation' | 'toolList'>,
): Server {
  const { prepared } = context;
  const server = new Server(implementation, {
    capabilities: CAPABILITIES,
    instructions: INSTRUCTIONS,
    cacheHints: {
      'tools/list': LISTED,
      'prompts/list': LISTED,
      'resources/list': LISTED,
      'resources/templates/list': LISTED,
      'server/discover': LISTED,
    },
  });
  server.setRequestHandler('tools/list', () => prepared('tools', toolList));
  server.setRequestHandler('tools/call', async ({ params }) => {
    const tool = TOOLS.find(({ name }) => name === params.name);
    if (tool === undefined)
      throw new ProtocolError(
        ProtocolErrorCode.InvalidParams,
        `There is no tool “${params.name.slice(0, 80)}”; there are ${TOOLS.map(({ name }) => name).join(', ')}.`,
      );
    const result = await callTool(tool, params.arguments ?? {}, context);
    return server.projectCallToolResult(result, tool.outputSchema);
  });
  server.setRequestHandler('resources/list', async () => prepared('resources', await listResources(context)));
  server.setRequestHandler('resources/templates/list', () =>
    prepared('resourceTemplates', RESOURCE_TEMPLATES),
  );
  server.setRequestHandler('resources/read', ({ params }) => readResource(params.uri, context));
  server.setRequestHandler('prompts/list', () => prepared('prompts', PROMPT_LIST));
  server.setRequestHandler('prompts/get', ({ params }) => getPrompt(params.name, params.arguments));
  server.setRequestHandler('completion/complete', ({ params }) => complete(params.argument, context));
  return server;
}
