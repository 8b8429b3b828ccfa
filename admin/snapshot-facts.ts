/** What an operator wants to know of the snapshot being served. */
import type { OpenSnapshot } from './context.ts';

export interface SnapshotFacts {
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

export function snapshotFacts(snapshot: OpenSnapshot | null, now_ms: number): SnapshotFacts | null {
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
