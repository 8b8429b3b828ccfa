/**
 * The one way in: every public request passes these checks in this order, whatever its route.
 *
 *   method 405 (router) → key 401 → scope 403 → rate 429 → parameters 422/400 → existence 404 → export gate 403 →
 *   balance 402
 *
 * The outcome is worked out first, in memory, so that its price is known; then one script in Redis decides on the
 * key's state, the rate and the balance, and charges. Its word comes before the outcome's: a revoked key gets 401
 * even where the parameters were wrong too. All that can fail on our side happens before the charge, so a fault never
 * costs anything. A key known to be over its window is asked about first, before any work is done.
 */
import type { IncomingMessage } from 'node:http';
import type { Logger } from 'pino';
import { Crowded } from '../crowded.ts';
import { ERRORS, type ErrorCode } from '../http/errors.ts';
import type { ParameterReader, ParameterReading } from '../http/parameters.ts';
import type { QueryParameters } from '../http/query-string.ts';
import { type Representation, represent, type Wishes } from '../http/representation.ts';
import { type Exchange, type Refusal, sendInvalid, sendRefusal, sendRepresentation } from '../http/send.ts';
import type { ValidationDetail } from '../http/validation.ts';
import {
  type AnonymousVerdict,
  type KeyFacts,
  type Metering,
  MeteringUnavailable,
  type Verdict,
} from '../metering/metering.ts';
import { QueryTimeout } from '../snapshot/query-runner.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import type { Outcome, Route } from './route.ts';

/** Every key has exactly this scope, and every public route needs exactly this. */
const SCOPE = 'read';
/** After this a caller may try again when something on our side was away. */
const RETRY_AFTER_S = 5;

export interface AdmissionDependencies {
  metering: Metering;
  /** Unix milliseconds. */
  now: () => number;
  log: Logger;
  addressOf: (request: IncomingMessage) => string;
}

/** What is known of a request when it is logged. */
export interface RequestFacts {
  route: string;
  keyId: string | null;
  creditsCharged: number;
}

/** What the handler came to, made ready to send, with the price it has if it is admitted. */
type Prepared =
  | { kind: 'answer'; representation: Representation; price: number; rows: number }
  | (Outcome & { kind: 'account' })
  | { kind: 'refusal'; refusal: Refusal }
  | { kind: 'invalid'; detail: ValidationDetail[] };

/** Refusals that another snapshot might not give: they name theirs. */
const DECIDED_BY_SNAPSHOT: ReadonlySet<ErrorCode> = new Set([
  'country_not_found',
  'indicator_not_found',
  'not_rankable',
  'export_restricted',
]);

export const UNAVAILABLE: Refusal = { code: 'unavailable', retryAfterS: RETRY_AFTER_S };

/** Faults that pass by themselves. */
const OF_THE_MOMENT = [MeteringUnavailable, QueryTimeout, Crowded] as const;

/** What a URL alone says. */
export interface Way {
  /** Path parameters, decoded. */
  readonly path: Readonly<Record<string, string>>;
  readonly query: QueryParameters;
  /** The query as the route reads it, once it has been read. */
  reading: ParameterReading<unknown> | null;
}

/** What a request brings along. */
export interface Passenger {
  request: IncomingMessage;
  way: Way;
  exchange: Exchange;
  snapshot: Snapshot;
  facts: RequestFacts;
}

/** A route with what is worked out once for all its requests. */
export interface Gate {
  route: Route;
  /** Under which it is counted and billed. */
  template: string;
  readParameters: ParameterReader<unknown>;
}

/** One request on its way through the checks. */
export class Passage {
  readonly #gate: Gate;
  readonly #dependencies: AdmissionDependencies;
  readonly #request: IncomingMessage;
  readonly #way: Way;
  readonly #exchange: Exchange;
  readonly #snapshot: Snapshot;
  readonly #facts: RequestFacts;

  constructor(
    gate: Gate,
    dependencies: AdmissionDependencies,
    { request, way, exchange, snapshot, facts }: Passenger,
  ) {
    this.#gate = gate;
    this.#dependencies = dependencies;
    this.#request = request;
    this.#way = way;
    this.#exchange = exchange;
    this.#snapshot = snapshot;
    this.#facts = facts;
  }

