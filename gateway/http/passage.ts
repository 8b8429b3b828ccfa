/**
 * The way in with a key: every such request passes these checks in this order, whatever its route.
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
import { ERRORS } from '../errors.ts';
import type { ApiKey, Verdict } from '../metering/metering.ts';
import type { Outcome } from '../operations/operation.ts';
import { QueueFull } from '../queue-full.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import type { AdmissionDependencies, Passenger, RequestFacts } from './passenger.ts';
import {
  type Gate,
  type Prepared,
  prepare,
  refusalOf,
  sendPrepared,
  statusOf,
  type Way,
  wishesOf,
} from './prepare.ts';
import { represent } from './representation.ts';
import { type ResponseContext, sendRefusal, sendRepresentation } from './send.ts';

/** Every key has exactly this scope, and every public route needs exactly this. */
const SCOPE = 'read';

/** One request with a key on its way through the checks. */
export class Passage {
  readonly #gate: Gate;
  readonly #dependencies: AdmissionDependencies;
  readonly #request: IncomingMessage;
  readonly #way: Way;
  readonly #exchange: ResponseContext;
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

  /** May reject, and has charged nothing then. */
  async run(authorization: string): Promise<void> {
    const { metering } = this.#dependencies;
    const key = await metering.resolveKey(authorization);
    if (key === null) return sendRefusal({ code: 'invalid_key' }, this.#exchange);
    this.#facts.keyId = key.key_id;
    if (!key.scopes.includes(SCOPE)) return this.#refuseScope(key);
    if (metering.isKnownOverLimit(key) && this.#refuse(await this.#ask(key, 0, 0, 200, true))) return;
    const prepared = await this.#prepareSafely();
    const price = prepared.kind === 'answer' ? prepared.price : 0;
    const rows = prepared.kind === 'answer' ? prepared.rows : 0;
    const verdict = await this.#ask(key, price, rows, statusOf(prepared));
    if (this.#refuse(verdict, price)) return;
    if (prepared.kind !== 'account') return sendPrepared(prepared, this.#exchange, this.#snapshot);
    return this.#sendAccount(prepared, key, verdict);
  }

  /** The scope is judged before the rate, but a dead key has no scope at all. */
  async #refuseScope(key: ApiKey): Promise<void> {
    const verdict = await this.#ask(key, 0, 0, ERRORS.key_scope.status);
    if (verdict.kind === 'invalid_key') return sendRefusal({ code: 'invalid_key' }, this.#exchange);
    sendRefusal({ code: 'key_scope' }, this.#exchange);
  }

  async #sendAccount(outcome: Outcome & { kind: 'account' }, key: ApiKey, verdict: Verdict): Promise<void> {
    if (verdict.kind !== 'admitted') throw new Error(`not admitted: ${verdict.kind}`);
    const { metering, now } = this.#dependencies;
    const { tier, balance } = verdict;
    const body = await outcome.respond({ key, tier, balance, metering, now: now() });
    sendRepresentation(
      await represent(body, wishesOf(this.#request, this.#gate), this.#snapshot),
      this.#exchange,
    );
  }

  /** Asks Redis, and notes where the caller stands now. */
  async #ask(key: ApiKey, price: number, rows: number, status: number, peek = false): Promise<Verdict> {
    const verdict = await this.#dependencies.metering.admit({
      key,
      route: this.#gate.template,
      price,
      rows,
      status,
      request_id: this.#exchange.requestId,
      peek,
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

  /** A fault of ours becomes a refusal, so that it is counted and says where the caller stands. */
  async #prepareSafely(): Promise<Prepared> {
    try {
      return await prepare(this.#gate, this.#way, this.#request, this.#snapshot);
    } catch (error) {
      this.#logFailure(error);
      return { kind: 'refusal', refusal: refusalOf(error) };
    }
  }

  /** A crowd is no fault, and a line in the log for each of it would add to it. */
  #logFailure(error: unknown): void {
    if (error instanceof QueueFull) return;
    const { log } = this.#dependencies;
    log.error(
      { err: error, request_id: this.#exchange.requestId, route: this.#gate.template },
      'request failed',
    );
  }
}
