/** Which edition was served when, by the publication log, and whether manifests prove what it says. */
import { isDeepStrictEqual } from 'node:util';
import { editionLineage, type LogEntry, type Manifest, type RollbackRecord } from './snapshot.ts';

/** The served edition and those before it, oldest first. Rolled-back ones are left out. */
export function servedChain(log: readonly LogEntry[], served: string): LogEntry[] {
  const byId = new Map(log.map((entry) => [entry.edition, entry]));
  const chain: LogEntry[] = [];
  for (let entry = byId.get(served); entry; entry = byId.get(entry.base ?? '')) {
    byId.delete(entry.edition);
    chain.unshift(entry);
  }
  return chain;
}

/** A log with all its rollbacks. */
interface RecordedLog {
  editions: readonly LogEntry[];
  rollbacks: readonly RollbackRecord[];
}

/** What took back each edition that does not stand; null for one that was never served, as its publication crashed. */
export function takenBack(log: RecordedLog, served: string): Map<string, RollbackRecord | null> {
  const idsOf = (edition: string): Set<string> =>
    new Set(servedChain(log.editions, edition).map((entry) => entry.edition));
  const moves = log.rollbacks.map((record) => {
    const kept = idsOf(record.to);
    return { record, lost: new Set([...idsOf(record.from)].filter((id) => !kept.has(id))) };
  });
  const standing = idsOf(served);
  const others = log.editions.filter(({ edition }) => !standing.has(edition));
  return new Map(
    others.map(({ edition }) => [edition, moves.findLast(({ lost }) => lost.has(edition))?.record ?? null]),
  );
}

/** What a manifest says of an edition, of which the log holds a copy. */
export type ManifestFacts = Pick<Manifest, 'counts' | 'lineage'>;

/**
 * The first entry of a log that says something else than the manifests.
 * @param manifests of all its editions, by id; each is the one that its entry names by hash.
 */
export function contradictedEntry(
  editions: readonly LogEntry[],
  manifests: ReadonlyMap<string, ManifestFacts>,
): LogEntry | undefined {
  return editions.find((entry) => {
    const proven = manifests.get(entry.edition);
    return (
      !isDeepStrictEqual(proven?.lineage, editionLineage.parse(entry)) ||
      !isDeepStrictEqual(proven?.counts, entry.counts)
    );
  });
}

export const publishedMs = ({ published_at }: LogEntry): number => Date.parse(published_at);

/** Columns of the revisions of one indicator in one edition, sorted by iso3, year. `old_` is the base edition. */
export const EDITION_REVISION_COLUMNS = {
  iso3: 'VARCHAR',
  year: 'INTEGER',
  kind: 'VARCHAR', // added, changed, withdrawn, restored
  old_value: 'DOUBLE',
  new_value: 'DOUBLE',
  old_ci_lo: 'DOUBLE',
  new_ci_lo: 'DOUBLE',
  old_ci_hi: 'DOUBLE',
  new_ci_hi: 'DOUBLE',
  old_status: 'VARCHAR',
  new_status: 'VARCHAR',
  old_projected: 'BOOLEAN',
  new_projected: 'BOOLEAN',
} as const;
