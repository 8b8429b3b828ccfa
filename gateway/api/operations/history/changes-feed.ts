/** The changes of snapshots as an Atom feed. */
import { atomFeed, type FeedSection, urnOf } from '../../encoders/documents/atom.ts';
import type { ChangeEntry } from './change-entry.ts';

/** Indicators by name in one section; the JSON form lists all. */
const ITEMS_MAX = 100;

/**
 * @param origin names this collection of snapshots for ever: the hash of its first manifest.
 * @param updated for a feed without entries.
 */
export const changesFeed = (entries: readonly ChangeEntry[], origin: string, updated: string): Buffer =>
  atomFeed({
    id: urnOf(`${origin} changes`),
    title: 'Almanac: changes of snapshots',
    updated: entries[0]?.published_at ?? updated,
    self: 'changes?format=atom',
    entries: entries.map((entry) => ({
      id: urnOf(`${origin} changes ${entry.edition}`),
      title: `Snapshot ${entry.edition}`,
      updated: entry.published_at,
      summary: summaryOf(entry),
      link: `indicators?as_of=${entry.edition}`,
      sections: sectionsOf(entry),
    })),
  });

function summaryOf({ base, added, withdrawn, renamed, revised }: ChangeEntry): string {
  if (base === null) return 'The first snapshot.';
  const counts = { added, withdrawn, renamed, revised };
  const parts = Object.entries(counts).flatMap(([what, list]) =>
    list.length === 0 ? [] : [`${list.length} ${what}`],
  );
  return parts.length === 0 ? 'No indicator changed.' : `Indicators: ${parts.join(', ')}.`;
}

function sectionsOf({ added, withdrawn, renamed, revised }: ChangeEntry): FeedSection[] {
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
  };
  return Object.entries(lists).flatMap(([heading, items]) => {
    if (items.length === 0) return [];
    const more = items.length > ITEMS_MAX ? [`and ${items.length - ITEMS_MAX} more`] : [];
    return [{ heading, items: [...items.slice(0, ITEMS_MAX), ...more] }];
  });
}
