/** Sends requests of the protocol as they stand on the wire, without a client library. */
import type { Answer, Service, TestKey } from '../../service.ts';

/** The newest revision, in which each request carries its envelope, and one with a handshake. */
export const REVISIONS = ['2026-07-28', '2025-06-18'] as const;
export type Revision = (typeof REVISIONS)[number];

export interface Sent {
  key?: TestKey | undefined;
  revision?: Revision;
  headers?: Record<string, string>;
}

interface Reply extends Answer {
  /** The message of the answer. */
  // biome-ignore lint/suspicious/noExplicitAny: the very shape is what tests look at
  body: any;
}

let id = 0;

/** What the newest revision repeats in headers. */
const namedBy = (params: Record<string, unknown>): string | undefined =>
  (params.name ?? params.uri) as string | undefined;

export function envelope(method: string, params: Record<string, unknown>, revision: Revision) {
  const accept = 'application/json, text/event-stream';
  const common = { 'content-type': 'application/json', accept, 'mcp-protocol-version': revision };
  if (revision !== '2026-07-28') return { headers: common, params };
  const name = namedBy(params);
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': revision,
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const headers = { ...common, 'mcp-method': method, ...(name !== undefined && { 'mcp-name': name }) };
  return { headers, params: { ...params, _meta } };
}

export async function send(
  service: Service,
  method: string,
  sent: Record<string, unknown> = {},
  { key, revision = '2026-07-28', headers: more = {} }: Sent = {},
): Promise<Reply> {
  const { headers, params } = envelope(method, sent, revision);
  const body = JSON.stringify({ jsonrpc: '2.0', id: ++id, method, params });
  const answer = await service.get('/mcp', {
    method: 'POST',
    body,
    headers: { ...headers, ...more },
    ...(key && { key: key.key }),
  });
  const data = /^data: (.+)$/m.exec(answer.text)?.[1] ?? answer.text;
  return { ...answer, body: data === '' ? undefined : JSON.parse(data) };
}

/** A figure as a host reads it from its table, with the unit of its series. */
export interface HostFigure {
  indicator: string;
  iso3: string;
  country: string;
  year: number;
  value: number;
  unit: string | null;
  status: string | null;
  projected: boolean;
  rank?: number | null;
}

export interface ToolResult {
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: the very shape is what tests look at
  structured: any;
  figures: HostFigure[];
  isError: boolean;
  bytes: string;
}

function readFigures({ figures = [], series = [] }: ToolResult['structured']): HostFigure[] {
  const read: HostFigure[] = [];
  for (const { same, columns, rows } of figures)
    for (const row of rows) {
      const figure = { ...same };
      for (const [at, column] of columns.entries()) figure[column] = row[at];
      const own = series.find(({ indicator }: { indicator: string }) => indicator === figure.indicator);
      read.push({ ...figure, unit: own.unit });
    }
  return read;
}

/** @throws where the protocol, and not the tool, refuses */
export async function call(
  service: Service,
  name: string,
  args: Record<string, unknown>,
  sent: Sent = {},
): Promise<ToolResult> {
  const { body } = await send(service, 'tools/call', { name, arguments: args }, sent);
  if (body.error) throw new Error(`${name}: ${body.error.message}`);
  const { content, structuredContent, isError = false } = body.result;
  return {
    text: content[0].text,
    structured: structuredContent,
    figures: readFigures(structuredContent),
    isError,
    bytes: JSON.stringify(body.result),
  };
}
