/** Looks over the snapshot that is being served, as an operator asks for it. */
import { join } from 'node:path';
import type { Curated } from '../../data/curated.ts';
import type { Settings } from '../../data/runtime/settings.ts';
import { observationsFile } from '../../data/schema/snapshot.ts';
import { prepareTables } from '../editions/materialise.ts';
import { planSnapshot } from '../editions/plan.ts';
import { readCoverage, readHeld } from '../editions/tables.ts';
import { Refusal } from '../runtime/command-error.ts';
import { Duck } from '../runtime/duckdb.ts';
import { SnapshotShelf } from './snapshots.ts';
import { verifyFigures, verifyFiles, verifyWithheld } from './verify.ts';

const MEMORY_MB = 768;

export interface Verification {
  snapshot: string;
  files: number;
  /** Indicators whose every figure was found in the lake. */
  traced: number;
  /** Indicators that have been ingested or curated anew since, so that the lake tells another edition. */
  outdated: number;
}

/**
 * Holds the served snapshot against its manifest, the lake, and what must not be published.
 * @throws {SnapshotFault} with the first thing that is wrong; {Refusal} when nothing is served.
 */
export async function verifyPublished(
  settings: Pick<Settings, 'LAKE_DIR' | 'SNAPSHOT_DIR'>,
  curated: Curated,
): Promise<Verification> {
  const shelf = new SnapshotShelf(settings.SNAPSHOT_DIR);
  const id = await shelf.currentId();
  if (id === null) throw new Refusal('no snapshot is published');
  const { directory, manifest } = await shelf.open(id);
  await verifyFiles(directory, manifest.files);
  const plan = await planSnapshot(settings.LAKE_DIR, curated, new Map());
  const same = plan.indicators.filter(
    (one) => manifest.files[observationsFile(one.id)]?.inputs === one.inputs,
  );
  const scratch = join(settings.LAKE_DIR, `.scratch-verify-${process.pid}`);
  const duck = await Duck.open({ scratch, memoryMb: MEMORY_MB });
  try {
    await prepareTables(
      duck,
      plan.countries.map((country) => country.iso3),
      same,
    );
    if (same.length > 0) {
      await readHeld(duck, directory, same);
      await verifyFigures(duck, directory, same, await readCoverage(duck, same), () => {});
    }
  } finally {
    await duck.close();
  }
  const published = Object.keys(manifest.files).filter((file) => file.startsWith('observations/')).length;
  const neverRedistributable = plan.withheld.filter((one) => !manifest.files[observationsFile(one)]);
  await verifyWithheld(directory, { ...plan, withheld: neverRedistributable });
  return {
    snapshot: id,
    files: Object.keys(manifest.files).length,
    traced: same.length,
    outdated: published - same.length,
  };
}
