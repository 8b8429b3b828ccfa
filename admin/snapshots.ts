/** The snapshot being served and the snapshots that can be served. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { EditableFacts } from '../data/schema/overrides.ts';
import type { CountryRecord, IndicatorRecord } from '../data/schema/records.ts';
import { CURRENT_POINTER, type Manifest, PUBLICATION_LOG, publicationLog } from '../data/schema/snapshot.ts';

export interface ServedSnapshot {
  id: string;
  manifest: Manifest;
  /** Of its files, kept and prerendered. */
  size: { files: number; bytes: number };
  catalogue: {
    indicators: ReadonlyMap<string, { record: IndicatorRecord; original: EditableFacts | null }>;
    countriesByCode: ReadonlyMap<string, CountryRecord>;
  };
}

export interface SnapshotSummary {
  id: string;
  generated_at_ms: number;
  age_ms: number;
  bytes: number;
  files: number;
  indicators: number;
  countries: number;
  observations: number;
  providers: number;
}

export function summariseSnapshot(snapshot: ServedSnapshot | null, now_ms: number): SnapshotSummary | null {
  if (snapshot === null) return null;
  const { counts, generated_at } = snapshot.manifest;
  const generated_at_ms = Date.parse(generated_at);
  return {
    id: snapshot.id,
    generated_at_ms,
    age_ms: now_ms - generated_at_ms,
    ...snapshot.size,
    ...counts,
  };
}

export interface ListedSnapshot {
  id: string;
  current: boolean;
  generated_at_ms: number;
  observations: number;
  indicators: number;
}

/** Published snapshots, newest first; none while the log cannot be read. */
export async function listSnapshots(directory: string): Promise<ListedSnapshot[]> {
  const read = (name: string) => readFile(join(directory, name), 'utf8').catch(() => '');
  const current = (await read(CURRENT_POINTER)).trim();
  const log = publicationLog.safeParse(JSON.parse((await read(PUBLICATION_LOG)) || 'null'));
  return (log.data?.editions ?? [])
    .map(({ edition, published_at, counts: { observations, indicators } }) => ({
      id: edition,
      current: edition === current,
      generated_at_ms: Date.parse(published_at),
      observations,
      indicators,
    }))
    .sort((a, b) => (a.id < b.id ? 1 : -1));
}