  /** Answers, at once where nothing has to be waited for: most anonymous requests. May throw or reject. */
  run(): void | Promise<void> {
    const { authorization } = this.#request.headers;
    if (authorization !== undefined) return this.#keyed(authorization);
    if (this.#gate.route.key === 'required') return sendRefusal({ code: 'unauthorized' }, this.#exchange);
    const { metering, addressOf } = this.#dependencies;
    const asked = metering.admitAddress(addressOf(this.#request));
    if (asked instanceof Promise) return asked.then((verdict) => this.#anonymous(verdict));
    return this.#anonymous(asked);
  }

  #anonymous(verdict: AnonymousVerdict): void | Promise<void> {
    if (verdict.kind === 'rate_limited') {
      return sendRefusal({ code: 'rate_limited', retryAfterS: verdict.retry_after_s }, this.#exchange);
    }
    const preparing = this.#prepare();
    if (preparing instanceof Promise) return preparing.then((prepared) => this.#send(prepared));
    return this.#send(preparing);
  }

  /** Something on our side failed; nothing was charged. */
  fault(error: unknown): void {
    const { raw } = this.#exchange;
    if (raw.headersSent) {
      raw.destroy();
      return;
    }
    sendRefusal(refusalOf(error), this.#exchange);
  }

  async #keyed(authorization: string): Promise<void> {
    const { metering } = this.#dependencies;
    const key = await metering.resolveKey(authorization);
    if (key === null) return sendRefusal({ code: 'invalid_key' }, this.#exchange);
    this.#facts.keyId = key.key_id;
    if (!key.scopes.includes(SCOPE)) return this.#refuseScope(key);
    if (metering.knownOverLimit(key) && this.#refuse(await this.#ask(key, 0, 0, 200, true))) return;
    const prepared = await this.#prepareSafely();
    const price = prepared.kind === 'answer' ? prepared.price : 0;
    const rows = prepared.kind === 'answer' ? prepared.rows : 0;
    const verdict = await this.#ask(key, price, rows, statusOf(prepared));
    if (this.#refuse(verdict, price)) return;
    if (prepared.kind !== 'account') return this.#send(prepared);
    return this.#sendAccount(prepared, key, verdict);
  }

  /** The scope is judged before the rate, but a dead key has no scope at all. */
  async #refuseScope(key: KeyFacts): Promise<void> {
    const verdict = await this.#ask(key, 0, 0, ERRORS.key_scope.status);
    if (verdict.kind === 'invalid_key') return sendRefusal({ code: 'invalid_key' }, this.#exchange);
    sendRefusal({ code: 'key_scope' }, this.#exchange);
  }

  async #sendAccount(outcome: Outcome & { kind: 'account' }, key: KeyFacts, verdict: Verdict): Promise<void> {
    if (verdict.kind !== 'admitted') throw new Error(`not admitted: ${verdict.kind}`);
    const { metering, now } = this.#dependencies;
    const { tier, balance } = verdict;
    const body = await outcome.respond({ key, tier, balance, metering, now: now() });
    sendRepresentation(await represent(body, this.#wishes(), this.#snapshot), this.#exchange);
  }

  /** Asks Redis, and notes where the caller stands now. */
  async #ask(key: KeyFacts, price: number, rows: number, status: number, look = false): Promise<Verdict> {
    const verdict = await this.#dependencies.metering.admit({
      key,
      route: this.#gate.template,
      price,
      rows,
      status,
      request_id: this.#exchange.requestId,
      look,
    });
    if (verdict.kind === 'invalid_key') return verdict;
    const charged = verdict.kind === 'admitted' ? verdict.charged : 0;
    this.#exchange.standing = { balance: verdict.balance, window: verdict.window, charged };
    this.#facts.creditsCharged = charged;
    return verdict;
  }

  /** Sends the refusal of a verdict, if it is one. */
  #refuse(verdict: Verdict, price = 0): boolean {
    if (verdict.kind === 'admitted') return false;
    if (verdict.kind === 'invalid_key') {
      this.#exchange.standing = null;
      sendRefusal({ code: 'invalid_key' }, this.#exchange);
    } else if (verdict.kind === 'rate_limited') {
      sendRefusal({ code: 'rate_limited', retryAfterS: verdict.retry_after_s }, this.#exchange);
    } else {
      const message = `This answer costs ${price} credits and the balance is ${verdict.balance}.`;
      sendRefusal({ code: 'insufficient_credits', message }, this.#exchange);
    }
    return true;
  }

  #prepare(): Prepared | Promise<Prepared> {
    const way = this.#way;
    way.reading ??= this.#gate.readParameters(way.query);
    const { reading } = way;
    if (!reading.ok) return { kind: 'invalid', detail: reading.detail };
    const handled = this.#gate.route.handle({
      snapshot: this.#snapshot,
      path: way.path,
      query: reading.values,
    });
    return handled instanceof Promise
      ? handled.then((outcome) => this.#represent(outcome))
      : this.#represent(handled);
  }

  /** A fault of ours becomes a refusal, so that it is counted and says where the caller stands. */
  async #prepareSafely(): Promise<Prepared> {
    try {
      return await this.#prepare();
    } catch (error) {
      this.#logFailure(error);
      return { kind: 'refusal', refusal: refusalOf(error) };
    }
  }

  /** A crowd is no fault, and a line in the log for each of it would add to it. */
  #logFailure(error: unknown): void {
    if (error instanceof Crowded) return;
    const { log } = this.#dependencies;
    log.error(
      { err: error, request_id: this.#exchange.requestId, route: this.#gate.template },
      'request failed',
    );
  }

  #represent(outcome: Outcome): Prepared | Promise<Prepared> {
    if (outcome.kind === 'refusal') return { kind: 'refusal', refusal: outcome };
    if (outcome.kind !== 'answer') return outcome;
    const { price, rows } = outcome;
    const made = represent(outcome.body, this.#wishes(), this.#snapshot);
    return made instanceof Promise
      ? made.then((representation) => ({ kind: 'answer', representation, price, rows }))
      : { kind: 'answer', representation: made, price, rows };
  }

  #wishes(): Wishes {
    const { headers } = this.#request;
    return {
      acceptEncoding: headers['accept-encoding'],
      ifNoneMatch: headers['if-none-match'],
      tagged: this.#gate.route.tagged,
    };
  }

  #send(prepared: Prepared): void {
    const exchange = this.#exchange;
    if (prepared.kind === 'invalid') {
      sendInvalid(prepared.detail, exchange);
    } else if (prepared.kind === 'refusal') {
      if (DECIDED_BY_SNAPSHOT.has(prepared.refusal.code)) exchange.snapshotId = this.#snapshot.id;
      sendRefusal(prepared.refusal, exchange);
    } else if (prepared.kind === 'answer') {
      exchange.snapshotId = this.#snapshot.id;
      sendRepresentation(prepared.representation, exchange);
    }
  }
}

function statusOf(prepared: Prepared): number {
  if (prepared.kind === 'refusal') return ERRORS[prepared.refusal.code].status;
  return prepared.kind === 'invalid' ? 422 : 200;
}

function refusalOf(error: unknown): Refusal {
  return OF_THE_MOMENT.some((kind) => error instanceof kind) ? UNAVAILABLE : { code: 'internal_error' };
}
