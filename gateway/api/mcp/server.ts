/** The protocol's side of a request: lists, and calls passed on. */
import { ProtocolError, ProtocolErrorCode, Server } from '@modelcontextprotocol/server';
import { callTool } from './call-tool.ts';
import { complete } from './completions.ts';
import type { RequestContext } from './mcp-call.ts';
import { MODEL_INSTRUCTIONS } from './model-instructions.ts';
import { getPrompt, PROMPT_LIST } from './prompts.ts';
import { listResources, RESOURCE_TEMPLATES, readResource } from './resources.ts';
import { TOOLS } from './tools/registry.ts';

const VERSION = '1.0';

/** Nothing is changed by a call, and what is asked of is this service alone. */
const ANNOTATIONS = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
};

const TOOL_LIST = JSON.stringify(
  TOOLS.map(({ name, title, description, inputSchema, outputSchema }) => ({
    name,
    title,
    description,
    inputSchema: { type: 'object', ...inputSchema },
    outputSchema: { type: 'object', ...outputSchema },
    annotations: { title, ...ANNOTATIONS },
  })),
);

const INSTRUCTIONS = MODEL_INSTRUCTIONS.join('\n');

/** Lists change with a release only; what is read may change with the next snapshot. */
const LIST_TTL_MS = 3_600_000;
const LISTED = { ttlMs: LIST_TTL_MS, cacheScope: 'public' } as const;

/** Log levels are accepted from clients that set one; what is worth knowing stands in the answers. */
const CAPABILITIES = { tools: {}, resources: {}, prompts: {}, completions: {}, logging: {} };

/** A server for one message: it keeps nothing. */
export function createServer(context: RequestContext): Server {
  const { publicUrl, prepared } = context;
  const server = new Server(
    {
      name: 'almanac',
      title: 'Almanac',
      version: VERSION,
      websiteUrl: publicUrl,
    },
    {
      capabilities: CAPABILITIES,
      instructions: INSTRUCTIONS,
      cacheHints: {
        'tools/list': LISTED,
        'prompts/list': LISTED,
        'resources/list': LISTED,
        'resources/templates/list': LISTED,
        'server/discover': LISTED,
      },
    },
  );
  server.setRequestHandler('tools/list', () => prepared('tools', TOOL_LIST));
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
