/** Calls of tools beside a bare server of the same library that returns the same content. */
import type { CallToolResult } from '@modelcontextprotocol/server';
import { hotQuery } from './data-queries.ts';
import { type Call, fetchWhole } from './http-client.ts';
import type { Gateway } from './processes.ts';
import type { Row, Skipped } from './report.ts';
import type { Session } from './session.ts';

const AT_LEAST = 0.4;
const REVISION = '2026-07-28';

/** ASCII only: the load generator sends Latin-1. */
function toolCall(name: string, args: Record<string, unknown>, key: string | null): Call {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': REVISION,
    'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const params = { name, arguments: args, _meta };
  return {
    path: '/mcp',
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': REVISION,
      'mcp-method': 'tools/call',
      'mcp-name': name,
      ...(key !== null && { authorization: `Bearer ${key}` }),
    },
  };
}

type Rows = (Row | Skipped)[];

interface ToolAnswer {
  result: CallToolResult;
}

async function compare(session: Session, gateway: Gateway, name: string, call: Call): Promise<Rows> {
  return session.comparison(name, async (stack) => {
    const { body } = await fetchWhole(gateway.port, call);
    const { result }: ToolAnswer = JSON.parse(body.toString());
    if (result.isError !== false) throw new Error(`${name}: ${body}`);
    const bare = await session.floor(stack, { kind: 'mcp', result });
    const floor = { name: 'bare server of the library', ...bare, call, atLeast: AT_LEAST };
    const { port, cpu } = gateway;
    return { name, gateway: { name: 'gateway', port, cpu, call }, floor };
  });
}

export async function mcpRows(session: Session): Promise<Rows> {
  const { catalogue } = await session.snapshot();
  const { key } = await session.customer();
  await using gateway = await session.gateway();
  const { indicator, countries, from, to } = hotQuery(catalogue);
  const indicators = [indicator];
  const calls: [string, Call][] = [
    ['find_indicators', toolCall('find_indicators', { query: 'how long do people live' }, null)],
    ['get_data, newest of 3 countries', toolCall('get_data', { indicators, countries }, key)],
    ['get_data, 3 countries x 20 years', toolCall('get_data', { indicators, countries, from, to }, key)],
    ['rank_countries', toolCall('rank_countries', { indicator }, key)],
  ];
  const rows = await Array.fromAsync(calls, ([name, call]) =>
    compare(session, gateway, `tool ${name}`, call),
  );
  return rows.flat();
}
