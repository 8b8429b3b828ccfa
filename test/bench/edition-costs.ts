/** What editions cost a build: time for trees and signature, and bytes that stay. */
import type { SnapshotStorage } from '../../build/editions/snapshot-storage.ts';
import { type EditionChanges, editionChanges, type FileRef } from '../../data/schema/snapshot.ts';
import type { Built } from './edition-nights.ts';
import type { Row } from './report.ts';

const KILOBYTE = 1024;

/** What stays for ever of an edition, by hash; and how many indicators it revised. */
async function keptObjects(
  storage: SnapshotStorage,
  edition: string,
): Promise<{ objects: Map<string, number>; revised: number }> {
  const { manifest, kept } = await storage.open(edition);
  const { editions } = await storage.log();
  const changes = editions.find((entry) => entry.edition === edition)?.changes ?? null;
  const revised: EditionChanges['revised'] = changes
    ? editionChanges.parse(JSON.parse(await storage.readText(changes))).revised
    : {};
  const refs: FileRef[] = [
    ...Object.values(kept),
    ...Object.values(manifest.providers),
    ...(changes ? [changes] : []),
    ...Object.values(revised).map(({ file }) => file),
  ];
  const objects = new Map(refs.map(({ sha256, bytes }) => [sha256, bytes]));
  objects.set(edition, JSON.stringify(manifest).length);
  return { objects, revised: Object.keys(revised).length };
}

const sum = (bytes: Iterable<number>): number => [...bytes].reduce((total, one) => total + one, 0);

/** Time of trees and signature, and bytes that a night adds. */
export async function buildCosts({ storage, editions, steps, catalogue }: Built): Promise<Row[]> {
  const shareOfTrees = (name: string, builds: Record<string, number>[], bound: number): Row => {
    const trees = builds.map(({ proofs = Number.NaN }) => proofs / 1000);
    const others = builds.map(({ proofs = 0, ...rest }) => {
      const all_ms = Object.values(rest).reduce((total, ms) => total + ms, 0);
      return all_ms / 1000;
    });
    return {
      name,
      measured: { unit: 's', rounds: trees },
      floor: { name: 'the rest of materialise', sample: { unit: 's', rounds: others } },
      goal: { at: 'most', bound },
    };
  };
  const [first = {}, ...nights] = steps;
  const added: number[] = [];
  const kept: number[] = [];
  const counts: number[] = [];
  const known = new Set<string>();
  for (const edition of editions) {
    const { objects, revised } = await keptObjects(storage, edition);
    const fresh = [...objects].filter(([object]) => !known.has(object));
    for (const [object] of fresh) known.add(object);
    added.push(sum(fresh.map(([, bytes]) => bytes)) / KILOBYTE);
    kept.push(sum(objects.values()) / KILOBYTE);
    counts.push(revised);
  }
  return [
    shareOfTrees('trees and signature, first build', [first], 1),
    shareOfTrees('trees and signature, a night that revises 1 % of the indicators', nights, 0.15),
    {
      name: 'bytes that a night adds that revises 1 % of the indicators',
      measured: { unit: 'kB', rounds: added.slice(1) },
      floor: { name: 'all that stays', sample: { unit: 'kB', rounds: kept.slice(1) } },
      goal: { at: 'most', bound: 0.03 },
      note: `${counts.slice(1).join(', ')} of ${catalogue.indicators.length} revised`,
    },
  ];
}
