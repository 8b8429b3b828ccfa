/** Indicators in the lake that the last build did not publish, as it reports them to operators through Redis. */
import { z } from 'zod';

/** Not redistributable; disabled by its overlay; without data; of a disabled provider; a sample beside real data. */
export const EXCLUSION_REASONS = [
  'not redistributable',
  'curated away',
  'no figures',
  'provider off',
  'sample only',
] as const;

const excludedIndicator = z.object({
  id: z.string(),
  name: z.string(),
  unit: z.string(),
  topic: z.string(),
  provider: z.string(),
  why: z.enum(EXCLUSION_REASONS),
});
export type ExcludedIndicator = z.output<typeof excludedIndicator>;

export const excludedIndicators = z.array(excludedIndicator);
