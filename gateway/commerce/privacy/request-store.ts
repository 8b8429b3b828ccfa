/**
 * Privacy requests of account holders: a copy of all their data (`export`) or their erasure (`erasure`).
 *
 *   pending → ready                   the system prepared the export, or the plan of the erasure
 *   pending | ready → done | failed   the system carried it out, or an operator closed it
 *
 * The status never goes back, and repeating a move changes nothing. An account has at most one open request per kind.
 * A request is done only by what really happened: an erasure with the record of what it removed (`Erasures`), an export
 * that is ready. Every other end is `failed`.
 */
import { readScript } from '../../../data/runtime/redis-scripts.ts';
import { redisKeys } from '../../../data/schema/redis-keys.ts';
import { AccountError, type Hash, numberOr, Store } from '../store/store.ts';

export type PrivacyRequestKind = 'export' | 'erasure';
type PrivacyRequestStatus = 'pending' | 'ready' | 'done' | 'failed';

/** What an erasure removes, revokes or cancels, one of it and many. */
const ERASED = {
  addresses: ['e-mail address', 'e-mail addresses'],
  names: ['name', 'names'],
  passwords: ['password', 'passwords'],
  keys: ['key revoked', 'keys revoked'],
  key_labels: ['key stripped of its names', 'keys stripped of their names'],
  /** Connected hosts, of now and before. */
  connections: ['connection', 'connections'],
  /** Live and ended. */
  feeds: ['feed link', 'feed links'],
  orders: ['open order cancelled', 'open orders cancelled'],
  exports: ['data export', 'data exports'],
  /** About a low balance and about spending. */
  alerts: ['alert', 'alerts'],
  /** With their deliveries. */
  webhooks: ['webhook', 'webhooks'],
} as const;

/** How many of each. */
export type ErasureCounts = Record<keyof typeof ERASED, number>;

/** For people: `1 e-mail address, 1 name, 2 keys revoked`. */
export function describeRemoved(removed: ErasureCounts): string {
  const parts = Object.entries(ERASED).flatMap(([name, [one, many]]) => {
    const count = removed[name as keyof ErasureCounts];
    return count === 0 ? [] : [`${count} ${count === 1 ? one : many}`];
  });
  return parts.length === 0 ? 'nothing' : parts.join(', ');
}

/** In ledger entries. */
interface ExportProgress {
  done: number;
  total: number;
}

const OPEN = readScript(import.meta.url, 'lua/open-request.lua', 5);
const MOVE = readScript(import.meta.url, 'lua/move-request.lua', 4);
const NOT_CARRIED_OUT: Record<PrivacyRequestKind, string> = {
  export: 'This export is not prepared yet. It can be closed as done when its file is ready.',
  erasure: 'This erasure was not carried out. Only the erasure itself closes its request as done.',
};

export class PrivacyRequestStore extends Store {
  /** Opens a request, or returns the account's open one of that kind. */
  async open(account_id: string, kind: PrivacyRequestKind): Promise<PrivacyRequest> {
    const request_id = this.newId('req');
    const [, id] = await this.run(OPEN, [
      ...[redisKeys.request(request_id), redisKeys.requests, redisKeys.openRequests],
      ...[redisKeys.accountRequests(account_id), redisKeys.requestNow(account_id, kind)],
      ...[this.now(), request_id, account_id, kind],
    ]);
    return this.get(String(id));
  }

