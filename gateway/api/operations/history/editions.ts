/** GET /editions: all published snapshots. */
import { z } from 'zod';
import { timestamp } from '../../../../data/schema/records.ts';
import {
  editionCounts,
  type LogEntry,
  snapshotCounts,
  snapshotId,
} from '../../../../data/schema/snapshot.ts';
import { defineList } from '../catalogue/list.ts';

const editionRow = z.object({
  id: snapshotId,
  published_at: timestamp,
  base: snapshotId
    .nullable()
    .describe('The snapshot served before, with which `changed` compares; null for the first'),
  counts: snapshotCounts,
  root: z.string().describe('Root of the tree over its indicators, SHA-256'),
  rolled_back: z.boolean().describe('Published and taken back: it answers by its id, never by a date'),
  backfilled: z.boolean().describe('Made afterwards, of a time before the first publication'),
  changed: z
    .record(z.string(), editionCounts)
    .describe('Number of indicators by provider; only those with a change'),
});

export const editions = defineList({
  name: 'listEditions',
  path: '/editions',
  summary: 'Snapshots',
  description:
    'Every published snapshot, newest first. Each answers for ever by `as_of`. What each one changed is in `/changes`.',
  record: editionRow,
  fileName: 'almanac-editions',
  isOfCatalogue: true,
  async list({
    snapshot: {
      generatedAt,
      editions: { all, chain, history },
    },
  }) {
    const served = new Set(chain.map(({ edition }) => edition));
    const shown = await history.shownProviders(all.flatMap(({ changed }) => Object.keys(changed)));
    const records = all.toSorted(newestFirst).map((entry) => JSON.stringify(toRow(entry, served, shown)));
    return { records, meta: { generated_at: generatedAt, count: records.length } };
  },
});

const newestFirst = (a: LogEntry, b: LogEntry): number =>
  a.edition === b.edition ? 0 : a.edition < b.edition ? 1 : -1;

const toRow = (
  { edition: id, published_at, base, counts, root, backfilled, changed }: LogEntry,
  served: ReadonlySet<string>,
  shown: ReadonlySet<string>,
): z.infer<typeof editionRow> => ({
  ...{ id, published_at, base, counts, root },
  rolled_back: !served.has(id),
  backfilled: backfilled ?? false,
  changed: Object.fromEntries(Object.entries(changed).filter(([provider]) => shown.has(provider))),
});
