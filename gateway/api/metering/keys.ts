/**
 * API keys: format, digest, resolution of an Authorization header, and what a process remembers of each.
 *
 * A key is `alm_<environment>_<id>_<secret>`:
 *
 *   environment  `live` or `test`; `mcp` for the access token of a connection, which expires soon
 *   id           12 characters of Crockford base32 in lower case (60 bits); names the key, not secret
 *   secret       40 characters of base62: 34 random ones (202 bits), then a checksum of 6
 *
 * The checksum is the CRC-32 of everything before it, in base62 with leading zeros. It lets a mistyped or guessed key
 * be rejected without a look-up, and lets a scanner tell a leaked key from noise. Only the SHA-256 digest of the secret
 * is stored.
 *
 * The properties of a key never change and are cached without expiry; `admit` decides whether it is still active. An
 * unknown id and a wrong secret cost the same: one look-up, one digest, one comparison in constant time. Unknown keys
 * are not cached, so guessing cannot evict keys in use.
 */
import { hash, timingSafeEqual } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import type { RedisClient } from '../../../data/runtime/redis.ts';
import { redisKeys } from '../../../data/schema/redis-keys.ts';
import { type ApiKey, type KeyStanding, MeteringUnavailable, type Verdict } from './admission.ts';

export const KEY_PREFIX = 'alm';
export const KEY_ID_LENGTH = 12;
export const SECRET_LENGTH = 40;
const CHECKSUM_LENGTH = 6;

const BASE32 = '0123456789abcdefghjkmnpqrstvwxyz';
const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const KEY_SHAPE = /^alm_(live|test|mcp)_([0-9a-hjkmnp-tv-z]{12})_([0-9A-Za-z]{40})$/;

const keyEnvironment = z.enum(['live', 'test', 'mcp']);
type KeyEnvironment = z.infer<typeof keyEnvironment>;

export interface ParsedKey {
  environment: KeyEnvironment;
  key_id: string;
  secret: string;
}

export interface MintedKey extends ParsedKey {
  /** The whole key; shown once. */
  key: string;
  digest: Buffer;
  last4: string;
}

/** `randomBytes` of `node:crypto` outside of tests. */
export type RandomBytes = (size: number) => Buffer;

/** `length` characters of an alphabet, each equally likely: bytes beyond the last whole multiple are discarded. */
function randomText(alphabet: string, length: number, random: RandomBytes): string {
  const usable = 256 - (256 % alphabet.length);
  let text = '';
  while (text.length < length) {
    for (const byte of random(length - text.length)) {
      if (byte < usable) text += alphabet[byte % alphabet.length];
    }
  }
  return text;
}

/** A random id of `length` Crockford base32 characters, 5 bits each. */
export const randomId = (length: number, random: RandomBytes): string => randomText(BASE32, length, random);

function checksum(text: string): string {
  let rest = crc32(text);
  let digits = '';
  for (let place = 0; place < CHECKSUM_LENGTH; place++) {
    digits = BASE62.charAt(rest % 62) + digits;
    rest = Math.floor(rest / 62);
  }
  return digits;
}

/** A random secret of 34 characters, then a checksum of 6 over both. @param start of the text that the secret ends */
function withSecret(start: string, random: RandomBytes): string {
  const body = start + randomText(BASE62, SECRET_LENGTH - CHECKSUM_LENGTH, random);
  return body + checksum(body);
}

const hasChecksum = (text: string): boolean =>
  checksum(text.slice(0, -CHECKSUM_LENGTH)) === text.slice(-CHECKSUM_LENGTH);

const FEED_PREFIX = `${KEY_PREFIX}_feed_`;
const FEED_SHAPE = /^alm_feed_[0-9A-Za-z]{40}$/;

/** Makes the secret of a feed link. */
export const mintFeedSecret = (random: RandomBytes): string => withSecret(FEED_PREFIX, random);

/** Whether a text can be the secret of a feed link: a guess is refused without a look-up. */
export const isFeedSecret = (text: string): boolean => FEED_SHAPE.test(text) && hasChecksum(text);

/** Makes a new key. The secret exists only in the result. */
export function mintKeyText(environment: KeyEnvironment, random: RandomBytes): MintedKey {
  const key_id = randomId(KEY_ID_LENGTH, random);
  const key = withSecret(`${KEY_PREFIX}_${environment}_${key_id}_`, random);
  const secret = key.slice(-SECRET_LENGTH);
  return { environment, key_id, secret, key, digest: digestOf(secret), last4: secret.slice(-4) };
}

/** The parts of a well-formed key whose checksum holds, otherwise null. */
export function parseKey(text: string): ParsedKey | null {
  const [, environment, key_id, secret] = KEY_SHAPE.exec(text) ?? [];
  if (key_id === undefined || secret === undefined) return null;
  if (!hasChecksum(text)) return null;
  return { environment: keyEnvironment.parse(environment), key_id, secret };
}

/** SHA-256 of a secret, 32 bytes. */
export const digestOf = (secret: string): Buffer => hash('sha256', secret, 'buffer');

/** The value of `key:<key id>`. */
export const storedKey = z.object({
  account_id: z.string(),
  /** SHA-256 of the secret, hexadecimal. */
  digest: z.string().regex(/^[0-9a-f]{64}$/),
  environment: keyEnvironment,
  scopes: z.array(z.string()),
  expires_at_ms: z.int().nullable(),
  /** Of an access token: what is counted and charged in place of a key. */
  connection_id: z.string().optional(),
});
export type StoredKey = z.infer<typeof storedKey>;

