/** What divides a series from others, as the build reads it once: for the search, twins and what is derived. */
import { z } from 'zod';

/** What tells a series from others of its subject, as the build reads it once from its name, its unit and its concept. */
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
});
export type SeriesTraits = z.infer<typeof seriesTraits>;
