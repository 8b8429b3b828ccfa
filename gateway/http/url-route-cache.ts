/**
 * Where URLs lead. The framework's router finds the way of a request the first and the second time, and what came of it is
 * kept then: the route, its path parameters, and, once they have been read, its query's. Later requests for the same URL
 * go there at once. Everything that depends on who asks, on when, or on the snapshot is decided anew each time, by the
 * same code, so a request is never told something else because its URL was seen before.
 *
 * Measured, what the framework does for a request is a tenth of all that a prerendered answer costs.
 */
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import { LRUCache } from 'lru-cache';
import type { Answer } from './admission.ts';
import type { Way } from './prepare.ts';
import { RecencyFilter } from './recency-filter.ts';
import type { Observer } from './request-log.ts';

/** Callers repeat themselves; those who do not must not fill the memory. */
const REMEMBERED = 4_096;
/** Between two requests for the same URL there may be about so many for others before the second counts as a first. */
const TOLD_APART = 16_384;
const URL_LENGTH_MOST = 512;

interface Known {
  answer: Answer;
  way: Way;
}

interface Dependencies {
  requestId: (request: IncomingMessage) => string;
  observe: Observer | null;
}

export class UrlRouteCache {
  readonly #known = new LRUCache<string, Known>({ max: REMEMBERED });
  readonly #asked = new RecencyFilter(TOLD_APART);
  readonly #requestId: Dependencies['requestId'];
  readonly #observe: Observer | null;
  #isClosing = false;

  constructor({ requestId, observe }: Dependencies) {
    this.#requestId = requestId;
    this.#observe = observe;
  }

  /** A GET of this URL is led this way. */
  note(url: string, answer: Answer, way: Way): void {
    if (url.length > URL_LENGTH_MOST || !this.#asked.meet(url)) return;
    way.isAskedAgain = true;
    this.#known.set(url, { answer, way });
  }

  /** From now on all go through the framework, which tells callers that the server closes. */
  close(): void {
    this.#isClosing = true;
  }

  /** Stands between a server and the framework that listens to it. */
  standBefore(server: Server): void {
    const [framework] = server.listeners('request') as RequestListener[];
    if (!framework) throw new Error('nothing listens to the server yet');
    server.removeAllListeners('request');
    server.on('request', (request, response) => {
      if (!this.#lead(request, response)) framework(request, response);
    });
  }

  #lead(request: IncomingMessage, response: ServerResponse): boolean {
    if (request.method !== 'GET' || this.#isClosing) return false;
    const known = this.#known.get(request.url ?? '');
    if (known === undefined) return false;
    const { answer, way } = known;
    const id = this.#requestId(request);
    if (this.#observe === null) answer(request, response, id, way);
    else answerObserved(request, response, id, known, this.#observe);
    return true;
  }
}

function answerObserved(
  request: IncomingMessage,
  response: ServerResponse,
  id: string,
  { answer, way }: Known,
  observe: Observer,
): void {
  const started_ms = performance.now();
  const facts = answer(request, response, id, way);
  response.once('finish', () => {
    const duration_ms = performance.now() - started_ms;
    observe({ request_id: id, method: 'GET', status: response.statusCode, duration_ms, facts });
  });
}
