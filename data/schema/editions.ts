/** Which edition was served when, by the publication log, and whether manifests prove what it says. */
import { isDeepStrictEqual } from 'node:util';
import {
  type EditionLineage,
  editionLineage,
  type LogEntry,
  type Manifest,
  type RollbackRecord,
} from './snapshot.ts';

/**
 * The served edition and those before it, oldest first. Rolled-back ones are left out. Editions that were made from the
 * lake afterwards come before the first one that was published.
 */
export function servedChain(log: readonly LogEntry[], served: string): LogEntry[] {
  const byId = new Map(log.map((entry) => [entry.edition, entry]));
  const chain: LogEntry[] = [];
  for (let entry = byId.get(served); entry; entry = byId.get(entry.base ?? '')) {
    byId.delete(entry.edition);
    chain.unshift(entry);
  }
  const first_ms = chain[0] ? publishedMs(chain[0]) : 0;
  const before = [...byId.values()].filter((entry) => entry.backfilled && publishedMs(entry) < first_ms);
  return [...before.sort((a, b) => publishedMs(a) - publishedMs(b)), ...chain];
}

/** What took back each edition that does not stand; null for one that was never served, as its publication crashed. */
export function takenBack(
  log: { editions: readonly LogEntry[]; rollbacks: readonly RollbackRecord[] },
  served: string,
): Map<string, RollbackRecord | null> {
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
export type ManifestFacts = Pick<Manifest, 'counts' | 'lineage' | 'successor'>;

/** The lineage of each edition by all manifests. */
function provenLineages(manifests: ReadonlyMap<string, ManifestFacts>): Map<string, EditionLineage> {
  const lineages = new Map([...manifests].map(([edition, { lineage }]) => [edition, lineage]));
  for (const [base, { successor }] of manifests) {
    if (successor === undefined) continue;
    const { edition, changes, changed } = successor;
    lineages.set(edition, { ...lineages.get(edition), base, changes, changed });
  }
  return lineages;
}

/**
 * The first entry of a log that says something else than the manifests.
 * @param manifests of all its editions, by id; each is the one that its entry names by hash.
 */
export function contradictedEntry(
  editions: readonly LogEntry[],
  manifests: ReadonlyMap<string, ManifestFacts>,
): LogEntry | undefined {
  const lineages = provenLineages(manifests);
  return editions.find(
    (entry) =>
      !isDeepStrictEqual(lineages.get(entry.edition), editionLineage.parse(entry)) ||
      !isDeepStrictEqual(entry.counts, manifests.get(entry.edition)?.counts),
  );
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
