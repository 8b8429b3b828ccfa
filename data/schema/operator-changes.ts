/**
 * What operators change: facts of single indicators (overrides), and decisions about providers and licences of single
 * series. Redis keeps it and every build obeys it. A decision is never deleted, only replaced, so that nothing comes back by
 * itself.
 */
import { z } from 'zod';
import { topicSlug } from './curated.ts';
import { type QualityDecision, qualityDecision, qualityDecisionWord } from './quality.ts';
import { indicatorRecord } from './records.ts';

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
export type EditableField = keyof EditableFacts;
/** Fields of the public record that operators edit. */
export const EDITABLE = Object.keys(editableFacts.shape) as EditableField[];

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

/** Skips invalid entries, so that they cannot fail a build. @param stored JSON by indicator id. */
export function parseOverrides(stored: Readonly<Record<string, string>>): Overrides {
  const overrides = new Map<string, IndicatorOverride>();
  for (const [id, text] of Object.entries(stored)) {
    try {
      overrides.set(id, indicatorOverride.parse(JSON.parse(text)));
    } catch {
      // The entry stays for the operator to correct.
    }
  }
  return overrides;
}

const decision = z.object({
  /** For other operators, and for the audit log. */
  reason: z.string().min(1),
  /** E-mail address of the operator. */
  by: z.string(),
  decided_at_ms: z.number(),
});

export const providerDecision = decision.extend({
  /** False keeps the provider out of every build, and today's decisions govern all snapshots. */
  enabled: z.boolean(),
});
export type ProviderDecision = z.infer<typeof providerDecision>;

export const LICENCE_WORDS = ['open', 'display', 'withhold'] as const;

const aboutLicence = decision.extend({
  /** Whose terms, or which reason, withheld the series before it was decided: what is decided by collector is found by it. */
  withheld_by: z.string().optional(),
});

export const licenceDecision = z.discriminatedUnion('publish', [
  aboutLicence.extend({
    publish: z.enum(['open', 'display']),
    licence: z.string().min(1),
    licence_url: z.url().nullable(),
    /** The credit line; null for the one that the provider's definition makes. */
    attribution: z.string().min(1).nullable(),
  }),
  aboutLicence.extend({ publish: z.literal('withhold') }),
]);
export type LicenceDecision = z.infer<typeof licenceDecision>;

/** What an operator decided about a finding of the quality report. */
export const findingDecision = decision.extend({
  ...qualityDecision.pick({ kind: true, subject: true, other: true, extent: true }).shape,
  /** `snooze` decides nothing: operators are not asked again until a day, unless it gets worse. */
  decision: z.enum([...qualityDecisionWord.options, 'snooze']),
  /** The last day (UTC) of a snooze; null for the others. */
  until: z.iso.date().nullable(),
});
export type FindingDecision = z.infer<typeof findingDecision>;

/** As a row of `data/quality-decisions.csv`; none for a snooze. */
function qualityRow({ decision, decided_at_ms, kind, subject, other, extent, by, reason }: FindingDecision) {
  if (decision === 'snooze') return [];
  const on = new Date(decided_at_ms).toISOString().slice(0, 10);
  return [{ kind, subject, other, extent, decision, by, on, reason }];
}

export interface OperatorDecisions {
  /** By provider id. */
  providers: ReadonlyMap<string, ProviderDecision>;
  /** By indicator id. */
  licences: ReadonlyMap<string, LicenceDecision>;
  /** About findings; they come before the rows of `data/quality-decisions.csv`. */
  findings: readonly QualityDecision[];
}

export const NO_DECISIONS: OperatorDecisions = { providers: new Map(), licences: new Map(), findings: [] };

/** JSON by id, as Redis stores it. */
export type StoredDecisions = Record<keyof OperatorDecisions, Record<string, string>>;

/** @throws {Error} for an invalid entry: skipping it could publish what must not be. */
export function parseDecisions({ providers, licences, findings }: StoredDecisions): OperatorDecisions {
  const parse = <One>(schema: z.ZodType<One>, stored: Record<string, string>): Map<string, One> =>
    new Map(Object.entries(stored).map(([id, text]) => [id, schema.parse(JSON.parse(text))]));
  return {
    providers: parse(providerDecision, providers),
    licences: parse(licenceDecision, licences),
    findings: [...parse(findingDecision, findings).values()].flatMap(qualityRow),
  };
}
