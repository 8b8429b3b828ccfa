/** GET /editions: all published snapshots. */
import { z } from 'zod';
import { isWithheld, type WithheldRecord } from '../../../../data/runtime/withheld.ts';
import { takenBack } from '../../../../data/schema/editions.ts';
import { timestamp } from '../../../../data/schema/records.ts';
import {
  editionCounts,
  type LogEntry,
  type RollbackRecord,
  snapshotCounts,
  snapshotId,
} from '../../../../data/schema/snapshot.ts';
import { defineList } from '../catalogue/list.ts';

/** A decision to withhold, without the names of what does not exist any more. */
export const withholding = z.object({
  at: timestamp,
  reason: z.string(),
  indicators: z.int().describe('How many were deleted'),
});

/** The decisions that deleted something. @param snapshot from this one only */
export function withholdings({ decisions, tombstones }: WithheldRecord, snapshot?: string) {
  const deleted = tombstones.filter((one) => snapshot === undefined || one.snapshot === snapshot);
  return decisions.flatMap((decision): z.infer<typeof withholding>[] => {
    const ids = deleted.filter(({ indicator }) =>
      isWithheld({ decisions: [decision], tombstones, lists: {} }, indicator),
    );
    const indicators = new Set(ids.map(({ indicator }) => indicator)).size;
    const { withheld_at: at, reason } = decision;
    return indicators === 0 ? [] : [{ at, reason, indicators }];
  });
}

const editionRow = z.object({
  id: snapshotId,
  published_at: timestamp,
  base: snapshotId
    .nullable()
    .describe('The snapshot served before, with which `changed` compares; null for the first'),
  counts: snapshotCounts,
  root: z.string().describe('Root of the tree over its indicators, SHA-256'),
  rolled_back: z.boolean().describe('Served and taken back: it answers by its id, never by a date'),
  rolled_back_at: timestamp.nullable(),
  rollback_reason: z.string().nullable().describe('Null where none was given'),
  never_served: z
    .boolean()
    .describe('In the log, but its publication broke off: it answers by its id, never by a date'),
  backfilled: z.boolean().describe('Made afterwards, of a time before the first publication'),
  changed: z
    .record(z.string(), editionCounts)
    .describe('Number of indicators by provider; only those with a change'),
  withheld: z.array(withholding).describe('What was deleted from it since, where law demanded it'),
});

/** What took back an edition that does not stand; null where it was never served. */
type Fate = RollbackRecord | null | undefined;

export const editions = defineList({
  name: 'listEditions',
  path: '/editions',
  summary: 'Snapshots',
  description:
    'Every published snapshot, newest first. Each answers for ever by its id as `as_of`. What each one changed is in `/changes`.',
  record: editionRow,
  fileName: 'almanac-editions',
  isOfCatalogue: true,
  async list({ snapshot: { id, generatedAt, editions } }) {
    const { all, rollbacks, history } = editions;
    const others = takenBack({ editions: all, rollbacks }, id);
    const shown = await history.shownProviders(all.flatMap(({ changed }) => Object.keys(changed)));
    const withheld = await editions.withheld();
    const records = all
      .toSorted(newestFirst)
      .map((entry) => JSON.stringify(toRow(entry, others.get(entry.edition), { shown, withheld })));
    return { records, meta: { generated_at: generatedAt, count: records.length } };
  },
});

const newestFirst = (a: LogEntry, b: LogEntry): number =>
  a.edition === b.edition ? 0 : a.edition < b.edition ? 1 : -1;

const toRow = (
  { edition: id, published_at, base, counts, root, backfilled, changed }: LogEntry,
  fate: Fate,
  { shown, withheld }: { shown: ReadonlySet<string>; withheld: WithheldRecord },
): z.infer<typeof editionRow> => ({
  id,
  published_at,
  base,
  counts,
  root,
  rolled_back: fate !== undefined && fate !== null,
  rolled_back_at: fate?.at ?? null,
  rollback_reason: fate?.reason ?? null,
  never_served: fate === null,
  backfilled: backfilled ?? false,
  changed: Object.fromEntries(Object.entries(changed).filter(([provider]) => shown.has(provider))),
  withheld: withholdings(withheld, id),
});
