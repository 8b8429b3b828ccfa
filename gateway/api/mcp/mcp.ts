/**
 * The Model Context Protocol over streamable HTTP at `/mcp`.
 *
 * A tool costs what the operations that it asks cost: each call passes `execute`, and stands in usage and ledger by its tool.
 * There are no sessions: each message is answered by a server of its own, also in a batch, so that no message cancels another
 * or takes its id. Every message counts in the window of its key, or of its address. What is not answered in time is refused
 * and not charged. Bodies, nesting, batches, open connections and the length of an answer are bounded.
 * Host has to be a name of this service. A page that a browser loaded from elsewhere needs a credential of its own: no cookie
 * is read. A call without a credential that works is told with 401 where to sign in (RFC 9728).
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
import { type CallError, type Called, needsSignIn, type RequestContext } from './calls.ts';
import { type Described, type Description, describeServer } from './description.ts';
import { installListing } from './listing.ts';
import {
  BATCH_REVISION,
  countMessage,
  createServer,
  type HttpAnswer,
  invalidRequest,
  isCalling,
  JSON_TYPE,
  readMessages,
  refusal,
} from './messages.ts';

export { MODEL_INSTRUCTIONS } from './messages.ts';

const MCP_PATH = '/mcp';

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
const UNAUTHORIZED = 401;
const FORBIDDEN = 403;
const TOO_LARGE = 413;
const REFUSED_CREDENTIAL = 'The credential is not valid: it is unknown, or has ended.';

/** Scripts of other origins may read an answer and what it asks for. */
const CROSS_ORIGIN = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': 'WWW-Authenticate, Retry-After, X-Request-Id',
};
/** What they may send: the headers of all revisions. */
const PREFLIGHT = {
  'access-control-allow-methods': 'GET, POST, DELETE',
  'access-control-allow-headers':
    'Authorization, Content-Type, Last-Event-ID, MCP-Protocol-Version, Mcp-Method, Mcp-Name, Mcp-Session-Id, X-Request-Id',
  'access-control-max-age': '86400',
};

export interface McpDependencies extends Described {
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
  settings: Pick<Settings, 'HOST' | 'PUBLIC_URL' | 'WELL_KNOWN'>;
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
  const { addressOf } = dependencies;
  const connections = new AddressConnections();
  const description = describeServer(dependencies);
  const endpoint = new Endpoint(dependencies, description);
  installListing(app, dependencies.publicUrl, description, dependencies.settings);
  app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser(
      '*',
      { parseAs: 'string', bodyLimit: BODY_MAX_KB * 1024 },
      (_request, body, done) => done(null, body),
    );
    scope.setErrorHandler((error: FastifyError, _request, reply) => {
      if (error.statusCode !== TOO_LARGE) throw error;
      return endpoint.send(invalidRequest(`A body has at most ${BODY_MAX_KB} KB.`, TOO_LARGE), reply);
    });
    scope.addHook('onRequest', async ({ raw }, reply) => {
      if (!connections.admit(addressOf(raw), reply.raw))
        return endpoint.send(refusal(TOO_MANY_CONNECTIONS, null), reply);
    });
    scope.route({
      method: ['GET', 'POST', 'DELETE', 'OPTIONS'],
      url: MCP_PATH,
      handler: (request, reply) => endpoint.serve(request, reply),
    });
  });
}

/** What a message has led to. */
interface Work {
  deadline: AbortController;
  calls: Called[];
  lists: [placeholder: string, list: string][];
}

class Endpoint {
  readonly #dependencies: McpDependencies;
  readonly #hostnames: string[];
  readonly #description: Description;
  // The protocol's library makes new request objects on the way to a server.
  readonly #contexts = new AsyncLocalStorage<RequestContext>();
  readonly #handler: ReturnType<typeof createMcpHandler>;

  constructor(dependencies: McpDependencies, description: Description) {
    this.#dependencies = dependencies;
    this.#hostnames = ownHostnames(dependencies.settings);
    this.#description = description;
    this.#handler = createMcpHandler(
      () => {
        const context = this.#contexts.getStore();
        if (context === undefined) throw new Error('a request without its context');
        return createServer(context, this.#description);
      },
      { onerror: (err) => dependencies.log.debug({ err }, 'an MCP request was refused') },
    );
  }