  /** @param plan one sentence about what was prepared */
  async markReady(request_id: string, plan: string): Promise<PrivacyRequest> {
    return (await this.#move(request_id, 'ready', { note: plan, by: 'system' })).request;
  }

  /**
   * Closes a request that was carried out. `changed` is false if it already was.
   * @param removed required for an erasure
   * @throws {AccountError} `request_unknown`; `request_state` if it was closed as failed, or was not carried out.
   */
  complete(request_id: string, closing: { note?: string; by: string; removed?: ErasureCounts }) {
    return this.#move(request_id, 'done', closing);
  }

  /** Closes a request that is not carried out. @throws {AccountError} `request_unknown`; `request_state` if it is done. */
  fail(request_id: string, closing: { note?: string; by: string }) {
    return this.#move(request_id, 'failed', closing);
  }

  /** How far the preparation of an export is. */
  async setProgress(request_id: string, progress: ExportProgress): Promise<void> {
    await this.redis.hset(redisKeys.request(request_id), 'progress', JSON.stringify(progress));
  }

  /** Records what an erasure will remove, and returns the record of the first attempt. */
  async recordFound(request_id: string, found: ErasureCounts): Promise<ErasureCounts> {
    const { redis } = this;
    const key = redisKeys.request(request_id);
    await redis.hsetnx(key, 'found', JSON.stringify(found));
    const first = await redis.hget(key, 'found');
    return first === null ? found : JSON.parse(first);
  }

  /** @returns `changed`: false if the request already had the status */
  async #move(
    request_id: string,
    to: PrivacyRequestStatus,
    { note = '', by, removed }: { note?: string; by: string; removed?: ErasureCounts },
  ) {
    const { account_id, kind } = await this.get(request_id);
    await this.expectEvents('requests');
    const [result, status] = await this.run(MOVE, [
      ...[redisKeys.request(request_id), redisKeys.openRequests],
      ...[redisKeys.requestNow(account_id, kind), redisKeys.requestOutbox],
      ...[this.now(), request_id, to, note.trim(), by, removed ? JSON.stringify(removed) : ''],
    ]);
    if (result === 'unknown') throw unknownRequest(request_id);
    if (result === 'refused')
      throw new AccountError('request_state', `A request that is ${String(status)} cannot become ${to}.`);
    if (result === 'not_carried_out') throw new AccountError('request_state', NOT_CARRIED_OUT[kind]);
    return { request: await this.get(request_id), changed: result === 'changed' };
  }

  /** @throws {AccountError} `request_unknown` */
  async get(request_id: string): Promise<PrivacyRequest> {
    const hash = await this.redis.hgetall(redisKeys.request(request_id));
    const request = requestFrom(request_id, hash);
    if (!request) throw unknownRequest(request_id);
    return request;
  }

  /** Whether the account has an open request of that kind. */
  async hasOpen(account_id: string, kind: PrivacyRequestKind): Promise<boolean> {
    const name = redisKeys.requestNow(account_id, kind);
    return (await this.redis.exists(name)) === 1;
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
    const ids = await this.redis.zrange(key, '0', '-1');
    return Promise.all(ids.map((request_id) => this.get(request_id)));
  }
}

/** Null if it does not exist. All times are Unix milliseconds. */
function requestFrom(request_id: string, hash: Hash) {
  if (!hash.status) return null;
  return {
    request_id,
    account_id: hash.account_id ?? '',
    kind: hash.kind as PrivacyRequestKind,
    status: hash.status as PrivacyRequestStatus,
    /** One sentence about what was prepared; null before. */
    plan: hash.plan ?? null,
    /** Why or how it was closed; null while it is open. */
    note: hash.note ?? null,
    /** Null while it is open. */
    closed_by: hash.by ?? null,
    /** Set while an export is prepared. */
    progress: JSON.parse(hash.progress ?? 'null') as ExportProgress | null,
    /** What an erasure removed; null before, and for an export. */
    removed: JSON.parse(hash.removed ?? 'null') as ErasureCounts | null,
    created_at_ms: Number(hash.created_at_ms),
    ready_at_ms: numberOr(hash.ready_at_ms, null),
    closed_at_ms: numberOr(hash.closed_at_ms, null),
  };
}
export type PrivacyRequest = NonNullable<ReturnType<typeof requestFrom>>;

const unknownRequest = (request_id: string): AccountError =>
  new AccountError('request_unknown', `There is no request ${request_id}.`);
