/**
 * Indicators with the operators' overrides: edits of their public record, and unpublishing.
 *
 * Overrides live in Redis and every build reads them, so they survive nightly runs. The original is stored with the
 * override: an unpublished indicator is in no snapshot but must still be found, and an edit back to the original removes
 * the override.
 *
 * A form carries the version that its operator saw, a digest of each editable field. A form that was opened before somebody
 * else's change is refused, and the version tells which fields its operator changed and which ones somebody else has changed.
 */
import { createHash } from 'node:crypto';
import type { RedisClient } from '../data/runtime/redis.ts';
import { type ExcludedIndicator, excludedIndicators } from '../data/schema/jobs.ts';
import {
  applyOverride,
  EDITABLE,
  type EditableFacts,
  type EditableField,
  editableFactsOf,
  hasEdits,
  type IndicatorOverride,
  type StoredOverride,
  storedOverride,
} from '../data/schema/operator-changes.ts';
import type { IndicatorRecord } from '../data/schema/records.ts';
import { redisKeys } from '../data/schema/redis-keys.ts';
import { PageError } from '../gateway/web/forms.ts';
import { replaceEntries } from './decision-store.ts';
import type { ServedSnapshot } from './snapshots.ts';

/** Each retry means that another change succeeded meanwhile. */
const MAX_TRIES = 50;

export interface AdminIndicator extends EditableFacts {
  id: string;
  provider: string;
  enabled: boolean;
  edited: boolean;
  /** As the build would publish it without edits. */
  original: EditableFacts;
  /** The served record; null when it is in no served snapshot. */
  served: IndicatorRecord | null;
  /** Whether the served snapshot shows this state. */
  published: boolean;
  /** Whether its licence allows display only, no export. */
  displayOnly: boolean;
}

export interface IndicatorChange {
  before: AdminIndicator;
  /** The same as `before` when nothing changed. */
  after: AdminIndicator;
}
const overrideFrom = (text: string): StoredOverride => storedOverride.parse(JSON.parse(text));

export class IndicatorAdmin {
  readonly #redis: RedisClient;
  readonly #snapshot: () => ServedSnapshot | null;
  readonly #now: () => number;

  constructor(redis: RedisClient, snapshot: () => ServedSnapshot | null, now: () => number) {
    this.#redis = redis;
    this.#snapshot = snapshot;
    this.#now = now;
  }

  /** Every published or overridden indicator, by name. */
  async list(): Promise<AdminIndicator[]> {
    const texts = await this.#redis.hgetall(redisKeys.overrides);
    const entries = new Map(Object.entries(texts).map(([id, text]) => [id, overrideFrom(text)]));
    const ids = new Set([...(this.#snapshot()?.catalogue.indicators.keys() ?? []), ...entries.keys()]);
    const indicators = [...ids].flatMap((id) => this.#indicator(id, entries.get(id) ?? {}) ?? []);
    return indicators.sort((a, b) => collator.compare(a.name, b.name) || (a.id < b.id ? -1 : 1));
  }

  /** Indicators of the lake that the last build did not publish, except unpublished ones. */
  async excluded(): Promise<ExcludedIndicator[]> {
    const text = await this.#redis.get(redisKeys.excluded);
    return text === null ? [] : excludedIndicators.parse(JSON.parse(text));
  }

  /** @throws {PageError} 404 when it is neither published nor overridden. */
  async get(id: string): Promise<AdminIndicator> {
    return (await this.#read(id)).indicator;
  }

  async setEnabled(id: string, enabled: boolean): Promise<IndicatorChange> {
    return this.#change(id, (indicator, { enabled: _, ...rest }) => {
      if (indicator.enabled === enabled) return null;
      return enabled ? rest : { ...rest, enabled: false };
    });
  }

  /**
   * Overrides only fields that differ from the original, so later upstream corrections of other fields apply.
   * @param version what the operator saw; null changes the sent fields whatever they are now.
   * @returns `conflict`, with the version that its merge is based on, when the form was opened before somebody else's
   *   change; nothing is stored then
   */
  async edit(id: string, sent: SentFacts, version: string | null) {
    const found: { conflict: (Merge & { version: string }) | null } = { conflict: null };
    const change = await this.#change(id, (indicator, override) => {
      const merge = mergeForm(editableFactsOf(indicator), sent, version);
      const isDone = EDITABLE.every((field) => isSame(merge.merged[field], indicator[field]));
      found.conflict =
        merge.changedMeanwhile.length > 0 && !isDone ? { ...merge, version: versionOf(indicator) } : null;
      return found.conflict || isDone
        ? null
        : { ...enabledOf(override), ...editsOf(merge.merged, indicator.original) };
    });
    if (found.conflict) return { ...found.conflict, state: 'conflict' as const };
    const state = change.before === change.after ? ('same' as const) : ('changed' as const);
    return { ...change, state };
  }

  /** Takes all edits back; an unpublished indicator stays unpublished. */
  async reset(id: string): Promise<IndicatorChange> {
    return this.#change(id, (_, override) => (hasEdits(override) ? enabledOf(override) : null));
  }

  /** @param decide the next override, or null to change nothing; called again after a change by somebody else. */
  async #change(
    id: string,
    decide: (indicator: AdminIndicator, override: IndicatorOverride) => IndicatorOverride | null,
  ): Promise<IndicatorChange> {
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const { text: read, stored: current, indicator: before } = await this.#read(id);
      const { original: _, restored_at_ms: __, ...override } = current;
      const next = decide(before, override);
      if (next === null) return { before, after: before };
      const stored = this.#stored(before, next);
      const entry = { id, read, next: stored === null ? '' : JSON.stringify(stored) };
      if (!(await replaceEntries(this.#redis, redisKeys.overrides, [entry]))) continue;
      const after = this.#indicator(id, stored ?? {});
      if (after) return { before, after };
    }
    throw new PageError(503, 'Others keep changing this indicator. Try again in a moment.');
  }

  /** The entry to store; null when the served snapshot knows the original of an indicator without an override. */
  #stored({ id, original }: AdminIndicator, next: IndicatorOverride): StoredOverride | null {
    if (Object.keys(next).length > 0) return { ...next, original };
    const item = this.#snapshot()?.catalogue.indicators.get(id);
    const known = item && (item.original ?? item.record);
    const isKnown = known !== undefined && EDITABLE.every((field) => known[field] === original[field]);
    return isKnown ? null : { original, restored_at_ms: this.#now() };
  }

  /** `text` is the entry in Redis; empty without one. */
  async #read(id: string) {
    const text = (await this.#redis.hget(redisKeys.overrides, id)) ?? '';
    const stored = text === '' ? {} : overrideFrom(text);
    const indicator = this.#indicator(id, stored);
    if (!indicator) throw new PageError(404, `There is no indicator ${id}.`);
    return { text, stored, indicator };
  }

  #indicator(id: string, stored: StoredOverride): AdminIndicator | null {
    const served = this.#snapshot()?.catalogue.indicators.get(id)?.record ?? null;
    const original = this.#original(id, stored);
    if (!original) return null;
    const facts = applyOverride(original, stored);
    const enabled = stored.enabled !== false;
    const isServed = served !== null && EDITABLE.every((field) => served[field] === facts[field]);
    return {
      ...facts,
      id,
      provider: id.slice(0, id.indexOf('.')),
      enabled,
      edited: EDITABLE.some((field) => facts[field] !== original[field]),
      original,
      served,
      published: enabled ? isServed : served === null,
      displayOnly: served?.access_tier === 'display',
    };
  }

  /**
   * A served record with edits says what it would be without them. Otherwise the entry says it, until a snapshot that is
   * newer than the end of the override does.
   */
  #original(id: string, stored: StoredOverride): EditableFacts | null {
    const snapshot = this.#snapshot();
    const item = snapshot?.catalogue.indicators.get(id);
    if (item?.original) return item.original;
    const generated_at_ms = snapshot ? Date.parse(snapshot.manifest.generated_at) : 0;
    const isOver = stored.restored_at_ms !== undefined && stored.restored_at_ms < generated_at_ms;
    if (stored.original && !isOver) return stored.original;
    return item ? editableFactsOf(item.record) : null;
  }
}

