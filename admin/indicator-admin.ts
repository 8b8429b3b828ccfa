/**
 * Indicators with the operators' overrides: edits of name, description and unit, and unpublishing.
 *
 * Overrides live in Redis and every build reads them, so they survive nightly runs. The original is stored beside the
 * override: an unpublished indicator is in no snapshot but must still be found, and an edit back to the original removes
 * the override.
 */
import { readOverrides } from '../data/runtime/overrides.ts';
import type { RedisClient } from '../data/runtime/redis.ts';
import { readScript, ScriptRunner } from '../data/runtime/redis-scripts.ts';
import { type ExcludedIndicator, excludedIndicators } from '../data/schema/excluded-indicator.ts';
import type { IndicatorOverride } from '../data/schema/overrides.ts';
import type { IndicatorRecord } from '../data/schema/records.ts';
import { redisKeys } from '../data/schema/redis-keys.ts';
import { PageError } from '../gateway/pages/shared/forms.ts';
import type { ServedSnapshot } from './snapshots.ts';

const OVERRIDE = readScript(import.meta.url, 'lua/override.lua', 1);

export interface IndicatorFacts {
  id: string;
  name: string;
  description: string;
  unit: string;
  topic: string;
  provider: string;
}
export type Editable = Pick<IndicatorFacts, 'name' | 'description' | 'unit'>;
export const EDITABLE = ['name', 'description', 'unit'] as const satisfies (keyof Editable)[];

export interface AdminIndicator extends IndicatorFacts {
  enabled: boolean;
  edited: boolean;
  /** As published upstream. */
  original: IndicatorFacts;
  /** Whether the served snapshot shows this state. */
  published: boolean;
  /** Whether its licence allows display only, no export. */
  displayOnly: boolean;
}

export class IndicatorAdmin {
  readonly #redis: RedisClient;
  readonly #runner: ScriptRunner;
  readonly #snapshot: () => ServedSnapshot | null;

  constructor(redis: RedisClient, snapshot: () => ServedSnapshot | null) {
    this.#redis = redis;
    this.#runner = new ScriptRunner(redis);
    this.#snapshot = snapshot;
  }

  /** Every published or overridden indicator, by name. */
  async list(): Promise<AdminIndicator[]> {
    const [overrides, originals] = await Promise.all([
      readOverrides(this.#redis),
      this.#redis.hgetall(redisKeys.overridden),
    ]);
    const catalogue = this.#snapshot()?.catalogue.indicators ?? new Map();
    const ids = new Set([...catalogue.keys(), ...overrides.keys()]);
    const indicators = [...ids].flatMap((id) => {
      const served = factsOf(catalogue.get(id)?.record);
      const original = parseFacts(originals[id]) ?? served;
      const tier = catalogue.get(id)?.record.access_tier;
      return original ? [deskIndicator(original, served, overrides.get(id) ?? {}, tier)] : [];
    });
    return indicators.sort((a, b) => collator.compare(a.name, b.name) || (a.id < b.id ? -1 : 1));
  }

  /** Indicators of the lake that the last build did not publish, except unpublished ones. */
  async excluded(): Promise<ExcludedIndicator[]> {
    const text = await this.#redis.get(redisKeys.excluded);
    return text === null ? [] : excludedIndicators.parse(JSON.parse(text));
  }

  /** @throws {PageError} 404 when it is neither published nor overridden. */
  async get(id: string): Promise<AdminIndicator> {
    const [overrides, kept] = await Promise.all([
      readOverrides(this.#redis),
      this.#redis.hget(redisKeys.overridden, id),
    ]);
    const record = this.#snapshot()?.catalogue.indicators.get(id)?.record;
    const served = factsOf(record);
    const original = parseFacts(kept ?? undefined) ?? served;
    if (!original) throw new PageError(404, `There is no indicator ${id}.`);
    return deskIndicator(original, served, overrides.get(id) ?? {}, record?.access_tier);
  }

  async setEnabled({ original }: AdminIndicator, enabled: boolean): Promise<void> {
    await this.#change(original, enabled ? {} : { enabled: false }, enabled ? ['enabled'] : []);
  }

  /** Overrides only fields that differ from the original, so later upstream corrections of other fields apply. */
  async edit({ original }: AdminIndicator, edited: Editable): Promise<void> {
    const differing = EDITABLE.filter((field) => edited[field] !== original[field]);
    const same = EDITABLE.filter((field) => edited[field] === original[field]);
    await this.#change(original, Object.fromEntries(differing.map((field) => [field, edited[field]])), same);
  }

  async #change(
    original: IndicatorFacts,
    changes: IndicatorOverride,
    dropped: readonly string[],
  ): Promise<void> {
    await this.#redis.hsetnx(redisKeys.overridden, original.id, JSON.stringify(original));
    const values = [redisKeys.overrides, original.id, JSON.stringify(changes), JSON.stringify(dropped)];
    const before = await this.#runner.run(OVERRIDE, values);
    const hasNoOverride = !(await this.#redis.hexists(redisKeys.overrides, original.id));
    // Without an override, tomorrow's upstream text becomes the original.
    if (before !== '' && hasNoOverride) await this.#redis.hdel(redisKeys.overridden, original.id);
  }
}

const collator = new Intl.Collator('en');

function factsOf(record: IndicatorRecord | undefined): IndicatorFacts | null {
  if (!record) return null;
  const { id, name, description, unit, topic, provider } = record;
  return { id, name, description: description ?? '', unit: unit ?? '', topic, provider: provider.id };
}

const parseFacts = (text: string | undefined): IndicatorFacts | null => (text ? JSON.parse(text) : null);

function deskIndicator(
  original: IndicatorFacts,
  served: IndicatorFacts | null,
  override: IndicatorOverride,
  tier: string | undefined,
): AdminIndicator {
  const now = {
    name: override.name ?? original.name,
    description: override.description === undefined ? original.description : (override.description ?? ''),
    unit: override.unit === undefined ? original.unit : (override.unit ?? ''),
  };
  const enabled = override.enabled !== false;
  const isServed = served !== null && EDITABLE.every((field) => served[field] === now[field]);
  return {
    ...original,
    ...now,
    enabled,
    edited: EDITABLE.some((field) => now[field] !== original[field]),
    original,
    published: enabled ? isServed : served === null,
    displayOnly: tier === 'display',
  };
}
