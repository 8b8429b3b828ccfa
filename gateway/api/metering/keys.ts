/**
 * API keys: format, digest, and resolution of an Authorization header.
 *
 * A key is `alm_<environment>_<id>_<secret>`:
 *
 *   environment  `live` or `test`
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
import { z } from 'zod';
import { BoundedCache } from '../../../data/runtime/bounded-cache.ts';
import type { RedisClient } from '../../../data/runtime/redis.ts';
import { redisKeys } from '../../../data/schema/redis-keys.ts';
import { type ApiKey, MeteringUnavailable } from './metering.ts';

export const KEY_PREFIX = 'alm';
export const KEY_ID_LENGTH = 12;
export const SECRET_LENGTH = 40;
const CHECKSUM_LENGTH = 6;

const BASE32 = '0123456789abcdefghjkmnpqrstvwxyz';
const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const KEY_SHAPE = /^alm_(live|test)_([0-9a-hjkmnp-tv-z]{12})_([0-9A-Za-z]{40})$/;

export type KeyEnvironment = 'live' | 'test';

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

/** Makes a new key. The secret exists only in the result. */
export function mintKeyText(environment: KeyEnvironment, random: RandomBytes): MintedKey {
  const key_id = randomId(KEY_ID_LENGTH, random);
  const body = `${KEY_PREFIX}_${environment}_${key_id}_${randomText(BASE62, SECRET_LENGTH - CHECKSUM_LENGTH, random)}`;
  const key = body + checksum(body);
  const secret = key.slice(-SECRET_LENGTH);
  return { environment, key_id, secret, key, digest: digestOf(secret), last4: secret.slice(-4) };
}

/** The parts of a well-formed key whose checksum holds, otherwise null. */
export function parseKey(text: string): ParsedKey | null {
  const [, environment, key_id, secret] = KEY_SHAPE.exec(text) ?? [];
  if (key_id === undefined || secret === undefined) return null;
  if (checksum(text.slice(0, -CHECKSUM_LENGTH)) !== text.slice(-CHECKSUM_LENGTH)) return null;
  return { environment: environment === 'test' ? 'test' : 'live', key_id, secret };
}

/** SHA-256 of a secret, 32 bytes. */
export const digestOf = (secret: string): Buffer => hash('sha256', secret, 'buffer');

/** The value of `key:<key id>`. */
export const storedKey = z.object({
  account_id: z.string(),
  /** SHA-256 of the secret, hexadecimal. */
  digest: z.string().regex(/^[0-9a-f]{64}$/),
  environment: z.enum(['live', 'test']),
  scopes: z.array(z.string()),
  expires_at_ms: z.int().nullable(),
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
  readonly #known = new BoundedCache<KnownKey>(CACHED_KEYS);

  constructor(redis: RedisClient) {
    this.#redis = redis;
  }

  /** @throws {MeteringUnavailable} when the key is not cached and Redis does not answer. */
  async resolve(authorization: string): Promise<ApiKey | null> {
    const parsed = parseKey(BEARER.exec(authorization)?.[1] ?? '');
    if (!parsed) return null;
    const digest = digestOf(parsed.secret);
    const isPresented = ({ digest: known, apiKey, exists }: KnownKey): boolean =>
      timingSafeEqual(digest, known) && exists && apiKey.environment === parsed.environment;
    const cached = this.#known.get(parsed.key_id);
    if (cached && isPresented(cached)) return cached.apiKey;
    const stored = await this.#read(parsed.key_id);
    if (!isPresented(stored)) return null;
    this.#known.set(parsed.key_id, stored);
    return stored.apiKey;
  }

  async #read(key_id: string): Promise<KnownKey> {
    const text = await this.#redis.get(redisKeys.key(key_id)).catch((cause: unknown) => {
      throw new MeteringUnavailable('keys cannot be read', { cause });
    });
    const { digest, ...properties } = storedKey.parse(JSON.parse(text ?? UNKNOWN_KEY_TEXT));
    return {
      apiKey: Object.freeze({ key_id, ...properties }),
      digest: Buffer.from(digest, 'hex'),
      exists: text !== null,
    };
  }
}
