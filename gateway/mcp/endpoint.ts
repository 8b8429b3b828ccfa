/**
 * The Model Context Protocol over streamable HTTP at `/mcp`, without sessions: each request is answered by a server of its
 * own. A page that a browser loaded from elsewhere cannot reach it: Host and Origin have to be names of this service.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import {
  createMcpHandler,
  hostHeaderValidationResponse,
  localhostAllowedHostnames,
  type McpHttpHandler,
  originValidationResponse,
} from '@modelcontextprotocol/server';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import type { Settings } from '../../data/runtime/settings.ts';
import type { Executor } from '../execute.ts';
import type { RequestContext } from './mcp-call.ts';
import { createServer } from './server.ts';

export const MCP_PATH = '/mcp';

/** The longest call has 50 claims. */
const BODY_MAX_BYTES = 256 * 1024;
/** A client may listen for changes of lists, which never come: each stream is a connection. */
const SUBSCRIPTIONS_MAX = 64;
const UNAVAILABLE = 503;
const RETRY_AFTER_S = 5;
const JSON_TYPE = 'application/json';

export interface McpDependencies {
  executor: Pick<Executor, 'execute'>;
  loadShedder: {
    shouldRefuseKeyed(): boolean;
    shouldRefuseAnonymous(): boolean;
    enter(): void;
    leave(): void;
  };
  newRequestId: () => string;
  addressOf: (request: FastifyRequest['raw']) => string;
  /** Where callers reach the service. */
  publicUrl: string;
  settings: Pick<Settings, 'HOST' | 'PUBLIC_URL'>;
  log: Logger;
}

/** Names under which this service may be reached, as URLs write them. */
function ownHostnames({ HOST, PUBLIC_URL }: McpDependencies['settings']): string[] {
  const own = [PUBLIC_URL, `http://${HOST.includes(':') ? `[${HOST}]` : HOST}`];
  const names = own.flatMap((url) => (url === undefined ? [] : (URL.parse(url)?.hostname ?? [])));
  return [...new Set([...localhostAllowedHostnames(), ...names])];
}

export function installMcp(app: FastifyInstance, dependencies: McpDependencies): void {
  const { loadShedder, settings, log } = dependencies;
  const hostnames = ownHostnames(settings);
  // The protocol's library makes requests anew on its way to a server.
  const contexts = new AsyncLocalStorage<RequestContext>();
  const handler = createMcpHandler(
    () => {
      const context = contexts.getStore();
      if (context === undefined) throw new Error('a request without its context');
      return createServer(context);
    },
    {
      maxSubscriptions: SUBSCRIPTIONS_MAX,
      onerror: (err) => log.debug({ err }, 'an MCP request was refused'),
    },
  );
  const serve = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const asked = webRequest(request);
    const refused =
      hostHeaderValidationResponse(asked, hostnames) ?? originValidationResponse(asked, hostnames);
    if (refused !== undefined) return send(refused, reply);
    const isKeyed = request.headers.authorization !== undefined;
    if (isKeyed ? loadShedder.shouldRefuseKeyed() : loadShedder.shouldRefuseAnonymous())
      return reply.code(UNAVAILABLE).header('Retry-After', RETRY_AFTER_S).send();
    const context = contextOf(request, reply, dependencies);
    loadShedder.enter();
    try {
      return await send(await contexts.run(context, () => answer(request, asked, handler)), reply);
    } finally {
      loadShedder.leave();
    }
  };
  app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser(
      '*',
      { parseAs: 'string', bodyLimit: BODY_MAX_BYTES },
      (_request, body, done) => done(null, body),
    );
    scope.route({ method: ['GET', 'POST', 'DELETE'], url: MCP_PATH, handler: serve });
  });
  app.addHook('preClose', () => handler.close());
}

function contextOf(
  request: FastifyRequest,
  reply: FastifyReply,
  dependencies: McpDependencies,
): RequestContext {
  const { executor, newRequestId, addressOf, publicUrl } = dependencies;
  return {
    executor,
    newRequestId,
    authorization: request.headers.authorization,
    address: () => addressOf(request.raw),
    origin: () => request.headers.origin,
    publicUrl,
    onCall({ route, keyId, charged }) {
      reply.facts = { route, keyId, creditsCharged: (reply.facts?.creditsCharged ?? 0) + charged };
    },
  };
}

/** A body is read once: what is no JSON is left to the protocol's library, which says so. */
function answer({ body }: FastifyRequest, asked: Request, handler: McpHttpHandler): Promise<Response> {
  if (typeof body !== 'string') return handler.fetch(asked);
  let parsedBody: unknown;
  try {
    parsedBody = JSON.parse(body);
  } catch {
    return handler.fetch(new Request(asked, { body }));
  }
  return handler.fetch(asked, { parsedBody });
}

/** Without its body, which is no part of what is checked first. */
function webRequest({ method, url, headers }: FastifyRequest): Request {
  const sent = new Headers();
  for (const [name, value] of Object.entries(headers))
    if (value !== undefined) sent.set(name, Array.isArray(value) ? value.join(', ') : value);
  return new Request(`http://almanac.invalid${url}`, { method, headers: sent });
}

/** A whole body as text: a stream of one costs a seventh of a call. */
async function send(response: Response, reply: FastifyReply): Promise<FastifyReply> {
  reply.code(response.status).headers(Object.fromEntries(response.headers));
  if (!response.headers.has('cache-control')) reply.header('Cache-Control', 'no-store');
  if (response.headers.get('content-type')?.startsWith(JSON_TYPE)) return reply.send(await response.text());
  return reply.send(response.body && Readable.fromWeb(response.body as ReadableStream));
}
