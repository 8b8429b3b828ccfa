/**
 * The Model Context Protocol over streamable HTTP at `/mcp`.
 *
 * A tool costs what the operations that it asks cost: each call passes `execute`, and stands in usage and ledger by its tool.
 * There are no sessions: each message is answered by a server of its own, also in a batch, so that no message cancels another
 * or takes its id. Every message counts in the window of its key, or of its address. What is not answered in time is refused
 * and not charged. Bodies, nesting, batches, open connections and the length of an answer are bounded.
 * A page that a browser loaded from elsewhere cannot reach it: Host and Origin have to be names of this service.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import {
  createMcpHandler,
  localhostAllowedHostnames,
  validateHostHeader,
  validateOriginHeader,
} from '@modelcontextprotocol/server';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import type { Settings } from '../../../data/runtime/settings.ts';
import type { ApiError } from '../core/errors.ts';
import { type Executor, UNAVAILABLE } from '../core/execute.ts';
import { addressUnit } from '../metering/metering.ts';
import type { Called, RequestContext } from './calls.ts';
import {
  type Answer,
  BATCH_REVISION,
  countMessage,
  createServer,
  invalidRequest,
  isCalling,
  JSON_TYPE,
  readMessages,
  refusal,
} from './messages.ts';

export { MODEL_INSTRUCTIONS } from './messages.ts';

export const MCP_PATH = '/mcp';

/** The longest call has 50 claims. */
const BODY_MAX_KB = 256;
/** Longer than any query and any command of Redis may take. */
const DEADLINE_MS = 60_000;
/** A gateway of many users, such as a university's, is one address. */
const CONNECTIONS_MAX = 256;
const TOO_MANY_CONNECTIONS: ApiError = {
  code: 'rate_limited',
  message: `An address has at most ${CONNECTIONS_MAX} open connections here.`,
  retryAfter_s: 5,
};
const TOO_LATE = 'The answer took too long; nothing was charged.';
const FORBIDDEN = 403;
const TOO_LARGE = 413;

export interface McpDependencies {
  executor: Pick<Executor, 'execute'>;
  loadShedder: {
    shouldRefuseKeyed(): boolean;
    shouldRefuseAnonymous(): boolean;
    enter(): void;
    leave(): void;
  };
  /** Bounds how long a client may take to read an answer. */
  slowClients: { watch(raw: ServerResponse, bytes: number): void };
  newRequestId: () => string;
  addressOf: (request: FastifyRequest['raw']) => string;
  /** Where callers reach the service. */
  publicUrl: string;
  settings: Pick<Settings, 'HOST' | 'PUBLIC_URL'>;
  log: Logger;
  /** How long an answer may take. */
  deadline_ms?: number;
}

/** Names under which this service may be reached, as URLs write them. */
function ownHostnames({ HOST, PUBLIC_URL }: McpDependencies['settings']): string[] {
  const own = [PUBLIC_URL, `http://${HOST.includes(':') ? `[${HOST}]` : HOST}`];
  const names = own.flatMap((url) => (url === undefined ? [] : (URL.parse(url)?.hostname ?? [])));
  return [...new Set([...localhostAllowedHostnames(), ...names])];
}

