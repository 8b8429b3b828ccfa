/**
 * Stores what operators decide about providers and about licences of single series; see
 * `data/schema/operator-changes.ts`. A decision is replaced only if it is still the one that its maker saw.
 */
import type { RedisClient } from '../data/runtime/redis.ts';
import { readScript, ScriptRunner } from '../data/runtime/redis-scripts.ts';
import {
  type LicenceDecision,
  licenceDecision,
  type ProviderDecision,
  providerDecision,
} from '../data/schema/operator-changes.ts';
import { redisKeys } from '../data/schema/redis-keys.ts';
import { PageError } from '../gateway/web/forms.ts';

const REPLACE = readScript(import.meta.url, 'lua/replace-entry.lua', 1);

/**
 * Replaces a JSON entry of a hash, unless it is another by now than the one that was read, so that no order of concurrent
 * changes loses one. @param read empty for no entry @param next empty removes it @returns whether `next` is stored
 */
export const replaceEntry = async (
  redis: RedisClient,
  key: string,
  id: string,
  { read, next }: { read: string; next: string },
): Promise<boolean> => (await new ScriptRunner(redis).runIdempotent(REPLACE, [key, id, read, next])) === 1;

interface Decision {
  decided_at_ms: number;
}

/** What a form says about the decision that its maker saw: when it was made; empty for none. */
export const versionOf = (decision: Decision | null): string => String(decision?.decided_at_ms ?? '');

class Decisions<One extends Decision> {
  readonly #redis: RedisClient;
  readonly #key: string;
  readonly #parse: (text: string) => One;

  constructor(redis: RedisClient, key: string, parse: (text: string) => One) {
    this.#redis = redis;
    this.#key = key;
    this.#parse = parse;
  }

  /** By id. */
  async all(): Promise<Map<string, One>> {
    const texts = await this.#redis.hgetall(this.#key);
    return new Map(Object.entries(texts).map(([id, text]) => [id, this.#parse(text)]));
  }

  async get(id: string): Promise<One | null> {
    const text = await this.#redis.hget(this.#key, id);
    return text === null ? null : this.#parse(text);
  }

  /** @param seen `versionOf` the decision that the maker saw @throws {PageError} 409 when it is another by now */
  async replace(id: string, seen: string, next: One): Promise<void> {
    const text = (await this.#redis.hget(this.#key, id)) ?? '';
    const current = text === '' ? null : this.#parse(text);
    const isStored =
      versionOf(current) === seen &&
      (await replaceEntry(this.#redis, this.#key, id, { read: text, next: JSON.stringify(next) }));
    if (!isStored) throw new PageError(409, 'Somebody else has decided this meanwhile. Look at it again.');
  }
}

export class DecisionStore {
  readonly providers: Decisions<ProviderDecision>;
  readonly licences: Decisions<LicenceDecision>;

  constructor(redis: RedisClient) {
    this.providers = new Decisions(redis, redisKeys.providerDecisions, (text) =>
      providerDecision.parse(JSON.parse(text)),
    );
    this.licences = new Decisions(redis, redisKeys.licenceDecisions, (text) =>
      licenceDecision.parse(JSON.parse(text)),
    );
  }
}
