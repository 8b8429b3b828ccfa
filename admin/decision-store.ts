/**
 * Stores what operators decide about providers, licences of single series, and findings; see
 * `data/schema/operator-changes.ts`. A decision is replaced only if it is still the one that its maker saw.
 */
import type { z } from 'zod';
import type { RedisClient } from '../data/runtime/redis.ts';
import { readScript, ScriptRunner } from '../data/runtime/redis-scripts.ts';
import { findingDecision, licenceDecision, providerDecision } from '../data/schema/operator-changes.ts';
import { redisKeys } from '../data/schema/redis-keys.ts';
import { PageError } from '../gateway/web/forms.ts';

const REPLACE = readScript(import.meta.url, 'lua/replace-entries.lua', 1);

interface Replacement {
  id: string;
  /** JSON; empty for no entry. */
  read: string;
  /** JSON; empty removes the entry. */
  next: string;
}

/**
 * Replaces JSON entries of a hash, all or none, unless one is another by now than was read, so that no order of concurrent
 * changes loses one. @returns whether they are stored
 */
export const replaceEntries = async (
  redis: RedisClient,
  key: string,
  entries: readonly Replacement[],
): Promise<boolean> => {
  const values = entries.flatMap(({ id, read, next }) => [id, read, next]);
  return (await new ScriptRunner(redis).runIdempotent(REPLACE, [key, ...values])) === 1;
};

interface Decision {
  decided_at_ms: number;
}

/** What a form says about the decision that its maker saw: when it was made; empty for none. */
export const versionOf = (decision: Decision | null): string => String(decision?.decided_at_ms ?? '');

/** The decisions in one hash. */
function decisionsIn<One extends Decision>(redis: RedisClient, key: string, schema: z.ZodType<One>) {
  const parse = (text: string): One => schema.parse(JSON.parse(text));
  return {
    /** By id. */
    async all(): Promise<Map<string, One>> {
      const texts = await redis.hgetall(key);
      return new Map(Object.entries(texts).map(([id, text]) => [id, parse(text)]));
    },

    async get(id: string): Promise<One | null> {
      const text = await redis.hget(key, id);
      return text === null ? null : parse(text);
    },

    /**
     * Replaces decisions, all or none.
     * @param changes each with `versionOf` the decision that the maker saw
     * @throws {PageError} 409 when one is another by now
     */
    async replace(changes: readonly { id: string; seen: string; next: One }[]): Promise<void> {
      const texts = await redis.hmget(key, ...changes.map(({ id }) => id));
      const entries = changes.map(({ id, next }, index) => {
        return { id, read: texts[index] ?? '', next: JSON.stringify(next) };
      });
      const isAsSeen = changes.every(({ seen }, index) => {
        const text = texts[index];
        return versionOf(text ? parse(text) : null) === seen;
      });
      if (!isAsSeen || !(await replaceEntries(redis, key, entries)))
        throw new PageError(409, 'Somebody else has decided this meanwhile. Look at it again.');
    },
  };
}

export type DecisionStore = ReturnType<typeof openDecisions>;

export const openDecisions = (redis: RedisClient) => ({
  providers: decisionsIn(redis, redisKeys.providerDecisions, providerDecision),
  licences: decisionsIn(redis, redisKeys.licenceDecisions, licenceDecision),
  /** By the id of the finding. */
  findings: decisionsIn(redis, redisKeys.findingDecisions, findingDecision),
});
