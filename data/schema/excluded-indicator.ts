/** Indicators that the lake holds and the last build did not publish, as it tells operators of them through Redis. */
import { z } from 'zod';

/** Why: nobody may pass it on; its curated settings say no; it has no figures; its provider is off; real data is there. */
export const LEFT_OUT_REASONS = [
  'not redistributable',
  'curated away',
  'no figures',
  'provider off',
  'sample only',
] as const;

const leftOutIndicator = z.object({
  id: z.string(),
  name: z.string(),
  unit: z.string(),
  topic: z.string(),
  provider: z.string(),
  why: z.enum(LEFT_OUT_REASONS),
});
export type ExcludedIndicator = z.output<typeof leftOutIndicator>;

export const leftOutIndicators = z.array(leftOutIndicator);
