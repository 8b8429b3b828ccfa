/** What of one provider goes into the starter data, and how its files are read and written. */
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { stringify } from 'csv-stringify/sync';
import type { Logger } from 'pino';
import type { ProviderDefinition } from '../../data/schema/curated.ts';
import { openCsv } from '../connectors/csv.ts';
import type { ResolvedSource } from '../upstream/open-upstream.ts';
import type { TrackedUpstream } from '../upstream/upstream.ts';
import type { StarterSeries } from './manifest.ts';

export interface Selection {
  definition: ProviderDefinition;
  /** How the night reads the mirror. */
  source: ResolvedSource;
  /** The chosen series by slug. */
  series: ReadonlyMap<string, StarterSeries>;
  /** The mirror's files of the provider. */
  mirror: TrackedUpstream;
  /** Whether a place code or name is a listed country. Other places are left out. */
  isCountry(place: string): boolean;
  countryName(place: string): string;
  /** Writes a file below the provider's folder. */
  write(path: string, content: string | Uint8Array): Promise<void>;
  log: Logger;
  signal: AbortSignal;
}

/** Writes the provider's files. @throws when the mirror lacks a chosen series. */
export type StarterWriter = (selection: Selection) => Promise<void>;

export const writeInto =
  (directory: string): Selection['write'] =>
  async (path, content) => {
    const file = join(directory, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, content);
  };

/** A table of the mirror: some of its columns, the rows of countries. Cells are the unchanged text. */
export async function copyTable(
  { mirror, isCountry }: Selection,
  reference: string,
  { place, columns }: { place: readonly string[]; columns: (name: string) => boolean },
): Promise<string> {
  const { header, batches } = await openCsv(await mirror.stream(reference));
  const kept = header.flatMap((name, at) => (columns(name) ? [at] : []));
  const places = place.map((name) => header.indexOf(name)).filter((at) => at >= 0);
  const rows: string[][] = [kept.map((at) => header[at] ?? '')];
  for await (const batch of batches) {
    for (const cells of batch) {
      // Ingestion decides by the first of the columns that is filled.
      const code = places.map((at) => cells[at] ?? '').find((text) => text !== '') ?? '';
      if (isCountry(code)) rows.push(kept.map((at) => cells[at] ?? ''));
    }
  }
  return csvText(rows);
}

export const csvText = (rows: readonly (readonly string[])[]): string => stringify(rows as string[][]);
export const gzipped = (text: string): Buffer => gzipSync(text, { level: 9 });
export const jsonText = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

/** @throws when a chosen series was not among those found. */
export function requireAll({ definition, series }: Selection, found: ReadonlySet<string>): void {
  const lacking = [...series.keys()].filter((slug) => !found.has(slug));
  if (lacking.length > 0) throw new Error(`the mirror of ${definition.id} lacks ${lacking.join(', ')}`);
}
