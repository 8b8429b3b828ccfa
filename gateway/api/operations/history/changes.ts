/** GET /changes: what each snapshot changed, as a list or as an Atom feed. */
import { z } from 'zod';
import type { EditionChanges, LogEntry } from '../../../../data/schema/snapshot.ts';
import { ATOM_TYPE } from '../../encoders/documents/atom.ts';
import type { Edition } from '../../snapshot/editions/edition.ts';
import { defineList } from '../catalogue/list-formats.ts';
import { count } from '../envelope.ts';
import { type AsOf, type Content, document, type Planned, sentOnly } from '../operation.ts';
import { type ChangeEntry, changeEntry } from './change-entry.ts';
import { changesFeed } from './changes-feed.ts';
import { positionOf, since } from './since.ts';

/** Editions in one answer. A night may revise thousands of indicators. */
const EDITIONS_MAX = 30;

const entries = z.array(changeEntry);

export const changes = defineList({
  name: 'listChanges',
  path: '/changes',
  tag: 'Catalogue',
  summary: 'What each snapshot changed',
  description:
    `An entry for each snapshot that was served, newest first: indicators added, withdrawn, renamed and revised. At most ` +
    `${EDITIONS_MAX}: the newest, or with \`since\` the oldest after it. \`meta.more\` tells whether there are more; pass the ` +
    'newest id of an answer as `since` to get the next. Snapshots that were rolled back are left out. `format=atom` is for feed ' +
    'readers.',
  needsKey: false,
  priceText: 'free',
  isCacheable: true,
  pathParameters: {},
  query: z.object({ since: since().optional() }),
  record: changeEntry,
  meta: {
    count,
    more: z.boolean().describe('Whether there are more entries than these'),
    since: z.string().optional(),
  },
  fileName: 'almanac-changes',
  otherFormats: [
    {
      name: 'atom',
      mediaType: ATOM_TYPE,
      documentation: 'An Atom feed (RFC 4287): an entry for each snapshot.',
      write: (records, { generatedAt, editions: { all } }) =>
        changesFeed(entries.parse(records), all[0]?.manifest ?? '', generatedAt),
    },
  ],
  errors: ['edition_not_found'],
  plan({ snapshot, query: { since: sent } }): Planned {
    const after = positionOf(sent, snapshot.editions);
    if (typeof after !== 'number') return after;
    const produce = (): Promise<Content> => listChanges(snapshot, after, sent);
    return { kind: 'plan', price: 0, rows: 0, produce };
  },
});

async function listChanges(
  { generatedAt, editions: { chain, history } }: Edition,
  after: number,
  sent: AsOf | undefined,
): Promise<Content> {
  const found = chain.slice(after + 1);
  const listed = sent === undefined ? found.slice(-EDITIONS_MAX) : found.slice(0, EDITIONS_MAX);
  const data: ChangeEntry[] = [];
  for (const entry of listed.toReversed()) data.push(toEntry(entry, await history.shownChanges(entry)));
  const meta = {
    generated_at: generatedAt,
    count: data.length,
    more: found.length > listed.length,
    ...sentOnly({ since: sent?.sent }),
  };
  return document(JSON.stringify({ data, meta }));
}

const toEntry = (
  { edition, published_at, base }: LogEntry,
  { added, withdrawn, renamed, revised }: EditionChanges,
): ChangeEntry => ({
  ...{ edition, published_at, base, added, withdrawn, renamed },
  revised: Object.entries(revised).map(([indicator, { file: _, ...counts }]) => ({ indicator, ...counts })),
});
