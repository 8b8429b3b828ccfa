/** The HTTP adapter: serves every operation under both prefixes, and the pages of the site at the root. */
import { IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import type { LogEntry } from '../../../../data/schema/snapshot.ts';
import { answerAnonymous } from '../../core/anonymous-call.ts';
import { type Executor, UNAVAILABLE } from '../../core/execute.ts';
import type { Result } from '../../core/result.ts';
import { isPriced, type Operation } from '../../operations/operation.ts';
import { parameterReader } from '../../operations/parameters/parameter-reader.ts';
import { NO_PARAMETERS, type RawParameters } from '../../operations/parameters/parameters.ts';
import { OPERATIONS } from '../../operations/registry.ts';
import type { Snapshot } from '../../snapshot/editions/snapshot.ts';
import { type ErrorPage, errorOf, sendErrorPage } from '../server/error-page.ts';
import type { LoadShedder } from '../server/load-shedding.ts';
import { clientRequestId } from '../server/request.ts';
import type { Observer, RequestFacts } from '../server/request-log.ts';
import { HttpCall } from './http-call.ts';
import type { PageAddress } from './page-warming.ts';
import type { Representation } from './representation.ts';
import { sendError, sendResult } from './response.ts';
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
  /** Gives a unique request id. */
  newRequestId: () => string;
  addressOf: (request: IncomingMessage) => string;
  /** Where callers reach the service, without a slash at its end. */
  publicUrl: string;
  /** Pages and pictures, at their paths. */
  pages?: readonly Operation[];
  errorPage?: ErrorPage;
  log: Logger;
  /** Observes every answer; null when both log and metrics are off. */
  observe: Observer | null;
  /** Size of the response cache in bytes and of the route cache in URLs; 0 turns one off. */
  caches?: { responseBytes?: number; urls?: number };
}

export class PublicApi {
  readonly #dependencies: PublicApiDependencies;
  readonly #urls: UrlRouteCache;
  readonly #responseBytes: number | undefined;
  readonly #pages = new Map<string, Route>();
  #responses: { snapshot: Snapshot; log: readonly LogEntry[]; cache: ResponseCache } | null = null;
  #isClosing = false;

  constructor(dependencies: PublicApiDependencies) {
    this.#dependencies = dependencies;
    this.#urls = new UrlRouteCache(dependencies.caches?.urls);
    this.#responseBytes = dependencies.caches?.responseBytes;
  }

  /** Registers all operations and pages with the framework's router. */
  install(app: FastifyInstance): void {
    for (const operation of OPERATIONS) {
      const name = NAMED_PREFIX + operation.path;
      const readQuery = parameterReader(operation.query, isPriced(operation));
      const route: Route = { operation, name, readQuery };
      for (const prefix of PREFIXES) this.#install(app, prefix + routerPattern(operation), route);
    }
    for (const page of this.#dependencies.pages ?? []) {
      const readQuery = parameterReader(page.query, false);
      const route: Route = { operation: page, name: page.path, readQuery };
      this.#pages.set(page.path, route);
      this.#install(app, routerPattern(page), route);
    }
  }

