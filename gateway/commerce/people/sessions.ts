/**
 * Sessions of signed-in users, in Redis.
 *
 * The browser holds a random id of 256 bits, Redis only its digest. A session ends when it is idle, when its maximum
 * age is reached, when the user signs out, or, with all others of the user, when the user's epoch is raised. A session
 * of one realm (operators, account holders) is not valid in the other.
 */
import { createHash, randomBytes } from 'node:crypto';
import type { RedisClient } from '../../../data/runtime/redis.ts';
import { redisKeys } from '../../../data/schema/redis-keys.ts';
import type { Permission, Role } from '../accounts/accounts.ts';

export type Realm = 'operator' | 'account';

export const SESSION_LIFETIME = { idle_ms: 30 * 60_000, max_ms: 12 * 3_600_000 } as const;
/** Precision of the time of last use. */
const SEEN_STEP_MS = 60_000;
const MAX_AGENT_LENGTH = 300;
const ID = /^[A-Za-z0-9_-]{43}$/;

export interface Session {
  /** The browser's cookie value. */
  id: string;
  subject: string;
  /** The user's epoch when the session began. */
  epoch: string;
  /** Secret from which the CSRF tokens of forms are derived. */
  csrf: string;
  /** Flash message, shown once on the next page. */
  notice: string | null;
  /** The account that is looked at; null until one is chosen, and for operators. */
  account_id: string | null;
}

/** Who is signed in, for the pages. */
export interface SignedInUser {
  /** Person id, or an operator's e-mail address. */
  subject: string;
  email: string;
  /** Shown beside the address: an operator's role, or a member's, or the state of the account. */
  role: string;
  /** The account that a member looks at, and the role in it. */
  account?: { account_id: string; role: Role; permissions: readonly Permission[] };
  /** Forms that were opened in another scope are refused. */
  formScope?: string;
  /** Entries of the navigation that the user cannot open. */
  hidden?: readonly string[];
  /** While the account is suspended: where its holder writes to. */
  suspended?: { contact: string; href: string };
  /** Whether the user may submit forms. */
  canWrite: boolean;
  /** The only page that the user may see; all others redirect to it. */
  restrictedTo?: string;
  /** Why, for a form that is sent nevertheless. */
  restrictedBecause?: string;
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

  /** Starts a session. The id is always new, which prevents session fixation. @param agent the `User-Agent` */
  async begin(subject: string, epoch: string, agent = ''): Promise<Session> {
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
      agent: agent.slice(0, MAX_AGENT_LENGTH),
    });
    await this.#enter(subject, digestOf(id), now_ms);
    await this.#redis.pexpire(key, SESSION_LIFETIME.max_ms);
    return { id, subject, epoch, csrf, notice: null, account_id: null };
  }

  /** The session of an id, or null if there is none or it has ended. Updates the time of last use. */
  async find(id: string | undefined): Promise<Session | null> {
    if (id === undefined || !ID.test(id)) return null;
    const key = redisKeys.session(digestOf(id));
    const { realm, subject, epoch, csrf, began_at_ms, seen_at_ms, notice, account_id } =
      await this.#redis.hgetall(key);
    if (realm !== this.#realm || !subject || !csrf) return null;
    const now_ms = this.#now();
    const isIdle = now_ms - Number(seen_at_ms) > SESSION_LIFETIME.idle_ms;
    if (isIdle || now_ms - Number(began_at_ms) > SESSION_LIFETIME.max_ms) {
      await this.#redis.del(key);
      return null;
    }
    if (now_ms - Number(seen_at_ms) >= SEEN_STEP_MS) await this.#redis.hset(key, 'seen_at_ms', now_ms);
    return { id, subject, epoch: epoch ?? '', csrf, notice: notice ?? null, account_id: account_id ?? null };
  }

  /** Sets the account that the session looks at. */
  async setAccount(session: Session, account_id: string): Promise<void> {
    session.account_id = account_id;
    await this.#redis.hset(redisKeys.session(digestOf(session.id)), 'account_id', account_id);
  }

  /** Sets the flash message for the session's next page. */
  async setNotice(session: Session, notice: string): Promise<void> {
    session.notice = notice;
    await this.#redis.hset(redisKeys.session(digestOf(session.id)), 'notice', notice);
  }

  async clearNotice({ id }: Session): Promise<void> {
    await this.#redis.hdel(redisKeys.session(digestOf(id)), 'notice');
  }

  /** The open sessions of a user, the one last seen first. @param current the one that asks */
  async list(current: Session, subject: string) {
    const digests = await this.#redis.zrange(this.#index(subject), '0', '-1');
    const found = await Promise.all(digests.map((digest) => this.#listed(digest, current)));
    return found.filter((one) => one !== null).sort((a, b) => b.seen_at_ms - a.seen_at_ms);
  }

  /** `digest` names it and opens nothing; `seen_at_ms` is precise to a minute. */
  async #listed(digest: string, current: Session) {
    const { epoch, agent = '', ...times } = await this.#redis.hgetall(redisKeys.session(digest));
    const [began_at_ms, seen_at_ms] = [Number(times.began_at_ms), Number(times.seen_at_ms)];
    const isOver = this.#now() - seen_at_ms > SESSION_LIFETIME.idle_ms;
    if (epoch !== current.epoch || isOver) return null;
    const isThis = digest === digestOf(current.id);
    return { digest, browser: browserName(agent), began_at_ms, seen_at_ms, isThis };
  }

  /** Ends a session of the user, by its digest; nothing if it is not one of them. */
  async endOther(subject: string, digest: string): Promise<void> {
    if ((await this.#redis.zrem(this.#index(subject), digest)) > 0)
      await this.#redis.del(redisKeys.session(digest));
  }

  async #enter(subject: string, digest: string, began_at_ms: number): Promise<void> {
    const index = this.#index(subject);
    await this.#redis.zadd(index, began_at_ms, digest);
    await this.#redis.zremrangebyscore(index, '-inf', this.#now() - SESSION_LIFETIME.max_ms);
    await this.#redis.pexpire(index, SESSION_LIFETIME.max_ms);
  }

  #index(subject: string): string {
    return redisKeys.sessionsOf(this.#realm, createHash('sha256').update(subject).digest('hex'));
  }

  async end({ id }: Session): Promise<void> {
    await this.#redis.del(redisKeys.session(digestOf(id)));
  }
}

/** How a `User-Agent` names browsers. The order matters: most browsers also name those they descend from. */
const BROWSERS = [
  [/\bEdg(?:e|A|iOS)?\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\bFirefox\/|\bFxiOS\//, 'Firefox'],
  [/Chrome\/|\bCriOS\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
] as const;
const SYSTEMS = [
  [/\bAndroid\b/, 'Android'],
  [/\biPhone\b|\biPad\b/, 'iOS'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b/, 'macOS'],
  [/\bLinux\b/, 'Linux'],
] as const;

/** `Firefox on Linux`, as far as it is known. */
function browserName(agent: string): string {
  const nameIn = (names: readonly (readonly [RegExp, string])[]) =>
    names.find(([pattern]) => pattern.test(agent))?.[1];
  const [browser = 'Unknown browser', system] = [nameIn(BROWSERS), nameIn(SYSTEMS)];
  return system === undefined ? browser : `${browser} on ${system}`;
}