const collator = new Intl.Collator('en');

const enabledOf = ({ enabled }: IndicatorOverride): IndicatorOverride =>
  enabled === undefined ? {} : { enabled };

const editsOf = (facts: EditableFacts, original: EditableFacts): IndicatorOverride =>
  Object.fromEntries(
    EDITABLE.filter((field) => !isSame(facts[field], original[field])).map((field) => [field, facts[field]]),
  );

const DIGEST_LENGTH = 8;
const SEPARATOR = '-';

/** Fields as a form sends them; absent ones stay as they are. */
export type SentFacts = Partial<EditableFacts>;

/** Browsers send line breaks as CR LF, and pages trim what is sent. */
const comparable = (value: EditableFacts[EditableField]): unknown =>
  typeof value === 'string' ? value.replaceAll(/\r\n?/g, '\n').trim() || null : value;

const isSame = (a: EditableFacts[EditableField], b: EditableFacts[EditableField]): boolean =>
  comparable(a) === comparable(b);

const digest = (value: EditableFacts[EditableField]): string =>
  createHash('sha256')
    .update(JSON.stringify(comparable(value)))
    .digest('hex')
    .slice(0, DIGEST_LENGTH);

export const versionOf = (facts: EditableFacts): string =>
  EDITABLE.map((field) => digest(facts[field])).join(SEPARATOR);

export interface Merge {
  /** The current facts with the fields that the operator changed. */
  merged: EditableFacts;
  /** Fields that differ from what the operator saw, because somebody else changed them. */
  changedMeanwhile: EditableField[];
  /** Fields that the operator changed. */
  changedByForm: EditableField[];
}

/** @param version what the operator saw; without one, each sent field that differs counts as changed by the form. */
export function mergeForm(current: EditableFacts, sent: SentFacts, version: string | null): Merge {
  const seen = version === null ? null : version.split(SEPARATOR);
  const wasSeen = (field: EditableField, value: EditableFacts[EditableField]): boolean =>
    seen === null ? isSame(value, current[field]) : digest(value) === seen[EDITABLE.indexOf(field)];
  const changedByForm = EDITABLE.filter((field) => {
    const value = sent[field];
    return value !== undefined && !wasSeen(field, value);
  });
  const changes = Object.fromEntries(changedByForm.map((field) => [field, sent[field]]));
  return {
    merged: { ...current, ...changes },
    changedMeanwhile: EDITABLE.filter((field) => !wasSeen(field, current[field])),
    changedByForm,
  };
}
