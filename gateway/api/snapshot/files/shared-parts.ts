/** What all editions of a process share. */
import type { Logger } from 'pino';
import { catalogueFile, type IndexedIndicator } from '../../../../data/schema/snapshot.ts';
import { type CatalogueEntry, toEntry } from '../editions/catalogue.ts';
import type { ObservationCache } from '../rows/observations.ts';
import type { QueryRunner } from '../rows/query-runner.ts';
import type { PublicationLogFile } from './publication-log.ts';
import type { ObjectSource, SnapshotFiles } from './snapshot-files.ts';

export interface SharedParts extends ObjectSource {
  queries: QueryRunner;
  observations: ObservationCache;
  signedLog: PublicationLogFile;
  /** Number of processes that share the memory budgets equally. */
  processCount: number;
  log: Logger;
}

/** The indicators of a provider by id, shared by all editions that have the file. */
export async function catalogueEntries(
  files: SnapshotFiles,
  provider: string,
): Promise<ReadonlyMap<string, CatalogueEntry>> {
  return (await files.shared(catalogueFile(provider), 'entries', toEntries)) ?? new Map();
}

function toEntries(text: string): ReadonlyMap<string, CatalogueEntry> {
  const indicators: IndexedIndicator[] = JSON.parse(text);
  return new Map(indicators.map((indicator) => [indicator.record.id, toEntry(indicator)]));
}
