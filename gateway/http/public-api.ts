/** The HTTP adapter: serves every operation under both prefixes. */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import { type Call, type Executor, type Result, UNAVAILABLE } from '../execute.ts';
import type { Content, Operation } from '../operations/operation.ts';
import { type ParameterReading, parameterReader, type RawParameters } from '../operations/parameters.ts';
import { OPERATIONS } from '../operations/registry.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import type { LoadShedder } from './load-shedding.ts';
import type { Observer, RequestFacts } from './request-log.ts';
import { type Preferences, type Representation, represent, sendError, sendResult } from './response.ts';
import { ResponseCache } from './response-cache.ts';
import { type MatchedUrl, type Route, UrlRouteCache } from './url-routing.ts';

/** Every operation is served under both prefixes; OpenAPI lists the second. */
export const PREFIXES = ['/v1', '/data/api/v1'] as const;
export const DOCUMENTED_PREFIX = '/data/api/v1';
/** Usage, ledger and metrics name an operation under this prefix, whichever one the caller used. */
const NAMED_PREFIX = '/v1';

export interface PublicApiDependencies {
  executor: Pick<Executor, 'execute'>;
  loadShedder: LoadShedder;
  requestIdOf: (request: IncomingMessage) => string;
  addressOf: (request: IncomingMessage) => string;
  log: Logger;
  /** Told of every answer; null where neither log nor metrics are on. */
  observe: Observer | null;
  /** Size of the response cache in bytes and of the route cache in URLs; 0 turns one off. */
  caches?: { responseBytes?: number; urls?: number };
}

export class PublicApi {
  readonly #dependencies: PublicApiDependencies;
  readonly #urls: UrlRouteCache;
  readonly #responseBytes: number | undefined;
  #responses: { snapshot: Snapshot; cache: ResponseCache } | null = null;
  #isClosing = false;

  constructor(dependencies: PublicApiDependencies) {
    this.#dependencies = dependencies;
    this.#urls = new UrlRouteCache(dependencies.caches?.urls);
    this.#responseBytes = dependencies.caches?.responseBytes;
  }

  /** Registers all operations with the framework's router. */
  install(app: FastifyInstance): void {
    for (const operation of OPERATIONS) {
      const name = NAMED_PREFIX + operation.path;
      const route: Route = { operation, name, readQuery: parameterReader(operation.query) };
      for (const prefix of PREFIXES) this.#install(app, prefix + routerPattern(operation), route);
    }
  }

