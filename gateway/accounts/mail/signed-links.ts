/**
 * Links that are mailed: signed, good for one purpose, once, and for a while.
 *
 * A link's token is `<id>.<expiry>.<signature>`. The signature (HMAC-SHA256 of purpose, id and expiry) lets a forged or
 * stale one be refused without a look-up; what the link is good for stands in Redis under the digest of the id, so
 * that reading Redis gives nobody a link, and is taken out by whoever uses it first.
 */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import type { RedisClient } from '../../../data/runtime/redis.ts';
import { redisKeys } from '../../../data/schema/redis-keys.ts';
import type { RandomBytes } from '../../metering/keys.ts';

const SECRET_BYTES = 32;
const ID_BYTES = 24;
const TOKEN = /^([A-Za-z0-9_-]{32})\.([0-9a-z]{1,12})\.([A-Za-z0-9_-]{43})$/;

const FACTS = {
  'sign-up': z.object({ email: z.string(), name: z.string(), password: z.string() }),
  reset: z.object({ account_id: z.string() }),
} as const;

export type LinkPurpose = keyof typeof FACTS;
export type LinkFacts<P extends LinkPurpose> = z.infer<(typeof FACTS)[P]>;

export interface LinkDependencies {
  redis: RedisClient;
  /** Unix milliseconds. */
  now: () => number;
  random: RandomBytes;
}

export class Links {
  readonly #to: LinkDependencies;

  constructor(dependencies: LinkDependencies) {
    this.#to = dependencies;
  }

  /** A new token. @param life_ms how long it is good for. */
  async make<P extends LinkPurpose>(purpose: P, facts: LinkFacts<P>, life_ms: number): Promise<string> {
    const { redis, now, random } = this.#to;
    const id = random(ID_BYTES).toString('base64url');
    const expiry = (now() + life_ms).toString(36);
    const signature = await this.#sign(purpose, id, expiry);
    await redis.set(keyOf(id), JSON.stringify({ purpose, facts }), 'PX', life_ms);
    return `${id}.${expiry}.${signature.toString('base64url')}`;
  }

  /** What a token is good for, without using it up; null when it is good for nothing. */
  async look<P extends LinkPurpose>(purpose: P, token: string): Promise<LinkFacts<P> | null> {
    const id = await this.#checked(purpose, token);
    return id === null ? null : read(purpose, await this.#to.redis.get(keyOf(id)));
  }

  /** Uses a token up. Of many who come with it at once, one gets what it is good for. */
  async use<P extends LinkPurpose>(purpose: P, token: string): Promise<LinkFacts<P> | null> {
    const id = await this.#checked(purpose, token);
    return id === null ? null : read(purpose, await this.#to.redis.getdel(keyOf(id)));
  }

  async #checked(purpose: LinkPurpose, token: string): Promise<string | null> {
    const [, id, expiry, signature] = TOKEN.exec(token) ?? [];
    if (id === undefined || expiry === undefined || signature === undefined) return null;
    const given = Buffer.from(signature, 'base64url');
    if (!timingSafeEqual(given, await this.#sign(purpose, id, expiry))) return null;
    return Number.parseInt(expiry, 36) > this.#to.now() ? id : null;
  }

  /** With the one secret of this Redis, made when it is first needed. */
  async #sign(purpose: LinkPurpose, id: string, expiry: string): Promise<Buffer> {
    const { redis, random } = this.#to;
    const fresh = random(SECRET_BYTES).toString('base64url');
    const secret = (await redis.set(redisKeys.linkSecret, fresh, 'NX', 'GET')) ?? fresh;
    return createHmac('sha256', secret).update(`${purpose}.${id}.${expiry}`).digest();
  }
}

const keyOf = (id: string): string => redisKeys.link(createHash('sha256').update(id).digest('hex'));

function read<P extends LinkPurpose>(purpose: P, text: string | null): LinkFacts<P> | null {
  if (text === null) return null;
  const stored = JSON.parse(text) as { purpose: string; facts: unknown };
  return stored.purpose === purpose ? (FACTS[purpose].parse(stored.facts) as LinkFacts<P>) : null;
}