interface KnownKey {
  apiKey: ApiKey;
  digest: Buffer;
  exists: boolean;
}

const CACHED_KEYS = 50_000;
const BEARER = /^Bearer +([^ ]+) *$/i;
/** Stands in for a key that does not exist, so that response times do not reveal which ids exist. */
const UNKNOWN_KEY: StoredKey = {
  account_id: 'acc_0000000000000000',
  digest: '0'.repeat(64),
  environment: 'live',
  scopes: ['read'],
  expires_at_ms: null,
};
const UNKNOWN_KEY_TEXT = JSON.stringify(UNKNOWN_KEY);

export class KeyResolver {
  readonly #redis: RedisClient;
  readonly #now: () => number;
  readonly #known = new LRUCache<string, KnownKey>({ max: CACHED_KEYS });

  constructor(redis: RedisClient, now: () => number) {
    this.#redis = redis;
    this.#now = now;
  }

  /** @throws {MeteringUnavailable} when the key is not cached and Redis does not answer. */
  async resolve(authorization: string): Promise<ApiKey | null> {
    const parsed = parseKey(BEARER.exec(authorization)?.[1] ?? '');
    if (!parsed) return null;
    const digest = digestOf(parsed.secret);
    const isPresented = ({ digest: known, apiKey, exists }: KnownKey): boolean =>
      timingSafeEqual(digest, known) &&
      exists &&
      apiKey.environment === parsed.environment &&
      !this.#isPastToken(apiKey);
    const cached = this.#known.get(parsed.key_id);
    if (cached && isPresented(cached)) return cached.apiKey;
    const stored = await this.#read(parsed.key_id);
    if (!isPresented(stored)) return null;
    this.#known.set(parsed.key_id, stored);
    return stored.apiKey;
  }

  /** An expired token is as if it had never been: it must not be remembered as a refusal of its connection. */
  #isPastToken({ environment, expires_at_ms }: ApiKey): boolean {
    return environment === 'mcp' && this.#now() >= (expires_at_ms ?? 0);
  }

  /** The key of a feed link; null where it is gone. @throws {MeteringUnavailable} as `resolve` */
  async byId(key_id: string): Promise<ApiKey | null> {
    const known = this.#known.get(key_id) ?? (await this.#read(key_id));
    if (!known.exists) return null;
    this.#known.set(key_id, known);
    return known.apiKey;
  }

  async #read(key_id: string): Promise<KnownKey> {
    const text = await this.#redis.get(redisKeys.key(key_id)).catch((cause: unknown) => {
      throw new MeteringUnavailable('keys cannot be read', { cause });
    });
    const { digest, connection_id, ...properties } = storedKey.parse(JSON.parse(text ?? UNKNOWN_KEY_TEXT));
    return {
      apiKey: Object.freeze({ key_id: connection_id ?? key_id, ...properties }),
      digest: Buffer.from(digest, 'hex'),
      exists: text !== null,
    };
  }
}

const REMEMBERED_MS = 1_000;
/** Refusals within that time that Redis confirms. */
const CONFIRMED_REFUSALS = 20;

interface Refusals {
  /** When the first of them was given. */
  since_ms: number;
  count: number;
  /** Whether the last of them was for a suspended account. */
  isSuspended: boolean;
}

/**
 * What a process remembers of each key's last verdict, so that a key that no longer works causes no work.
 *
 * - A key is confirmed once Redis has admitted it: its calls are prepared first, then admitted and charged in one step.
 * - Any other key is unconfirmed: Redis is asked before any work is done.
 * - A key that is bound to address ranges or origins has a standing for each place that it is used from; where it is not
 *   allowed, it stays unconfirmed.
 * - A key refused often within a second is refused without Redis for the rest of it. Fewer refusals are confirmed by
 *   Redis each time, so that a restored account works from the next request on.
 */
export class KeyStandings {
  /** By key, or by key and place. */
  readonly #last = new LRUCache<string, Refusals | 'admitted'>({ max: CACHED_KEYS });

  /** @param user names the key, and the place of one that is bound */
  of({ expires_at_ms }: ApiKey, user: string, now_ms: number): KeyStanding {
    const last = this.#last.get(user);
    if (last === undefined) return 'unconfirmed';
    if (last === 'admitted')
      return expires_at_ms !== null && now_ms >= expires_at_ms ? 'unconfirmed' : 'confirmed';
    if (last.count < CONFIRMED_REFUSALS || !isRecent(last, now_ms)) return 'unconfirmed';
    return last.isSuspended ? 'suspended' : 'refused';
  }

  note(user: string, verdict: Verdict, now_ms: number): void {
    const last = this.#last.get(user);
    if (verdict.kind === 'restricted') this.#last.delete(user);
    else if (verdict.kind !== 'invalid_key') {
      if (last !== 'admitted') this.#last.set(user, 'admitted');
    } else if (last && last !== 'admitted' && isRecent(last, now_ms)) {
      last.count += 1;
      last.isSuspended = verdict.isSuspended;
    } else this.#last.set(user, { since_ms: now_ms, count: 1, isSuspended: verdict.isSuspended });
  }
}

/** False also for a time that lies ahead, after the clock was set back. */
const isRecent = ({ since_ms }: Refusals, now_ms: number): boolean =>
  now_ms >= since_ms && now_ms - since_ms < REMEMBERED_MS;
