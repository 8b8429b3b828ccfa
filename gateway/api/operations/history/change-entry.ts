/** What one snapshot changed, as `/changes` lists it. */
import { z } from 'zod';
import { indicatorId, timestamp } from '../../../../data/schema/records.ts';
import { snapshotId } from '../../../../data/schema/snapshot.ts';

export const changeEntry = z.object({
  edition: snapshotId,
  published_at: timestamp,
  base: snapshotId
    .nullable()
    .describe('The snapshot served before; null for the first, which is compared with none'),
  added: z.array(indicatorId),
  withdrawn: z.array(indicatorId),
  renamed: z.array(z.object({ from: indicatorId, to: indicatorId })),
  revised: z
    .array(
      z.object({
        indicator: indicatorId,
        added: z.int().describe('Figures'),
        changed: z.int(),
        withdrawn: z.int(),
        restored: z.int(),
      }),
    )
    .describe('Number of figures by kind; the figures are in `/revisions`'),
});
export type ChangeEntry = z.infer<typeof changeEntry>;
