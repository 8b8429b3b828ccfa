/** GET /changes: what each snapshot changed, as a list or as an Atom feed. */
import { z } from 'zod';
import { indicatorId, redefinition, timestamp } from '../../../../data/schema/records.ts';
import {
  type EditionChanges,
  type LogEntry,
  rollbackRecord,
  snapshotId,
} from '../../../../data/schema/snapshot.ts';
import { ATOM_TYPE, atomFeed, type FeedSection, urnOf } from '../../encoders/encoders.ts';
import { defineList } from '../catalogue/list.ts';
import { momentOf, positionOf, since } from '../parameters/as-of.ts';
import { withholding, withholdings } from './editions.ts';

/** What one snapshot changed. */
const changeEntry = z.object({
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
  redefined: z
    .array(redefinition)
    .describe(
      'Another name, unit or definition than before; of an indicator that came back, than when it went',
    ),
});
export type ChangeEntry = z.infer<typeof changeEntry>;

/** Editions in one answer. A night may revise thousands of indicators. */
const EDITIONS_MAX = 30;

export const changes = defineList({
  name: 'listChanges',
  path: '/changes',
  summary: 'What each snapshot changed',
  description:
    `An entry for each snapshot that was served, newest first: indicators added, withdrawn, renamed, revised and redefined. At most ` +
    `${EDITIONS_MAX}: the newest, or with \`since\` the oldest after it. \`meta.more\` tells whether there are more; pass the ` +
    'newest id of an answer as `since` to get the next. Snapshots that were rolled back or never served are left out; `meta` says when and why. `format=atom` is for feed ' +
    'readers.',
  query: z.object({ since: since().optional() }),
  record: changeEntry,
  meta: {
    more: z.boolean().describe('Whether there are more entries than these'),
    since: z.string().optional(),
    rollbacks: z
      .array(rollbackRecord)
      .describe('When `from` was taken back and `to` served again, and why, oldest first; after `since`'),
    withheld: z
      .array(withholding)
      .describe('What was deleted from all snapshots where law demanded it, and when; after `since`'),
  },
  fileName: 'almanac-changes',
  otherFormats: [
    {
      name: 'atom',
      mediaType: ATOM_TYPE,
      documentation: 'An Atom feed (RFC 4287): an entry for each snapshot.',
      write: (records, { generatedAt, editions: { all } }) =>
        changesFeed(records as unknown as ChangeEntry[], all[0]?.manifest ?? '', generatedAt),
    },
  ],
  errors: ['edition_not_found'],
  async list({ snapshot: { generatedAt, editions }, query: { since: sent } }) {
    const after = positionOf(sent, editions);
    if (typeof after !== 'number') return after;
    const found = editions.chain.slice(after + 1);
    const listed = sent === undefined ? found.slice(-EDITIONS_MAX) : found.slice(0, EDITIONS_MAX);
    const records: string[] = [];
    for (const entry of listed.toReversed())
      records.push(JSON.stringify(toEntry(entry, await editions.history.shownChanges(entry))));
    const after_ms = momentOf(sent, editions);
    const isAfter = ({ at }: { at: string }): boolean => after_ms === null || Date.parse(at) > after_ms;
    const meta = {
      generated_at: generatedAt,
      count: records.length,
      more: found.length > listed.length,
      since: sent?.sent,
      rollbacks: editions.rollbacks.filter(isAfter),
      withheld: withholdings(await editions.withheld()).filter(isAfter),
    };
    return { records, meta };
  },
});

const toEntry = (
  { edition, published_at, base }: LogEntry,
  { added, withdrawn, renamed, revised, redefined }: EditionChanges,
): ChangeEntry => ({
  edition,
  published_at,
  base,
  added,
  withdrawn,
  renamed,
  revised: Object.entries(revised).map(([indicator, { file: _, ...counts }]) => ({ indicator, ...counts })),
  redefined,
});

/** Indicators by name in one section; the JSON form lists all. */
const ITEMS_MAX = 100;

/**
 * @param origin names this collection of snapshots for ever: the hash of its first manifest.
 * @param updated for a feed without entries.
 */
const changesFeed = (entries: readonly ChangeEntry[], origin: string, updated: string): Buffer =>
  atomFeed({
    id: urnOf(`${origin} changes`),
    title: 'Almanac: changes of snapshots',
    updated: entries[0]?.published_at ?? updated,
    self: 'changes?format=atom',
    entries: entries.map((entry) => ({
      id: urnOf(`${origin} changes ${entry.edition}`),
      title: `Snapshot ${entry.edition}`,
      updated: entry.published_at,
      summary: summarise(entry),
      link: `indicators?as_of=${entry.edition}`,
      sections: feedSections(entry),
    })),
  });

function summarise({ base, added, withdrawn, renamed, revised, redefined }: ChangeEntry): string {
  if (base === null) return 'The first snapshot.';
  const counts = { added, withdrawn, renamed, revised, redefined };
  const parts = Object.entries(counts).flatMap(([what, list]) =>
    list.length === 0 ? [] : [`${list.length} ${what}`],
  );
  return parts.length === 0 ? 'No indicator changed.' : `Indicators: ${parts.join(', ')}.`;
}

function feedSections({ added, withdrawn, renamed, revised, redefined }: ChangeEntry): FeedSection[] {
  const lists: Record<string, string[]> = {
    Added: added,
    Withdrawn: withdrawn,
    Renamed: renamed.map(({ from, to }) => `${from} → ${to}`),
    Revised: revised.map(
      ({ indicator, ...counts }) =>
        `${indicator}: ${Object.entries(counts)
          .filter(([, figures]) => figures > 0)
          .map(([kind, figures]) => `${figures} ${kind}`)
          .join(', ')}`,
    ),
    Redefined: redefined.map(
      ({ indicator, ...texts }) =>
        `${indicator}: ${Object.entries(texts)
          .flatMap(([what, text]) => (text ? [`${what} “${text.old ?? ''}” → “${text.new ?? ''}”`] : []))
          .join('; ')}`,
    ),
  };
  return Object.entries(lists).flatMap(([heading, items]) => {
    if (items.length === 0) return [];
    const more = items.length > ITEMS_MAX ? [`and ${items.length - ITEMS_MAX} more`] : [];
    return [{ heading, items: [...items.slice(0, ITEMS_MAX), ...more] }];
  });
}