export function installMcp(app: FastifyInstance, dependencies: McpDependencies): void {
  const { executor, loadShedder, slowClients, newRequestId, addressOf, publicUrl, settings, log } =
    dependencies;
  const { deadline_ms = DEADLINE_MS } = dependencies;
  const hostnames = ownHostnames(settings);
  const connections = new AddressConnections(CONNECTIONS_MAX);
  // The protocol's library makes requests anew on its way to a server.
  const contexts = new AsyncLocalStorage<RequestContext>();
  const handler = createMcpHandler(
    () => {
      const context = contexts.getStore();
      if (context === undefined) throw new Error('a request without its context');
      return createServer(context);
    },
    { onerror: (err) => log.debug({ err }, 'an MCP request was refused') },
  );

  const answerMessage = async (
    message: unknown,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<Answer> => {
    const deadline = new AbortController();
    const calls: Called[] = [];
    const lists: [placeholder: string, list: string][] = [];
    const context: RequestContext = {
      executor,
      newRequestId,
      authorization: request.headers.authorization,
      address: () => addressOf(request.raw),
      origin: () => request.headers.origin,
      publicUrl,
      onCall(call) {
        const { route, keyId, charged, onFault } = call;
        calls.push(call);
        const creditsCharged = (reply.facts?.creditsCharged ?? 0) + charged;
        reply.facts = { route, keyId, ...reply.facts, creditsCharged };
        if (deadline.signal.aborted) void onFault?.(new Error(TOO_LATE));
      },
      prepared<Name extends string>(list: Name, json: string) {
        lists.push([`"${list}":[]`, `"${list}":${json}`]);
        return { [list]: [] as never[] } as Record<Name, never[]>;
      },
    };
    const counted = async (): Promise<Answer | null> => {
      if (deadline.signal.aborted || calls.some(({ isCounted }) => isCounted)) return null;
      const error = await countMessage(context);
      return error && refusal(error, message);
    };
    const answer = async (): Promise<Answer> => {
      const refused = isCalling(message) ? null : await counted();
      if (refused !== null) return refused;
      const asked = webRequest(request, deadline.signal);
      const made = await answerOf(
        await contexts.run(context, () => handler.fetch(asked, { parsedBody: message })),
      );
      // A text in JSON has no quotation mark that is not escaped: only the list's name is found.
      const text = lists.reduce(
        (whole, [placeholder, list]) => whole.replace(placeholder, () => list),
        made.text,
      );
      return (await counted()) ?? { ...made, text };
    };
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<Answer>((resolve) => {
      timer = setTimeout(() => {
        resolve(refusal({ ...UNAVAILABLE, message: TOO_LATE }, message));
        deadline.abort();
        for (const { onFault } of calls) void onFault?.(new Error(TOO_LATE));
      }, deadline_ms);
    });
    return Promise.race([answer(), late]).finally(() => clearTimeout(timer));
  };

  const answerBody = async (body: string, request: FastifyRequest, reply: FastifyReply): Promise<Answer> => {
    const revision = request.headers['mcp-protocol-version'];
    const read = readMessages(body, String(revision ?? BATCH_REVISION));
    if ('refused' in read) return read.refused;
    const answers = await Promise.all(read.messages.map((one) => answerMessage(one, request, reply)));
    return joined(answers, read.isBatch);
  };

  const serve = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const { host, origin, authorization } = request.headers;
    for (const checked of [validateHostHeader(host, hostnames), validateOriginHeader(origin, hostnames)])
      if (!checked.ok) return send(invalidRequest(checked.message, FORBIDDEN), reply);
    const isShed =
      authorization === undefined ? loadShedder.shouldRefuseAnonymous() : loadShedder.shouldRefuseKeyed();
    if (isShed) return send(refusal(UNAVAILABLE, null), reply);
    const { body } = request;
    loadShedder.enter();
    const answer = await (typeof body === 'string'
      ? answerBody(body, request, reply)
      : handler.fetch(webRequest(request)).then(answerOf)
    ).finally(() => loadShedder.leave());
    // From here on it waits for the client, and is no load.
    return send(answer, reply);
  };

  const send = ({ status, headers, text }: Answer, reply: FastifyReply): FastifyReply => {
    slowClients.watch(reply.raw, Buffer.byteLength(text));
    reply.code(status).headers({ 'cache-control': 'no-store', ...headers });
    return reply.send(text === '' ? undefined : text);
  };

  app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser(
      '*',
      { parseAs: 'string', bodyLimit: BODY_MAX_KB * 1024 },
      (_request, body, done) => done(null, body),
    );
    scope.setErrorHandler((error: FastifyError, _request, reply) => {
      if (error.statusCode !== TOO_LARGE) throw error;
      return send(invalidRequest(`A body has at most ${BODY_MAX_KB} KB.`, TOO_LARGE), reply);
    });
    scope.addHook('onRequest', async ({ raw }, reply) => {
      if (!connections.admit(addressOf(raw), reply.raw))
        return send(refusal(TOO_MANY_CONNECTIONS, null), reply);
    });
    scope.route({ method: ['GET', 'POST', 'DELETE'], url: MCP_PATH, handler: serve });
  });
}

/** With the answers to a batch as events, as the revision that has batches sends them; one refusal where all are refused. */
function joined(answers: readonly Answer[], isBatch: boolean): Answer {
  const [first] = answers;
  if (first !== undefined && (!isBatch || answers.every(({ status }) => status >= 400))) return first;
  const text = answers.map(eventOf).join('');
  if (text === '') return { status: 202, headers: {}, text };
  return { status: 200, headers: { 'content-type': 'text/event-stream' }, text };
}

const eventOf = ({ headers, text }: Answer): string =>
  text === '' || !headers['content-type']?.startsWith(JSON_TYPE) ? text : `event: message\ndata: ${text}\n\n`;

/** Without its body, which is read once. */
function webRequest({ method, url, headers }: FastifyRequest, signal?: AbortSignal): Request {
  const sent = new Headers();
  for (const [name, value] of Object.entries(headers))
    if (value !== undefined) sent.set(name, Array.isArray(value) ? value.join(', ') : value);
  return new Request(`http://almanac.invalid${url}`, { method, headers: sent, ...(signal && { signal }) });
}

/** Whole, as text: a stream costs a seventh of a call. */
const answerOf = async (response: Response): Promise<Answer> => ({
  status: response.status,
  headers: Object.fromEntries(response.headers),
  text: await response.text(),
});

/**
 * Bounds the open connections of an address: those on which it has asked. Behind a proxy, whose connections many share, an
 * answer counts until it is sent.
 */
class AddressConnections {
  readonly #max: number;
  readonly #open = new Map<string, Set<Socket | ServerResponse>>();

  constructor(max: number) {
    this.#max = max;
  }

  /** Counts the connection of a request from its first to the end of the connection. @returns false where it is one too many */
  admit(address: string, response: ServerResponse): boolean {
    const { socket } = response.req;
    const connection = socket.remoteAddress === address ? socket : response;
    const unit = addressUnit(address);
    const open = this.#open.get(unit) ?? new Set();
    if (connection.destroyed || open.has(connection)) return true;
    if (open.size >= this.#max) return false;
    this.#open.set(unit, open.add(connection));
    connection.once('close', () => {
      open.delete(connection);
      if (open.size === 0) this.#open.delete(unit);
    });
    return true;
  }
}
