/**
 * Feed links: `/feed/<secret>.<format>` is one frozen query of one key, for tools that cannot send a header.
 *
 * - The secret exists once, in the answer that made it; Redis has its digest. `feed:<digest>` says whose link it is.
 * - State, cap and use of each link are fields of the account's `feeds` hash. `admit.lua` reads them at each fetch, so that a
 *   link that was revoked is dead at the next one.
 */
import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { RedisClient } from '../../../data/runtime/redis.ts';
import { readScript, ScriptRunner } from '../../../data/runtime/redis-scripts.ts';
import { monthOf, redisKeys } from '../../../data/schema/redis-keys.ts';
import { type ApiKey, MeteringUnavailable } from './admission.ts';
import { digestOf, isFeedSecret, KEY_ID_LENGTH, mintFeedSecret, type RandomBytes, randomId } from './keys.ts';

const CREATE = readScript(import.meta.url, 'lua/create-feed.lua', 3);
const REVOKE = readScript(import.meta.url, 'lua/revoke-feed.lua', 1);

export const FEED_FORMATS = ['csv', 'xlsx', 'json'] as const;
export type FeedFormat = (typeof FEED_FORMATS)[number];

/** Live links of an account. */
export const FEEDS_MAX = 50;
/** Revoked and expired ones that it still lists. */
const ENDED_MAX = 20;
/** TTL of a `feed:<digest>` whose link was never finished. */
const UNFINISHED_TTL_MS = 600_000;

/** What the holder of a key decides about a link. */
export interface FeedTerms {
  name: string;
  /** Path and query of the call that it answers: `/v1/data?indicator=…`. */
  query: string;
  format: FeedFormat;
  /** Most credits that it may spend in a calendar month (UTC). */
  monthly_cap: number;
  /** Unix milliseconds; null for never. */
  expires_at_ms: number | null;
}

/** A link and its use. */
export interface Feed extends FeedTerms {
  feed_id: string;
  key_id: string;
  /** Of its secret. */
  last4: string;
  /** Of the link alone: it is dead as well while its key or account is not active. */
  state: 'active' | 'revoked' | 'expired';
  created_at_ms: number;
  revoked_at_ms: number | null;
  /** The person who made it; empty where the key did. */
  by: string;
  fetches: number;
  fetched_at_ms: number | null;
  /** In this calendar month (UTC). */
  month_credits: number;
  /** Id of the edition of the last answer. */
  edition: string | null;
}

export type CreatedFeed =
  /** `secret` is shown once. */
  | { kind: 'created'; feed: Feed; secret: string }
  /** There are `FEEDS_MAX` live links. */
  | { kind: 'full' }
  /** The key or its account is not active. */
  | { kind: 'inactive' };

/** A link that is neither revoked nor expired, as a fetch needs it. */
export interface LiveFeed extends Pick<Feed, 'feed_id' | 'key_id' | 'query' | 'edition'> {
  account_id: string;
  format: FeedFormat;
}

const owner = z.object({ account_id: z.string(), feed_id: z.string() });

const formatOf = (text: string | null | undefined): FeedFormat =>
  FEED_FORMATS.find((format) => format === text) ?? FEED_FORMATS[0];

/** Every method throws `MeteringUnavailable` when Redis does not answer. */
export class FeedStore {
  readonly #redis: RedisClient;
  readonly #runner: ScriptRunner;
  readonly #now: () => number;
  readonly #random: RandomBytes;

  constructor({ redis, now, random = randomBytes }: FeedDependencies) {
    this.#redis = redis;
    this.#runner = new ScriptRunner(redis);
    this.#now = now;
    this.#random = random;
  }

