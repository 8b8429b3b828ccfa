/** What the build reads once of a series, from its name, its unit and the curated tables. */
import { z } from 'zod';
import { MEASURES } from '../derived/transforms.ts';
import { indicatorId } from './records.ts';

/** What a series measures, and so which figures may be derived from it. */
export const seriesMeasure = z.object({
  measure: z.enum(MEASURES),
  /** How figures of members give the figure of a group. */
  aggregate: z.enum(['sum', 'mean', 'none']),
  /** Indicator id of the denominator of a mean. */
  weight: indicatorId.nullable(),
  /**
   * Indicator id of the population of the same provider (or the first one held) where figures per head make sense; else
   * null.
   */
  population: indicatorId.nullable(),
  /** What decided it; null for a series that is `other` for want of a decision. */
  decided_by: z.enum(['row', 'provider', 'rule']).nullable(),
});
export type SeriesMeasure = z.infer<typeof seriesMeasure>;

export const UNDECIDED: SeriesMeasure = {
  measure: 'other',
  aggregate: 'none',
  weight: null,
  population: null,
  decided_by: null,
};

/** What tells a series from others of its subject, and what it measures. */
export const seriesTraits = z.object({
  /** Null for a series that is alone: of no concept. */
  concept: z.string().nullable(),
  sex: z.enum(['female', 'male']).nullable(),
  /** `15-24`, `65+`. */
  age: z.string().nullable(),
  /** In one spelling, without its base: `%`, `count`, `per 1000 people`. */
  unit: z.string().nullable(),
  /** The power of ten of its figures: 6 for millions. */
  scale: z.int(),
  /** Other words that split a subject: urban, primary, exports, growth, ppp. */
  variants: z.array(z.string()),
  measured: seriesMeasure,
});
export type SeriesTraits = z.infer<typeof seriesTraits>;
