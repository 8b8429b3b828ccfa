/**
 * Privacy requests of account holders: a copy of all their data (`export`) or their erasure (`erasure`).
 *
 *   pending → ready                   the system prepared the export, or the plan of the erasure
 *   pending | ready → done | failed   the system carried it out, or an operator closed it
 *
 * The status never goes back, and repeating a move changes nothing. An account has at most one open request per kind.
 * Operators can only close requests; `PrivacyService` carries them out.
 */
import { readScript } from '../../../data/runtime/redis-scripts.ts';
import { redisKeys } from '../../../data/schema/redis-keys.ts';
import { randomId } from '../../metering/keys.ts';
import { AccountError } from '../records.ts';
import {
  createRunScript,
  type RunScript,
  type StoreDependencies,
  throwUnavailable,
} from '../redis-access.ts';

export type PrivacyRequestKind = 'export' | 'erasure';
export type PrivacyRequestStatus = 'pending' | 'ready' | 'done' | 'failed';
type ClosedStatus = Extract<PrivacyRequestStatus, 'done' | 'failed'>;

/** All times are Unix milliseconds. */
export interface PrivacyRequest {
  request_id: string;
  account_id: string;
  kind: PrivacyRequestKind;
  status: PrivacyRequestStatus;
  /** One sentence about what was prepared; null before. */
  plan: string | null;
  /** Why or how it was closed; null while it is open. */
  note: string | null;
  /** Null while it is open. */
  closed_by: string | null;
  created_at_ms: number;
  ready_at_ms: number | null;
  closed_at_ms: number | null;
}

const OPEN = readScript(import.meta.url, 'open-request.lua', 5);
const MOVE = readScript(import.meta.url, 'move-request.lua', 3);
const ID_LENGTH = 16;

export class PrivacyRequestStore {
  readonly #deps: StoreDependencies;
  readonly #run: RunScript;

  constructor(dependencies: StoreDependencies) {
    this.#deps = dependencies;
    this.#run = createRunScript(dependencies.redis);
  }

  /** Opens a request, or returns the account's open one of that kind. */
  async open(account_id: string, kind: PrivacyRequestKind): Promise<PrivacyRequest> {
    const { now, random } = this.#deps;
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

  /** @param plan one sentence about what was prepared */
  async markReady(request_id: string, plan: string): Promise<PrivacyRequest> {
    return (await this.#move(request_id, 'ready', plan, 'system')).request;
  }

  /**
   * Closes a request. `changed` is false if it already had this status.
   * @throws {AccountError} `request_unknown`; `request_state` if it was closed with the other status.
   */
  close(
    request_id: string,
    status: ClosedStatus,
    { note = '', by }: { note?: string; by: string },
  ): Promise<{ request: PrivacyRequest; changed: boolean }> {
    return this.#move(request_id, status, note.trim(), by);
  }

  async #move(request_id: string, to: PrivacyRequestStatus, note: string, by: string) {
    const { account_id, kind } = await this.get(request_id);
    const [result, status] = await this.#run(MOVE, [
      redisKeys.request(request_id),
      redisKeys.openRequests,
      redisKeys.requestNow(account_id, kind),
      this.#deps.now(),
      request_id,
      to,
      note,
      by,
    ]);
    if (result === 'unknown') throw unknownRequest(request_id);
    if (result === 'refused')
      throw new AccountError('request_state', `A request that is ${String(status)} cannot become ${to}.`);
    return { request: await this.get(request_id), changed: result === 'changed' };
  }

  /** @throws {AccountError} `request_unknown` */
  async get(request_id: string): Promise<PrivacyRequest> {
    const hash = await this.#deps.redis.hgetall(redisKeys.request(request_id)).catch(throwUnavailable);
    const request = requestFrom(request_id, hash);
    if (!request) throw unknownRequest(request_id);
    return request;
  }

  /** Open requests of all accounts, oldest first. */
  listOpen(): Promise<PrivacyRequest[]> {
    return this.#list(redisKeys.openRequests);
  }

  /** All requests of an account, oldest first. */
  listOf(account_id: string): Promise<PrivacyRequest[]> {
    return this.#list(redisKeys.accountRequests(account_id));
  }

  async #list(key: string): Promise<PrivacyRequest[]> {
    const ids = await this.#deps.redis.zrange(key, '0', '-1').catch(throwUnavailable);
    return Promise.all(ids.map((request_id) => this.get(request_id)));
  }
}

function requestFrom(request_id: string, hash: Record<string, string>): PrivacyRequest | null {
  const time = (text: string | undefined): number | null => (text === undefined ? null : Number(text));
  if (!hash.status) return null;
  return {
    request_id,
    account_id: hash.account_id ?? '',
    kind: hash.kind as PrivacyRequestKind,
    status: hash.status as PrivacyRequestStatus,
    plan: hash.plan ?? null,
    note: hash.note ?? null,
    closed_by: hash.by ?? null,
    created_at_ms: Number(hash.created_at_ms),
    ready_at_ms: time(hash.ready_at_ms),
    closed_at_ms: time(hash.closed_at_ms),
  };
}

const unknownRequest = (request_id: string): AccountError =>
  new AccountError('request_unknown', `There is no request ${request_id}.`);
