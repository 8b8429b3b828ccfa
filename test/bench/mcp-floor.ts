/** The floor of a tool's call: a server of the same library over bare node:http that returns the same content at once. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type CallToolResult, createMcpHandler, Server } from '@modelcontextprotocol/server';

/** @param result of every call. @returns a server */
export function bareMcp(result: CallToolResult) {
  const handler = createMcpHandler(() => {
    const server = new Server({ name: 'floor', version: '1' }, { capabilities: { tools: {} } });
    server.setRequestHandler('tools/call', () => result);
    return server;
  });
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks).toString();
    const headers = new Headers();
    for (const [name, value] of Object.entries(request.headers)) headers.set(name, String(value));
    const asked = new Request('http://floor.invalid/mcp', { method: 'POST', headers });
    const answer = await handler.fetch(asked, { parsedBody: JSON.parse(body) });
    const text = await answer.text();
    response.writeHead(answer.status, {
      ...Object.fromEntries(answer.headers),
      'content-length': Buffer.byteLength(text),
    });
    response.end(text);
  };
  return createServer((request, response) => void serve(request, response));
}
