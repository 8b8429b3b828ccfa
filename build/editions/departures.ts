/** Which indicators left the editions that were served, one after the other. */
import { servedChain } from '../../data/schema/editions.ts';
import { editionChanges, type LogEntry } from '../../data/schema/snapshot.ts';
import type { SnapshotStorage } from '../publish/snapshot-storage.ts';

/** Indicators of `base` that the edition after it no longer has, under that id. */
export interface Departure {
  base: string;
  indicators: string[];
}

const departures = editionChanges.pick({ withdrawn: true, renamed: true });

/** Those up to a served edition, newest first. Rolled-back editions do not count. */
export async function departuresUpTo(storage: SnapshotStorage, served: string): Promise<Departure[]> {
  const found: Departure[] = [];
  for (const { base, changes, changed } of servedChain((await storage.log()).editions, served).toReversed()) {
    if (base === null || changes === null || !hasDepartures(changed)) continue;
    const { withdrawn, renamed } = departures.parse(JSON.parse(await storage.readText(changes)));
    found.push({ base, indicators: [...withdrawn, ...renamed.map(({ from }) => from)] });
  }
  return found;
}

const hasDepartures = (changed: LogEntry['changed']): boolean =>
  Object.values(changed).some(({ withdrawn, renamed }) => withdrawn > 0 || renamed > 0);

/** All ids that left the editions up to a served one, and the date (UTC) of the oldest. Null: nothing is served. */
export async function servedHistory(
  storage: SnapshotStorage,
  served: string | null,
): Promise<{ departed: ReadonlySet<string>; firstDate: string | null }> {
  if (served === null) return { departed: new Set(), firstDate: null };
  const [oldest] = servedChain((await storage.log()).editions, served);
  const departures = await departuresUpTo(storage, served);
  return {
    departed: new Set(departures.flatMap(({ indicators }) => indicators)),
    firstDate: oldest?.published_at.slice(0, 10) ?? null,
  };
}
