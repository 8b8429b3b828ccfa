/** Which indicators left the editions that were served, one after the other. */
import { servedChain } from '../../../data/schema/editions.ts';
import { editionChanges, type LogEntry } from '../../../data/schema/snapshot.ts';
import type { SnapshotStorage } from '../snapshot-storage.ts';

/** Indicators of `base` that the edition after it no longer has, under that id. */
export interface Departure {
  base: string;
  indicators: string[];
}

/** What was served up to an edition. Rolled-back editions do not count. */
export interface ServedHistory {
  /** Newest first. */
  departures: readonly Departure[];
  /** The date (UTC) of the oldest edition; null where nothing is served. */
  firstDate: string | null;
}

const departed = editionChanges.pick({ withdrawn: true, renamed: true });

/** @param served the edition up to which is read; null where nothing is served. */
export async function readServedHistory(
  storage: SnapshotStorage,
  served: string | null,
): Promise<ServedHistory> {
  if (served === null) return { departures: [], firstDate: null };
  const chain = servedChain((await storage.log()).editions, served);
  const departures: Departure[] = [];
  for (const { base, changes, changed } of chain.toReversed()) {
    if (base === null || changes === null || !hasDepartures(changed)) continue;
    const { withdrawn, renamed } = departed.parse(JSON.parse(await storage.readText(changes)));
    departures.push({ base, indicators: [...withdrawn, ...renamed.map(({ from }) => from)] });
  }
  return { departures, firstDate: chain[0]?.published_at.slice(0, 10) ?? null };
}

const hasDepartures = (changed: LogEntry['changed']): boolean =>
  Object.values(changed).some(({ withdrawn, renamed }) => withdrawn > 0 || renamed > 0);
