/** The snapshot being served and the snapshots that can be served. */
import { access, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { takenBack } from '../data/schema/editions.ts';
import type { EditableFacts } from '../data/schema/operator-changes.ts';
import type { CountryRecord, IndicatorRecord } from '../data/schema/records.ts';
import {
  CURRENT_POINTER,
  type LogEntry,
  type Manifest,
  manifest,
  manifestPath,
  objectPath,
  PUBLICATION_LOG,
  type PublicationLog,
  publicationLog,
} from '../data/schema/snapshot.ts';

export interface ServedSnapshot {
  id: string;
  manifest: Manifest;
  /** Number and bytes of its files, kept and prerendered. */
  size: { files: number; bytes: number };
  catalogue: {
    indicators: ReadonlyMap<string, { record: IndicatorRecord; original: EditableFacts | null }>;
    countriesByCode: ReadonlyMap<string, CountryRecord>;
  };
}

export function summariseSnapshot(snapshot: ServedSnapshot | null, now_ms: number) {
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

export type ListedSnapshot = Awaited<ReturnType<typeof listSnapshots>>[number];

/** Published snapshots, newest first; none while the log cannot be read. */
export async function listSnapshots(directory: string) {
  const read = (name: string) => readFile(join(directory, name), 'utf8').catch(() => '');
  const current = (await read(CURRENT_POINTER)).trim();
  const log = parseLog(await read(PUBLICATION_LOG));
  const others = takenBack(log, current);
  return log.editions
    .map((entry) => ({
      id: entry.edition,
      current: entry.edition === current,
      mark: markOf(entry, others),
      generated_at_ms: Date.parse(entry.published_at),
      observations: entry.counts.observations,
      indicators: entry.counts.indicators,
      ...changesOf(entry),
    }))
    .sort((a, b) => (a.id < b.id ? 1 : -1));
}

function parseLog(text: string): PublicationLog {
  try {
    return publicationLog.parse(JSON.parse(text));
  } catch {
    return { editions: [], checkpoint: '', rollbacks: [] };
  }
}

/** Null for the served one and those that led to it. */
function markOf({ backfilled, edition }: LogEntry, others: ReturnType<typeof takenBack>) {
  if (backfilled) return 'backfilled';
  const move = others.get(edition);
  return move === undefined ? null : move === null ? 'never served' : 'rolled back';
}

/** How many indicators changed since the snapshot that was served before. */
function changesOf({ changed }: LogEntry) {
  const sum = (name: keyof LogEntry['changed'][string]): number =>
    Object.values(changed).reduce((total, counts) => total + counts[name], 0);
  return {
    added: sum('added'),
    withdrawn: sum('withdrawn'),
    renamed: sum('renamed'),
    revised: sum('revised'),
    redefined: sum('redefined'),
  };
}

/** Whether a snapshot can be served again: its prerendered files were not removed. */
export async function isServable(directory: string, id: string): Promise<boolean> {
  try {
    const text = await readFile(join(directory, manifestPath(id)), 'utf8');
    const { prerendered } = manifest.parse(JSON.parse(text));
    await access(join(directory, objectPath(prerendered.sha256)));
    return true;
  } catch {
    return false;
  }
}
