/**
 * Sessions of people who signed in, in Redis.
 *
 * The browser holds a random id of 256 bits; Redis holds its digest only, so that reading Redis lets nobody in. A
 * session ends when it was idle for too long, when its day is over, when its person signs out, and, all of a person's
 * at once, when the person's epoch is raised. Realms (operators, account holders) never accept each other's.
 */
import { createHash, randomBytes } from 'node:crypto';
import type { RedisClient } from '../../../data/runtime/redis.ts';
import { redisKeys } from '../../../data/schema/redis-keys.ts';

export type Realm = 'operator' | 'account';

export const SESSION_LIFE = { idle_ms: 30 * 60_000, whole_ms: 12 * 3_600_000 } as const;
/** How exactly the last use is noted. */
const SEEN_STEP_MS = 60_000;
const ID = /^[A-Za-z0-9_-]{43}$/;

export interface Session {
  /** What the browser holds. */
  id: string;
  subject: string;
  /** The person's epoch when the session began. */
  epoch: string;
  /** Secret that the tokens of forms are made of. */
  csrf: string;
  /** Said once, on the next page. */
  notice: string | null;
}

/** The user of a session. */
export interface SignedInUser {
  /** Account id, or e-mail address of an operator. */
  subject: string;
  email: string;
  /** Shown beside the address, such as `viewer`. */
  role: string;
  canWrite: boolean;
  /** The only page of a user whose account is closed; other pages redirect to it. */
  restrictedTo?: string;
}

const digestOf = (id: string): string => createHash('sha256').update(id).digest('hex');

export class SessionStore {
  readonly #redis: RedisClient;
  readonly #now: () => number;
  readonly #realm: Realm;

  constructor(redis: RedisClient, now: () => number, realm: Realm) {
    this.#redis = redis;
    this.#now = now;
    this.#realm = realm;
  }

  /** Begins a session under a new id, whatever id the browser came with. */
  async begin(subject: string, epoch: string): Promise<Session> {
    const id = randomBytes(32).toString('base64url');
    const csrf = randomBytes(24).toString('base64url');
    const key = redisKeys.session(digestOf(id));
    const now_ms = this.#now();
    await this.#redis.hset(key, {
      realm: this.#realm,
      subject,
      epoch,
      csrf,
      began_at_ms: now_ms,
      seen_at_ms: now_ms,
    });
    await this.#redis.pexpire(key, SESSION_LIFE.whole_ms);
    return { id, subject, epoch, csrf, notice: null };
  }

  /** The session of an id, or null when there is none or it has ended. Notes that it was used. */
  async find(id: string | undefined): Promise<Session | null> {
    if (id === undefined || !ID.test(id)) return null;
    const key = redisKeys.session(digestOf(id));
    const { realm, subject, epoch, csrf, began_at_ms, seen_at_ms, notice } = await this.#redis.hgetall(key);
    if (realm !== this.#realm || !subject || !csrf) return null;
    const now_ms = this.#now();
    const isIdle = now_ms - Number(seen_at_ms) > SESSION_LIFE.idle_ms;
    if (isIdle || now_ms - Number(began_at_ms) > SESSION_LIFE.whole_ms) {
      await this.#redis.del(key);
      return null;
    }
    if (now_ms - Number(seen_at_ms) >= SEEN_STEP_MS) await this.#redis.hset(key, 'seen_at_ms', now_ms);
    return { id, subject, epoch: epoch ?? '', csrf, notice: notice ?? null };
  }

  /** Leaves a sentence for the next page of this session. */
  async leaveNotice({ id }: Session, notice: string): Promise<void> {
    await this.#redis.hset(redisKeys.session(digestOf(id)), 'notice', notice);
  }

  /** The sentence has been shown. */
  async clearNotice({ id }: Session): Promise<void> {
    await this.#redis.hdel(redisKeys.session(digestOf(id)), 'notice');
  }

  async end({ id }: Session): Promise<void> {
    await this.#redis.del(redisKeys.session(digestOf(id)));
  }
}