  /** @param by the person who makes it; empty where the key does */
  async create(
    { account_id, key_id }: Pick<ApiKey, 'account_id' | 'key_id'>,
    { name, query, format, monthly_cap, expires_at_ms }: FeedTerms,
    by = '',
  ): Promise<CreatedFeed> {
    const now_ms = this.#now();
    const secret = mintFeedSecret(this.#random);
    const digest = digestOf(secret).toString('hex');
    const feed_id = randomId(KEY_ID_LENGTH, this.#random);
    const fields = { digest, last4: secret.slice(-4), name, query, format, cap: monthly_cap, by };
    const index = redisKeys.feed(digest);
    const names = [redisKeys.account(account_id), redisKeys.keys(account_id), redisKeys.feeds(account_id)];
    const values = [now_ms, feed_id, key_id, FEEDS_MAX, ENDED_MAX, 'expires_at_ms', expires_at_ms ?? ''];
    return this.#guarded(async () => {
      await this.#redis.set(index, JSON.stringify({ account_id, feed_id }), 'PX', UNFINISHED_TTL_MS);
      const reply = await this.#runner.runIdempotent(CREATE, [
        ...names,
        ...values,
        ...Object.entries(fields).flat(),
      ]);
      const [kind, ...dropped] = reply as ['created' | 'full' | 'inactive', ...string[]];
      if (kind !== 'created') {
        await this.#redis.del(index);
        return { kind };
      }
      await this.#redis.persist(index);
      await this.#forget(dropped);
      const feed = (await this.list(account_id)).find((one) => one.feed_id === feed_id);
      if (feed === undefined) throw new Error(`the feed link ${feed_id} was not stored`);
      return { kind, feed, secret };
    });
  }

  /** Oldest first. */
  async list(account_id: string): Promise<Feed[]> {
    const hash = await this.#guarded(() => this.#redis.hgetall(redisKeys.feeds(account_id)));
    const byId = new Map<string, Record<string, string>>();
    for (const [field, value] of Object.entries(hash)) {
      const [feed_id = '', name = ''] = field.split(':', 2);
      byId.set(feed_id, { ...byId.get(feed_id), [name]: value });
    }
    const feeds = [...byId].map(([feed_id, fields]) => feedOf(feed_id, fields, this.#now()));
    return feeds.sort((a, b) => a.created_at_ms - b.created_at_ms || (a.feed_id < b.feed_id ? -1 : 1));
  }

  /**
   * Final, from the next fetch on. @returns false where there is no such link
   * @param key_id whose link it must be; absent for any key of the account
   */
  async revoke(account_id: string, feed_id: string, key_id = ''): Promise<boolean> {
    return this.#guarded(async () => {
      const values = [redisKeys.feeds(account_id), this.#now(), feed_id, key_id];
      const digest = await this.#runner.runIdempotent(REVOKE, values);
      if (typeof digest !== 'string') return false;
      await this.#forget([digest]);
      return true;
    });
  }

  /** Removes all links of an account, and their use. Repeatable. */
  async erase(account_id: string): Promise<void> {
    const name = redisKeys.feeds(account_id);
    await this.#guarded(async () => {
      const hash = await this.#redis.hgetall(name);
      await this.#forget(
        Object.keys(hash).flatMap((field) => (field.endsWith(':digest') ? (hash[field] ?? []) : [])),
      );
      await this.#redis.del(name);
    });
  }

  /** Null for a link that does not exist, was revoked or has expired: for a caller they are the same. */
  async find(secret: string): Promise<LiveFeed | null> {
    if (!isFeedSecret(secret)) return null;
    return this.#guarded(async () => {
      const text = await this.#redis.get(redisKeys.feed(digestOf(secret).toString('hex')));
      if (text === null) return null;
      const { account_id, feed_id } = owner.parse(JSON.parse(text));
      const names = ['key', 'query', 'format', 'edition', 'expires_at_ms', 'revoked_at_ms'];
      const fields = names.map((name) => `${feed_id}:${name}`);
      const [key_id, query, format, edition = null, expires_at_ms, revoked_at_ms] = await this.#redis.hmget(
        redisKeys.feeds(account_id),
        ...fields,
      );
      if (!key_id || !query || revoked_at_ms) return null;
      if (expires_at_ms && Number(expires_at_ms) <= this.#now()) return null;
      return { account_id, feed_id, key_id, query, format: formatOf(format), edition };
    });
  }

  /** What says whose links they are; their own records end them. */
  async #forget(digests: readonly string[]): Promise<void> {
    await Promise.all(digests.map((digest) => this.#redis.del(redisKeys.feed(digest))));
  }

  async #guarded<Made>(work: () => Promise<Made>): Promise<Made> {
    try {
      return await work();
    } catch (cause) {
      if (cause instanceof MeteringUnavailable || !(cause instanceof Error)) throw cause;
      throw new MeteringUnavailable('feed links cannot be read or changed', { cause });
    }
  }
}

interface FeedDependencies {
  redis: RedisClient;
  /** Unix milliseconds. */
  now: () => number;
  random?: RandomBytes;
}

function feedOf(feed_id: string, fields: Record<string, string>, now_ms: number): Feed {
  const numberOf = (name: string): number | null => (fields[name] ? Number(fields[name]) : null);
  const [expires_at_ms, revoked_at_ms] = [numberOf('expires_at_ms'), numberOf('revoked_at_ms')];
  const isExpired = expires_at_ms !== null && expires_at_ms <= now_ms;
  const [month, credits] = (fields.month ?? '').split('=');
  return {
    feed_id,
    key_id: fields.key ?? '',
    last4: fields.last4 ?? '',
    name: fields.name ?? '',
    query: fields.query ?? '',
    format: formatOf(fields.format),
    monthly_cap: Number(fields.cap),
    state: revoked_at_ms !== null ? 'revoked' : isExpired ? 'expired' : 'active',
    created_at_ms: Number(fields.created_at_ms),
    expires_at_ms,
    revoked_at_ms,
    by: fields.by ?? '',
    fetches: Number(fields.fetches ?? 0),
    fetched_at_ms: numberOf('fetched_at_ms'),
    month_credits: month === monthOf(now_ms) ? Number(credits) : 0,
    edition: fields.edition ?? null,
  };
}
