/**
 * Subject-rights requests: a person asks for everything held about them (`export`) or to be forgotten (`erasure`).
 *
 *   pending → ready    by the system, when the export or the plan of the erasure has been prepared
 *   pending | ready → done | failed   by the system that carried it out, or by an operator
 *
 * A request never moves back, and a repeated move changes nothing. An account has at most one open request of a kind.
 * An operator can close a request and nothing else: what a request asks for is carried out elsewhere.
 */
import type { RedisClient } from '../../../data/runtime/redis.ts';
import { readScript, ScriptRunner } from '../../../data/runtime/redis-scripts.ts';
import { redisKeys } from '../../../data/schema/redis-keys.ts';
import { type RandomBytes, randomId } from '../../metering/keys.ts';
import { AccountError } from '../records.ts';
import { unavailable } from '../validation.ts';

export type RequestKind = 'export' | 'erasure';
export type RequestStatus = 'pending' | 'ready' | 'done' | 'failed';
export type ClosedStatus = Extract<RequestStatus, 'done' | 'failed'>;

export interface SubjectRequest {
  request_id: string;
  account_id: string;
  kind: RequestKind;
  status: RequestStatus;
  /** What the system prepared, in a sentence; null before. */
  plan: string | null;
  /** Why or how it was closed; null while it is open. */
  note: string | null;
  /** Who closed it; null while it is open. */
  closed_by: string | null;
  /** Unix milliseconds, all of them. */
  created_at_ms: number;
  ready_at_ms: number | null;
  closed_at_ms: number | null;
}

const OPEN = readScript(import.meta.url, '../lua/open-request.lua', 5);
const MOVE = readScript(import.meta.url, '../lua/move-request.lua', 3);
const ID_LENGTH = 16;

export interface RequestDependencies {
  redis: RedisClient;
  /** Unix milliseconds. */
  now: () => number;
  random: RandomBytes;
}

export class RequestStore {
  readonly #to: RequestDependencies;
  readonly #runner: ScriptRunner;

  constructor(dependencies: RequestDependencies) {
    this.#to = dependencies;
    this.#runner = new ScriptRunner(dependencies.redis);
  }

  /** Opens a request, or gives the one of that kind that the account has open. */
  async open(account_id: string, kind: RequestKind): Promise<SubjectRequest> {
    const { now, random } = this.#to;
    const request_id = `req_${randomId(ID_LENGTH, random)}`;
    const [, id] = await this.#run(OPEN, [
      redisKeys.request(request_id),
      redisKeys.requests,
      redisKeys.openRequests,
      redisKeys.accountRequests(account_id),
      redisKeys.requestNow(account_id, kind),
      now(),
      request_id,
      account_id,
      kind,
    ]);
    return this.get(String(id));
  }

  /** The system has prepared it. @param plan what was prepared, in a sentence. */
  async makeReady(request_id: string, plan: string): Promise<SubjectRequest> {
    return (await this.#move(request_id, 'ready', plan, 'system')).request;
  }

  /**
   * Closes it. `changed` is false when it was closed so before.
   * @throws {AccountError} `request_unknown`; `request_state` when it was closed otherwise.
   */
  close(
    request_id: string,
    status: ClosedStatus,
    { note = '', by }: { note?: string; by: string },
  ): Promise<{ request: SubjectRequest; changed: boolean }> {
    return this.#move(request_id, status, note.trim(), by);
  }

  async #move(request_id: string, to: RequestStatus, note: string, by: string) {
    const { account_id, kind } = await this.get(request_id);
    const [outcome, status] = await this.#run(MOVE, [
      redisKeys.request(request_id),
      redisKeys.openRequests,
      redisKeys.requestNow(account_id, kind),
      this.#to.now(),
      request_id,
      to,
      note,
      by,
    ]);
    if (outcome === 'unknown') throw unknownRequest(request_id);
    if (outcome === 'refused')
      throw new AccountError('request_state', `A request that is ${String(status)} cannot become ${to}.`);
    return { request: await this.get(request_id), changed: outcome === 'changed' };
  }

  /** @throws {AccountError} `request_unknown` */
  async get(request_id: string): Promise<SubjectRequest> {
    const hash = await this.#to.redis.hgetall(redisKeys.request(request_id)).catch(unavailable);
    return requestFrom(request_id, hash) ?? refuseUnknown(request_id);
  }

  /** Open requests of all accounts, oldest first. */
  listOpen(): Promise<SubjectRequest[]> {
    return this.#list(redisKeys.openRequests);
  }

  /** All requests of an account, oldest first. */
  listOf(account_id: string): Promise<SubjectRequest[]> {
    return this.#list(redisKeys.accountRequests(account_id));
  }

  async #list(key: string): Promise<SubjectRequest[]> {
    const ids = await this.#to.redis.zrange(key, '0', '-1').catch(unavailable);
    return Promise.all(ids.map((request_id) => this.get(request_id)));
  }

  async #run(script: typeof OPEN, values: (string | number)[]): Promise<unknown[]> {
    const reply = await this.#runner.runIdempotent(script, values).catch(unavailable);
    return Array.isArray(reply) ? reply : [reply];
  }
}

function requestFrom(request_id: string, hash: Record<string, string>): SubjectRequest | null {
  const moment = (text: string | undefined): number | null => (text === undefined ? null : Number(text));
  if (!hash.status) return null;
  return {
    request_id,
    account_id: hash.account_id ?? '',
    kind: hash.kind as RequestKind,
    status: hash.status as RequestStatus,
    plan: hash.plan ?? null,
    note: hash.note ?? null,
    closed_by: hash.by ?? null,
    created_at_ms: Number(hash.created_at_ms),
    ready_at_ms: moment(hash.ready_at_ms),
    closed_at_ms: moment(hash.closed_at_ms),
  };
}

const unknownRequest = (request_id: string): AccountError =>
  new AccountError('request_unknown', `There is no request ${request_id}.`);

function refuseUnknown(request_id: string): never {
  throw unknownRequest(request_id);
}
