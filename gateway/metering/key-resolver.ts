/**
 * From an Authorization header to the facts of a key.
 *
 * A malformed key is refused without a look-up. Facts never change, so they are cached without expiry and a steady
 * state asks no store; whether the key is still active is `admit`'s question. An unknown id and a wrong secret cost
 * the same: one look-up, one digest, one comparison in constant time. Unknown keys are never cached, so guessing
 * cannot push out what is in use.
 */
import { timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import type { RedisClient } from '../../data/runtime/redis.ts';
import { redisKeys } from '../../data/schema/redis-keys.ts';
import { digestOf, parseKey } from '../accounts/keys/key-format.ts';
import { BoundedCache } from './bounded-cache.ts';
import { type KeyFacts, MeteringUnavailable } from './metering.ts';

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
  facts: KeyFacts;
  digest: Buffer;
  exists: boolean;
}

const CACHED_KEYS = 50_000;
const BEARER = /^Bearer +([^ ]+) *$/i;
/** Read and compared with when there is no such key, so that its absence does not show in the time of a refusal. */
const NOBODYS: StoredKey = {
  account_id: 'acc_0000000000000000',
  digest: '0'.repeat(64),
  environment: 'live',
  scopes: ['read'],
  expires_at_ms: null,
};
const NOBODYS_TEXT = JSON.stringify(NOBODYS);

export class KeyResolver {
  readonly #redis: RedisClient;
  readonly #known = new BoundedCache<KnownKey>(CACHED_KEYS);

  constructor(redis: RedisClient) {
    this.#redis = redis;
  }

  /** @throws {MeteringUnavailable} when the key is not cached and Redis cannot be asked. */
  async resolve(authorization: string): Promise<KeyFacts | null> {
    const parsed = parseKey(BEARER.exec(authorization)?.[1] ?? '');
    if (!parsed) return null;
    const digest = digestOf(parsed.secret);
    const isPresented = ({ digest: known, facts, exists }: KnownKey): boolean =>
      timingSafeEqual(digest, known) && exists && facts.environment === parsed.environment;
    const cached = this.#known.get(parsed.key_id);
    if (cached && isPresented(cached)) return cached.facts;
    const stored = await this.#read(parsed.key_id);
    if (!isPresented(stored)) return null;
    this.#known.set(parsed.key_id, stored);
    return stored.facts;
  }

  async #read(key_id: string): Promise<KnownKey> {
    const text = await this.#redis.get(redisKeys.key(key_id)).catch((cause: unknown) => {
      throw new MeteringUnavailable('keys cannot be read', { cause });
    });
    const { digest, ...facts } = storedKey.parse(JSON.parse(text ?? NOBODYS_TEXT));
    return {
      facts: Object.freeze({ key_id, ...facts }),
      digest: Buffer.from(digest, 'hex'),
      exists: text !== null,
    };
  }
}
