/** The operators' overrides of an indicator. Redis keeps them; every build reads them. */
import { z } from 'zod';
import { topicSlug } from './curated.ts';
import { indicatorRecord } from './records.ts';

/** Fields of the public record that operators edit. */
export const EDITABLE = [
  'name',
  'description',
  'unit',
  'topic',
  'higher_is_better',
  'featured',
  'no_rank',
] as const satisfies (keyof z.infer<typeof indicatorRecord>)[];
export type EditableField = (typeof EDITABLE)[number];

export const editableFacts = indicatorRecord.pick({
  name: true,
  description: true,
  unit: true,
  topic: true,
  higher_is_better: true,
  featured: true,
  no_rank: true,
});
export type EditableFacts = z.infer<typeof editableFacts>;

export const indicatorOverride = editableFacts.partial().extend({
  /** False removes the indicator, its data and its rankings from every public route. */
  enabled: z.boolean().optional(),
  name: z.string().min(1).optional(),
  /** Null or an empty text: none. The same holds for the unit. */
  description: z.string().nullable().optional(),
  topic: topicSlug.optional(),
});
export type IndicatorOverride = z.infer<typeof indicatorOverride>;
/** By indicator id. */
export type Overrides = ReadonlyMap<string, IndicatorOverride>;

/** An override as the operator area stores it. */
export const storedOverride = indicatorOverride.extend({
  /** The facts without the override. An unpublished indicator is in no snapshot, but must still be found and restored. */
  original: editableFacts.optional(),
  /** When the override was taken back. The entry stays until a newer snapshot shows the original. */
  restored_at_ms: z.number().optional(),
});
export type StoredOverride = z.infer<typeof storedOverride>;

export const editableFactsOf = (record: EditableFacts): EditableFacts => editableFacts.parse(record);

/** Whether an override changes the record, beyond publishing or unpublishing it. */
export const hasEdits = (override: IndicatorOverride): boolean =>
  EDITABLE.some((field) => override[field] !== undefined);

/** The record with the edits of an override. */
export function applyOverride<Facts extends EditableFacts>(
  record: Facts,
  override: IndicatorOverride,
): Facts {
  const edits = Object.fromEntries(
    EDITABLE.filter((field) => override[field] !== undefined).map((field) => [field, override[field]]),
  );
  const edited = { ...record, ...edits };
  return { ...edited, description: edited.description || null, unit: edited.unit || null };
}
