/** Indicators in the lake that the last build did not publish, as it reports them to operators through Redis. */
import { z } from 'zod';

/** Not redistributable; withheld by a quality decision; disabled by its overlay; without data; of a disabled provider. */
export const EXCLUSION_REASONS = [
  'not redistributable',
  'withheld',
  'curated away',
  'no figures',
  'provider off',
] as const;

const excludedIndicator = z.object({
  id: z.string(),
  name: z.string(),
  unit: z.string(),
  topic: z.string(),
  provider: z.string(),
  why: z.enum(EXCLUSION_REASONS),
  /** Whose terms or which decision withhold it. Absent for other reasons. */
  detail: z.string().optional(),
});
export type ExcludedIndicator = z.output<typeof excludedIndicator>;

export const excludedIndicators = z.array(excludedIndicator);
