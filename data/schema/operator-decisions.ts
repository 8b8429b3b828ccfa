/**
 * What operators decide about providers and about licences of single series. Redis keeps it and every build obeys it. A
 * decision is never deleted, only replaced, so that nothing comes back by itself.
 */
import { z } from 'zod';

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

export const licenceDecision = z.discriminatedUnion('publish', [
  decision.extend({
    publish: z.enum(['open', 'display']),
    licence: z.string().min(1),
    licence_url: z.url().nullable(),
    /** The credit line; null for the one that the provider's definition makes. */
    attribution: z.string().min(1).nullable(),
  }),
  decision.extend({ publish: z.literal('withhold') }),
]);
export type LicenceDecision = z.infer<typeof licenceDecision>;

export interface OperatorDecisions {
  /** By provider id. */
  providers: ReadonlyMap<string, ProviderDecision>;
  /** By indicator id. */
  licences: ReadonlyMap<string, LicenceDecision>;
}

export const NO_DECISIONS: OperatorDecisions = { providers: new Map(), licences: new Map() };

/** JSON by id, as Redis stores it. */
export interface StoredDecisions {
  providers: Record<string, string>;
  licences: Record<string, string>;
}

/** @throws {Error} for an invalid entry: skipping it could publish what must not be. */
export function parseDecisions({ providers, licences }: StoredDecisions): OperatorDecisions {
  const parse = <One>(schema: z.ZodType<One>, stored: Record<string, string>): Map<string, One> =>
    new Map(Object.entries(stored).map(([id, text]) => [id, schema.parse(JSON.parse(text))]));
  return { providers: parse(providerDecision, providers), licences: parse(licenceDecision, licences) };
}
