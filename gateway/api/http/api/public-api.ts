/** The HTTP adapter: serves every operation and the signed log under both prefixes, and the pages of the site at the root. */
import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import type { LogEntry } from '../../../../data/schema/snapshot.ts';
import { type Executor, type Result, UNAVAILABLE } from '../../core/execute.ts';
import { isPriced, OPERATIONS, type Operation, parameterReader } from '../../operations/operations.ts';
import type { Snapshot, Snapshots } from '../../snapshot/snapshot.ts';
import { type ErrorPage, errorOf, sendErrorPage } from '../server/error-handlers.ts';
import type { LoadShedder } from '../server/overload.ts';
import { HttpCall, type ReadUrl, type Route } from './http-call.ts';
import { JSON_TYPE, type Representation } from './representation.ts';
import { sendError, sendResult } from './response.ts';
import { ResponseCache } from './response-cache.ts';

/** Every operation is served under both prefixes; OpenAPI lists the second. */
export const PREFIXES = ['/v1', '/data/api/v1'] as const;
export const DOCUMENTED_PREFIX = '/data/api/v1';
/** URLs whose parameters are kept as they were read. */
const URLS_MAX = 4_096;
/** Usage, ledger and metrics name an operation under this prefix, whichever one the caller used. */
const NAMED_PREFIX = '/v1';

export interface PublicApiDependencies {
  executor: Pick<Executor, 'execute'>;
  snapshots: Snapshots;
  loadShedder: LoadShedder;
  addressOf: (request: IncomingMessage) => string;
  /** Where callers reach the service, without a slash at its end. */
  publicUrl: string;
  /** Pages and pictures, at their paths. */
  pages?: readonly Operation[];
  errorPage?: ErrorPage;
  log: Logger;
}

export class PublicApi {
  readonly #dependencies: PublicApiDependencies;
  readonly urls = new LRUCache<string, ReadUrl>({ max: URLS_MAX });
  #responses: { snapshot: Snapshot; log: readonly LogEntry[]; cache: ResponseCache } | null = null;

  constructor(dependencies: PublicApiDependencies) {
    this.#dependencies = dependencies;
  }

  /** Registers all operations and pages with the framework's router. */
  install(app: FastifyInstance): void {
    const { snapshots, pages = [] } = this.#dependencies;
    installPublishedLog(app, snapshots);
    for (const operation of OPERATIONS) this.#install(app, operation, NAMED_PREFIX, PREFIXES);
    for (const operation of pages) this.#install(app, operation, '', ['']);
  }

  #install(app: FastifyInstance, operation: Operation, named: string, prefixes: readonly string[]): void {
    const readQuery = parameterReader(operation.query, isPriced(operation));
    const route = { operation, name: named + operation.path, readQuery };
    const method = answersHead(operation) ? ['GET', 'HEAD'] : 'GET';
    const handler = (request: FastifyRequest, reply: FastifyReply) =>
      void this.#answer(request, reply, route);
    for (const prefix of prefixes) app.route({ method, url: prefix + routerPattern(operation), handler });
  }

  async #answer(request: FastifyRequest, reply: FastifyReply, route: Route): Promise<void> {
    const { executor, loadShedder, addressOf } = this.#dependencies;
    reply.facts = { route: route.name, keyId: null, creditsCharged: 0 };
    const call = new HttpCall(this, addressOf, request, route);
    if (shouldRefuse(call, loadShedder)) return sendError(reply, UNAVAILABLE);
    loadShedder.enter();
    try {
      this.#send(await executor.execute(call), reply, call);
    } catch (error) {
      this.#dependencies.log.error({ err: error, request_id: request.id }, 'sending the response failed');
      reply.raw.destroy();
    } finally {
      loadShedder.leave();
    }
  }

  #send(result: Result<Representation>, reply: FastifyReply, call: HttpCall): void {
    const { operation, route } = call;
    reply.facts = { route, keyId: result.key_id, creditsCharged: result.quota?.charged ?? 0 };
    const { errorPage } = this.#dependencies;
    if (operation.tag === 'Page' && errorPage && result.kind !== 'success')
      sendErrorPage(reply, errorOf(result), errorPage);
    else
      sendResult(reply, result, {
        namesSnapshot: operation.tag !== 'Account',
        headers: call.headersOf(result),
      });
  }

  get publicUrl(): string {
    return this.#dependencies.publicUrl;
  }

  /** The response cache of the snapshot that is served and of its log; null for a request that still uses an older one. */
  responsesOf(snapshot: Snapshot): ResponseCache | null {
    const log = snapshot.editions.all;
    if (this.#responses?.snapshot === snapshot && this.#responses.log === log) return this.#responses.cache;
    if (snapshot.isRetired) return null;
    this.#responses = { snapshot, log, cache: new ResponseCache() };
    return this.#responses.cache;
  }
}

/** Free answers without parameters are prerendered: refusing one would cost as much. */
function shouldRefuse({ authorization, url }: HttpCall, loadShedder: LoadShedder): boolean {
  return authorization === undefined
    ? loadShedder.shouldRefuseAnonymous() && url.includes('?')
    : loadShedder.shouldRefuseKeyed();
}

/** Files, whose size is asked for before parts of them, and pages, which browsers and link checkers look at. */
export const answersHead = ({ isFile, tag }: Operation): boolean => isFile || tag === 'Page';

/** `/rankings/{indicator}` in the router's notation. */
const routerPattern = ({ path }: Operation): string => path.replaceAll(/\{([^}]+)\}/g, ':$1');

const KEYS_PATH = '/.well-known/almanac-keys.json';
export const LOG_PATHS = [KEYS_PATH, ...PREFIXES.map((prefix) => `${prefix}/log/checkpoint`)];

/** The signed head of the log and its public keys, as files that anybody may fetch and keep. */
function installPublishedLog(app: FastifyInstance, snapshots: Snapshots): void {
  const log = () => snapshots.current()?.editions.signedLog;
  const readKeys = async () => log()?.keys();
  const readCheckpoint = async () => (await log()?.head())?.checkpoint;
  for (const path of LOG_PATHS) {
    const [type, read] =
      path === KEYS_PATH ? [JSON_TYPE, readKeys] : ['text/plain; charset=utf-8', readCheckpoint];
    app.get(path, async (_request, reply) => {
      reply.header('Access-Control-Allow-Origin', '*');
      const body = await read().catch(() => undefined);
      return body === undefined
        ? reply.code(503).header('Cache-Control', 'no-store').send({ error: 'nothing is signed yet' })
        : reply.header('Cache-Control', 'no-cache').type(type).send(body);
    });
  }
}
