/**
 * Stores the operators' overrides, each with the original of its indicator in one entry, so that no order of concurrent
 * changes loses one of the two. An entry is replaced only if it is still the one that was read.
 */
import { z } from 'zod';
import type { RedisClient } from '../data/runtime/redis.ts';
import { readScript, ScriptRunner } from '../data/runtime/redis-scripts.ts';
import {
  type EditableFacts,
  editableFacts,
  type StoredOverride,
  storedOverride,
} from '../data/schema/operator-changes.ts';
import { redisKeys } from '../data/schema/redis-keys.ts';

const OVERRIDE = readScript(import.meta.url, 'lua/replace-entry.lua', 1);

export interface OverrideEntry {
  stored: StoredOverride;
  /** The entry's text in Redis; empty without an entry. */
  text: string;
}

const NO_ENTRY: OverrideEntry = { stored: {}, text: '' };

export class OverrideStore {
  readonly #redis: RedisClient;
  readonly #runner: ScriptRunner;

  constructor(redis: RedisClient) {
    this.#redis = redis;
    this.#runner = new ScriptRunner(redis);
  }

  /** By indicator id. */
  async all(): Promise<Map<string, OverrideEntry>> {
    const [texts, originals] = await Promise.all([
      this.#redis.hgetall(redisKeys.overrides),
      this.#redis.hgetall(redisKeys.overridden),
    ]);
    return new Map(Object.entries(texts).map(([id, text]) => [id, entryOf(text, originals[id])]));
  }

  async get(id: string): Promise<OverrideEntry> {
    const [text, original] = await Promise.all([
      this.#redis.hget(redisKeys.overrides, id),
      this.#redis.hget(redisKeys.overridden, id),
    ]);
    return text === null ? NO_ENTRY : entryOf(text, original ?? undefined);
  }

  /**
   * @param next null removes the entry.
   * @returns false when the entry has changed since it was read; then nothing is stored.
   */
  async replace(id: string, read: OverrideEntry, next: StoredOverride | null): Promise<boolean> {
    const text = next === null ? '' : JSON.stringify(next);
    const values = [redisKeys.overrides, id, read.text, text];
    if ((await this.#runner.runIdempotent(OVERRIDE, values)) !== 1) return false;
    // The entry has its own original now.
    await this.#redis.hdel(redisKeys.overridden, id);
    return true;
  }
}

/** @param kept the original of an entry that was stored before entries had their own. */
function entryOf(text: string, kept: string | undefined): OverrideEntry {
  const stored = storedOverride.safeParse(jsonOrNull(text)).data ?? {};
  const original = stored.original ?? keptOriginal(kept);
  return { stored: original ? { ...stored, original } : stored, text };
}

/** Originals were stored with fewer fields, and with empty texts for none. */
const keptFacts = editableFacts.extend({
  higher_is_better: z.boolean().nullable().default(null),
  featured: z.boolean().default(false),
  no_rank: z.boolean().default(false),
});

function keptOriginal(text: string | undefined): EditableFacts | null {
  const kept = keptFacts.safeParse(jsonOrNull(text ?? 'null')).data;
  return kept ? { ...kept, description: kept.description || null, unit: kept.unit || null } : null;
}

function jsonOrNull(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
