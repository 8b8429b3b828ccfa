/** The served snapshot opened as a closed edition too: what it computes is compared with what the build prerendered. */
import { pino } from 'pino';
import { expect } from 'vitest';
import { countryFile, indicatorFile } from '../../data/schema/snapshot.ts';
import { ClosedEdition } from '../../gateway/api/snapshot/editions/closed-edition.ts';
import { Snapshot } from '../../gateway/api/snapshot/editions/snapshot.ts';
import { TodaysTerms } from '../../gateway/api/snapshot/editions/todays-terms.ts';
import { PublicationLogFile } from '../../gateway/api/snapshot/files/publication-log.ts';
import { ObservationCache } from '../../gateway/api/snapshot/rows/observations.ts';
import { QueryRunner } from '../../gateway/api/snapshot/rows/query-runner.ts';
import { readLog } from './fixture-log.ts';
import { objectSource } from './object-source.ts';

export interface BothWays {
  served: Snapshot;
  closed: ClosedEdition;
  close(): void;
}

/** @param root directory of snapshots */
export async function openBothWays(root: string, id: string): Promise<BothWays> {
  const queries = await QueryRunner.open(60_000);
  const observations = new ObservationCache(queries, 10_000_000);
  const log = pino({ level: 'silent' });
  const shared = {
    ...objectSource(root),
    queries,
    observations,
    processCount: 1,
    log,
    signedLog: new PublicationLogFile(root),
  };
  const entries = await readLog(root);
  const served = await Snapshot.open(id, shared, entries);
  const entry = entries.find(({ edition }) => edition === id);
  if (entry === undefined) throw new Error(`the log has no ${id}`);
  const closed = await ClosedEdition.open(entry, shared, new TodaysTerms(served));
  return { served, closed, close: () => queries.close() };
}

/** Every indicator and every country, byte for byte. */
export async function expectComputedAsPrerendered({ served, closed }: BothWays): Promise<void> {
  const prerendered = async (name: string) => (await served.routes.bytes(name, 'identity')).toString();
  for (const id of served.catalogue.indicators.keys())
    expect((await closed.indicatorBody(id)).toString()).toBe(await prerendered(indicatorFile(id)));
  for (const iso3 of served.countriesByCode.keys())
    expect((await closed.countryBody(iso3)).toString()).toBe(await prerendered(countryFile(iso3)));
}