  #install(app: FastifyInstance, url: string, route: Route): void {
    const handler = ({ raw, id, params, query }: FastifyRequest, reply: FastifyReply): void => {
      reply.hijack();
      const path = params as Record<string, string>;
      const matched: MatchedUrl = {
        route,
        path,
        query: query as RawParameters,
        reading: null,
        effectiveUrl: null,
        isRepeated: false,
      };
      this.#urls.set(raw.url ?? '', matched);
      const facts = createFacts(matched);
      reply.facts = facts;
      this.#answer(raw, reply.raw, id, matched, facts);
    };
    app.route({ method: answersHead(route.operation) ? ['GET', 'HEAD'] : 'GET', url, handler });
  }

  /**
   * Puts a page into the cache as a browser without a key gets it. No rate window, log or metric counts it.
   * @throws where a visitor would not get the page
   */
  async renderAhead({ template, parameters: path }: PageAddress, snapshot: Snapshot): Promise<void> {
    const route = this.#pages.get(template);
    if (route === undefined) throw new Error(`there is no page ${template}`);
    const { addressOf, newRequestId } = this.#dependencies;
    const url = template.replaceAll(/\{([^}]+)\}/g, (_, name: string) => path[name] ?? '');
    const matched = { route, path, query: NO_PARAMETERS, reading: null, effectiveUrl: url, isRepeated: true };
    const call = new HttpCall(this, addressOf, browserRequest(url), newRequestId(), matched);
    const { kind } = await answerAnonymous({ kind: 'admitted' }, call, snapshot);
    if (kind !== 'success') throw new Error(`${url} is refused`);
  }

  get publicUrl(): string {
    return this.#dependencies.publicUrl;
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
      const { newRequestId, observe } = this.#dependencies;
      const id = newRequestId();
      if (observe === null) this.#answer(request, response, id, matched, null);
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
    const facts = createFacts(matched);
    this.#answer(request, response, request_id, matched, facts);
    response.once('finish', () => {
      const duration_ms = performance.now() - started_ms;
      const client_request_id = clientRequestId(request);
      observe({
        request_id,
        client_request_id,
        method: 'GET',
        status: response.statusCode,
        duration_ms,
        facts,
      });
    });
  }

  /** Responds synchronously where possible. @param facts completed once the response is sent. */
  #answer(
    request: IncomingMessage,
    response: ServerResponse,
    requestId: string,
    matched: MatchedUrl,
    facts: RequestFacts | null,
  ): void {
    const { executor, loadShedder } = this.#dependencies;
    const call = new HttpCall(this, this.#dependencies.addressOf, request, requestId, matched);
    if (shouldRefuse(call, loadShedder)) {
      sendError(UNAVAILABLE, { raw: response, requestId, quota: null, snapshotId: null });
      return;
    }
    const result = executor.execute(call);
    if (!(result instanceof Promise)) {
      this.#send(result, response, call, facts);
      return;
    }
    loadShedder.enter();
    result.then((settled) => this.#send(settled, response, call, facts)).finally(() => loadShedder.leave());
  }

  #send(
    result: Result<Representation>,
    response: ServerResponse,
    call: HttpCall,
    facts: RequestFacts | null,
  ): void {
    const { requestId, operation } = call;
    if (facts !== null) {
      facts.keyId = result.key_id;
      facts.creditsCharged = result.quota?.charged ?? 0;
    }
    const { errorPage } = this.#dependencies;
    try {
      if (operation.tag === 'Page' && errorPage && result.kind !== 'success') {
        sendErrorPage(errorOf(result), { raw: response, requestId }, errorPage);
        return;
      }
      const namesSnapshot = operation.tag !== 'Account';
      sendResult(result, { raw: response, requestId, namesSnapshot, headers: call.headersOf(result) });
    } catch (error) {
      this.#dependencies.log.error({ err: error, request_id: requestId }, 'sending the response failed');
      response.destroy();
    }
  }

  /** The response cache of the snapshot that is served and of its log; null for a request that still uses an older one. */
  responsesOf(snapshot: Snapshot): ResponseCache | null {
    const log = snapshot.editions.all;
    if (this.#responses?.snapshot === snapshot && this.#responses.log === log) return this.#responses.cache;
    if (snapshot.isRetired) return null;
    this.#responses = { snapshot, log, cache: new ResponseCache(this.#responseBytes) };
    return this.#responses.cache;
  }
}

/** A request that nobody sent, with the coding that browsers get. */
const browserRequest = (url: string): IncomingMessage =>
  Object.assign(new IncomingMessage(new Socket()), {
    method: 'GET',
    url,
    headers: { 'accept-encoding': 'gzip, deflate, br, zstd' },
  });

/** Free answers without parameters are prerendered: refusing one would cost as much. */
function shouldRefuse({ authorization, url }: HttpCall, loadShedder: LoadShedder): boolean {
  return authorization === undefined
    ? loadShedder.shouldRefuseAnonymous() && url.includes('?')
    : loadShedder.shouldRefuseKeyed();
}

const createFacts = ({ route }: MatchedUrl): RequestFacts => ({
  route: route.name,
  keyId: null,
  creditsCharged: 0,
});

/** Files, whose size is asked for before parts of them, and pages, which browsers and link checkers look at. */
export const answersHead = ({ isFile, tag }: Operation): boolean => isFile || tag === 'Page';

/** `/rankings/{indicator}` in the router's notation. */
const routerPattern = ({ path }: Operation): string => path.replaceAll(/\{([^}]+)\}/g, ':$1');
