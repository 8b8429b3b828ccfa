/**
 * Which rows count as projected where upstream does not flag them: those from the definition's `projected_from` on, and
 * those after the current year, unless `future_years` calls them observed.
 */
import { z } from 'zod';
import { futureYears, type IndicatorOverlay, type ProviderDefinition } from '../../data/schema/curated.ts';

export const projectionRule = z.object({
  /** First forecast year; null without one. */
  projected_from: z.int().nullable(),
  /** What the definition says of years after the current one; null when it says nothing. */
  future_years: futureYears.nullable(),
});
export type ProjectionRule = z.infer<typeof projectionRule>;

export const projectionRuleOf = (
  definition: Pick<ProviderDefinition, 'projected_from' | 'future_years'>,
  overlay: Pick<IndicatorOverlay, 'projected_from' | 'future_years'>,
): ProjectionRule => ({
  projected_from: overlay.projected_from ?? definition.projected_from ?? null,
  future_years: overlay.future_years ?? definition.future_years ?? null,
});

/** The calendar year of an instant, UTC. */
export const yearOf = (instant: number): number => new Date(instant).getUTCFullYear();

/** First projected year for rows without a flag; infinite when there is none. */
export function firstProjectedYear(rule: ProjectionRule, currentYear: number): number {
  const { projected_from: from, future_years: future } = rule;
  return Math.min(
    from ?? Number.POSITIVE_INFINITY,
    future === 'observed' ? Number.POSITIVE_INFINITY : currentYear + 1,
  );
}

/** Those of the years that only the clock makes projections: the definition has no rule for them. */
export const yearsWithoutRule = (
  rule: ProjectionRule,
  years: readonly number[],
  currentYear: number,
): number[] =>
  rule.future_years === null
    ? years.filter((year) => year > currentYear && year < (rule.projected_from ?? Number.POSITIVE_INFINITY))
    : [];