  async serve(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { host, origin, authorization } = request.headers;
    const checked = validateHostHeader(host, this.#hostnames);
    if (!checked.ok) return this.send(invalidRequest(checked.message, FORBIDDEN), reply);
    if (request.method === 'OPTIONS') return this.send({ status: 204, headers: PREFLIGHT, text: '' }, reply);
    if (authorization === undefined && !validateOriginHeader(origin, this.#hostnames).ok)
      return this.send(refusal({ code: 'unauthorized' }, null), reply);
    const { loadShedder } = this.#dependencies;
    const isShed =
      authorization === undefined ? loadShedder.shouldRefuseAnonymous() : loadShedder.shouldRefuseKeyed();
    if (isShed) return this.send(refusal(UNAVAILABLE, null), reply);
    const { body } = request;
    loadShedder.enter();
    const answer = await (typeof body === 'string'
      ? this.#answerBody(body, request, reply)
      : this.#handler.fetch(webRequest(request)).then(answerOf)
    ).finally(() => loadShedder.leave());
    // From here on it waits for the client, and is no load.
    return this.send(answer, reply);
  }

  send({ status, headers, text }: HttpAnswer, reply: FastifyReply): FastifyReply {
    this.#dependencies.slowClients.watch(reply.raw, Buffer.byteLength(text));
    reply.code(status).headers({ 'cache-control': 'no-store', ...CROSS_ORIGIN, ...headers });
    if (status === UNAUTHORIZED) reply.header('www-authenticate', this.#challenge(reply.request));
    return reply.send(text === '' ? undefined : text);
  }

  #challenge({ headers: { authorization } }: FastifyRequest): string {
    return this.#description.challenge(authorization === undefined ? undefined : REFUSED_CREDENTIAL);
  }

  async #answerBody(body: string, request: FastifyRequest, reply: FastifyReply): Promise<HttpAnswer> {
    const revision = request.headers['mcp-protocol-version'];
    const read = readMessages(body, String(revision ?? BATCH_REVISION));
    if ('refused' in read) return read.refused;
    const answers = await Promise.all(read.messages.map((one) => this.#answerInTime(one, request, reply)));
    return joined(answers, read.isBatch);
  }

  #answerInTime(message: unknown, request: FastifyRequest, reply: FastifyReply): Promise<HttpAnswer> {
    const { deadline_ms = DEADLINE_MS } = this.#dependencies;
    const work: Work = { deadline: new AbortController(), calls: [], lists: [] };
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<HttpAnswer>((resolve) => {
      timer = setTimeout(() => {
        resolve(refusal({ ...UNAVAILABLE, message: TOO_LATE }, message));
        work.deadline.abort();
        for (const { onFault } of work.calls) void onFault?.(new Error(TOO_LATE));
      }, deadline_ms);
    });
    const answered = this.#answer(message, request, this.#contextOf(request, reply, work), work);
    return Promise.race([answered, late]).finally(() => clearTimeout(timer));
  }

  /** A message that calls nothing is counted before its answer, and one whose call was not counted after it. */
  async #answer(
    message: unknown,
    request: FastifyRequest,
    context: RequestContext,
    { deadline: { signal }, calls, lists }: Work,
  ): Promise<HttpAnswer> {
    const counted = async (): Promise<CallError | null> => {
      const isDone = signal.aborted || calls.some(({ isCounted }) => isCounted);
      return isDone ? null : countMessage(context);
    };
    const refused = isCalling(message) ? null : await counted();
    if (refused !== null) return refusal(refused, message);
    const asked = webRequest(request, signal);
    const made = await answerOf(
      await this.#contexts.run(context, () => this.#handler.fetch(asked, { parsedBody: message })),
    );
    // A text in JSON has no quotation mark that is not escaped: only the list's name is found.
    const text = lists.reduce(
      (whole, [placeholder, list]) => whole.replace(placeholder, () => list),
      made.text,
    );
    const limited = await counted();
    if (limited !== null && !needsSignIn(limited)) return refusal(limited, message);
    const status = calls.some((call) => call.needsSignIn) ? UNAUTHORIZED : made.status;
    return { ...made, status, text };
  }

  #contextOf(request: FastifyRequest, reply: FastifyReply, { deadline, calls, lists }: Work): RequestContext {
    const { executor, newRequestId, addressOf, publicUrl } = this.#dependencies;
    return {
      executor,
      newRequestId,
      authorization: request.headers.authorization,
      address: () => addressOf(request.raw),
      origin: () => request.headers.origin,
      publicUrl,
      challenge: (reason) => this.#description.challenge(reason),
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
  }
}

/** With the answers to a batch as events, as the revision that has batches sends them; one refusal where all are refused. */
function joined(answers: readonly HttpAnswer[], isBatch: boolean): HttpAnswer {
  const [first] = answers;
  if (first !== undefined && (!isBatch || answers.every(({ status }) => status >= 400))) return first;
  const text = answers.map(eventOf).join('');
  if (text === '') return { status: 202, headers: {}, text };
  return { status: 200, headers: { 'content-type': 'text/event-stream' }, text };
}

const eventOf = ({ headers, text }: HttpAnswer): string =>
  text === '' || !headers['content-type']?.startsWith(JSON_TYPE) ? text : `event: message\ndata: ${text}\n\n`;

/** Without its body, which is read once. */
function webRequest({ method, url, headers }: FastifyRequest, signal?: AbortSignal): Request {
  const sent = new Headers();
  for (const [name, value] of Object.entries(headers))
    if (value !== undefined) sent.set(name, Array.isArray(value) ? value.join(', ') : value);
  return new Request(`http://almanac.invalid${url}`, { method, headers: sent, ...(signal && { signal }) });
}

/** Whole, as text: a stream costs a seventh of a call. */
const answerOf = async (response: Response): Promise<HttpAnswer> => ({
  status: response.status,
  headers: Object.fromEntries(response.headers),
  text: await response.text(),
});

/**
 * Bounds the open connections of an address: those on which it has asked. Behind a proxy, whose connections many share, an
 * answer counts until it is sent.
 */
class AddressConnections {
  readonly #open = new Map<string, Set<Socket | ServerResponse>>();

  /** Counts the connection of a request from its first to the end of the connection. @returns false where it is one too many */
  admit(address: string, response: ServerResponse): boolean {
    const { socket } = response.req;
    const connection = socket.remoteAddress === address ? socket : response;
    const unit = addressUnit(address);
    const open = this.#open.get(unit) ?? new Set();
    if (connection.destroyed || open.has(connection)) return true;
    if (open.size >= CONNECTIONS_MAX) return false;
    this.#open.set(unit, open.add(connection));
    connection.once('close', () => {
      open.delete(connection);
      if (open.size === 0) this.#open.delete(unit);
    });
    return true;
  }
}
