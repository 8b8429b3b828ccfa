/** The operators' overrides of an indicator. Redis keeps them; every build reads them. */
import { z } from 'zod';

export const indicatorOverride = z.object({
  /** False removes the indicator, its data and its rankings from every public route. */
  enabled: z.boolean().optional(),
  name: z.string().min(1).optional(),
  /** Null or an empty text: none. */
  description: z.string().nullable().optional(),
  unit: z.string().nullable().optional(),
});
export type IndicatorOverride = z.infer<typeof indicatorOverride>;
/** By indicator id. */
export type Overrides = ReadonlyMap<string, IndicatorOverride>;