  #install(app: FastifyInstance, pattern: string, route: Route): void {
    app.get(pattern, ({ raw, id, params, query }, reply) => {
      reply.hijack();
      const path = params as Record<string, string>;
      const matched: MatchedUrl = {
        route,
        path,
        query: query as RawParameters,
        reading: null,
        isRepeated: false,
      };
      this.#urls.set(raw.url ?? '', matched);
      reply.facts = this.#answer(raw, reply.raw, id, matched);
    });
  }

  /** From now on every request goes through the framework, which tells callers that the server closes. */
  close(): void {
    this.#isClosing = true;
  }

  /** A listener that answers repeated URLs itself and hands all other requests to the framework. */
  listener(framework: RequestListener): RequestListener {
    return (request, response) => {
      const matched = this.#isClosing ? null : this.#urls.get(request);
      if (matched === null) return framework(request, response);
      const { requestIdOf, observe } = this.#dependencies;
      const id = requestIdOf(request);
      if (observe === null) this.#answer(request, response, id, matched);
      else this.#answerObserved(request, response, id, matched, observe);
    };
  }

  #answerObserved(
    request: IncomingMessage,
    response: ServerResponse,
    request_id: string,
    matched: MatchedUrl,
    observe: Observer,
  ): void {
    const started_ms = performance.now();
    const facts = this.#answer(request, response, request_id, matched);
    response.once('finish', () => {
      const duration_ms = performance.now() - started_ms;
      observe({ request_id, method: 'GET', status: response.statusCode, duration_ms, facts });
    });
  }

  /** Answers now or later. @returns facts that are complete once the answer is sent. */
  #answer(
    request: IncomingMessage,
    response: ServerResponse,
    requestId: string,
    matched: MatchedUrl,
  ): RequestFacts {
    const { executor, loadShedder, log } = this.#dependencies;
    const facts: RequestFacts = { route: matched.route.name, keyId: null, creditsCharged: 0 };
    const call = new HttpCall(this, this.#dependencies, request, requestId, matched);
    if (shouldRefuse(call, loadShedder)) {
      sendError(UNAVAILABLE, { raw: response, requestId, quota: null, snapshotId: null });
      return facts;
    }
    const send = (result: Result<Representation>): void => {
      facts.keyId = result.key_id;
      facts.creditsCharged = result.quota?.charged ?? 0;
      try {
        sendResult(result, response, requestId, matched.route.operation.tag !== 'Account');
      } catch (error) {
        log.error({ err: error, request_id: requestId }, 'the answer could not be sent');
        response.destroy();
      }
    };
    const result = executor.execute(call);
    if (result instanceof Promise) {
      loadShedder.enter();
      result.then(send).finally(() => loadShedder.leave());
    } else send(result);
    return facts;
  }

  /** The response cache of the snapshot that is served; null for a request that still uses an older one. */
  responsesOf(snapshot: Snapshot): ResponseCache | null {
    if (this.#responses?.snapshot === snapshot) return this.#responses.cache;
    if (snapshot.isRetired) return null;
    this.#responses = { snapshot, cache: new ResponseCache(this.#responseBytes) };
    return this.#responses.cache;
  }
}

/** Free answers without parameters are prerendered: refusing one would cost as much. */
function shouldRefuse({ authorization, url }: HttpCall, loadShedder: LoadShedder): boolean {
  return authorization === undefined
    ? loadShedder.shouldRefuseAnonymous() && url.includes('?')
    : loadShedder.shouldRefuseKeyed();
}

/** One HTTP request as `execute` sees it. */
class HttpCall implements Call<Representation> {
  readonly requestId: string;
  readonly authorization: string | undefined;
  readonly url: string;
  readonly #api: PublicApi;
  readonly #dependencies: PublicApiDependencies;
  readonly #request: IncomingMessage;
  readonly #matched: MatchedUrl;
  readonly #preferences: Preferences;

  constructor(
    api: PublicApi,
    dependencies: PublicApiDependencies,
    request: IncomingMessage,
    requestId: string,
    matched: MatchedUrl,
  ) {
    const { headers, url } = request;
    this.#api = api;
    this.#dependencies = dependencies;
    this.#request = request;
    this.#matched = matched;
    this.requestId = requestId;
    this.authorization = headers.authorization;
    this.url = url ?? '';
    this.#preferences = {
      acceptEncoding: headers['accept-encoding'],
      ifNoneMatch: headers['if-none-match'],
      isTagged: matched.route.operation.isCacheable,
    };
  }

  get operation(): Operation {
    return this.#matched.route.operation;
  }

  get route(): string {
    return this.#matched.route.name;
  }

  get path(): Readonly<Record<string, string>> {
    return this.#matched.path;
  }

  address(): string {
    return this.#dependencies.addressOf(this.#request);
  }

  readQuery(): ParameterReading<unknown> {
    const { route, query } = this.#matched;
    this.#matched.reading ??= route.readQuery(query);
    return this.#matched.reading;
  }

  cached(snapshot: Snapshot): Representation | null {
    if (!this.operation.isCacheable) return null;
    return this.#api.responsesOf(snapshot)?.find(this.url, this.#preferences) ?? null;
  }

  render(content: Content, snapshot: Snapshot): Representation | Promise<Representation> {
    const made = represent(content, this.#preferences, snapshot);
    if (!this.operation.isCacheable || !this.#matched.isRepeated) return made;
    const keep = (representation: Representation): Representation => {
      const isResident = content.kind === 'file' && snapshot.files.isResident(content.path);
      this.#api.responsesOf(snapshot)?.set(this.url, this.#preferences, representation, isResident);
      return representation;
    };
    return made instanceof Promise ? made.then(keep) : keep(made);
  }
}

/** `/rankings/{indicator}` in the router's notation. */
const routerPattern = ({ path }: Operation): string => path.replaceAll(/\{([^}]+)\}/g, ':$1');
