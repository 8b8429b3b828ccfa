/** The snapshot being served and the snapshots that can be served. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { EditableFacts } from '../data/schema/overrides.ts';
import type { CountryRecord, IndicatorRecord } from '../data/schema/records.ts';
import { CURRENT_POINTER, MANIFEST, type Manifest, manifest, SNAPSHOT_ID } from '../data/schema/snapshot.ts';

export interface ServedSnapshot {
  id: string;
  manifest: Manifest;
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
  const { counts, files, generated_at } = snapshot.manifest;
  const generated_at_ms = Date.parse(generated_at);
  const sizes = Object.values(files).map(({ bytes }) => bytes);
  return {
    id: snapshot.id,
    generated_at_ms,
    age_ms: now_ms - generated_at_ms,
    bytes: sizes.reduce((sum, size) => sum + size, 0),
    files: sizes.length,
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

/** Published snapshots, newest first. Skips snapshots without a valid manifest. */
export async function listSnapshots(directory: string): Promise<ListedSnapshot[]> {
  const names = (await readdir(directory).catch(() => [])).filter((name) => SNAPSHOT_ID.test(name));
  const current = (await readFile(join(directory, CURRENT_POINTER), 'utf8').catch(() => '')).trim();
  const listed = await Promise.all(
    names.map(async (id): Promise<ListedSnapshot | null> => {
      const text = await readFile(join(directory, id, MANIFEST), 'utf8').catch(() => 'null');
      const read = manifest.pick({ generated_at: true, counts: true }).safeParse(JSON.parse(text));
      if (!read.success) return null;
      const { generated_at, counts } = read.data;
      const { observations, indicators } = counts;
      return {
        id,
        current: id === current,
        generated_at_ms: Date.parse(generated_at),
        observations,
        indicators,
      };
    }),
  );
  return listed.filter((one) => one !== null).sort((a, b) => (a.id < b.id ? 1 : -1));
}
