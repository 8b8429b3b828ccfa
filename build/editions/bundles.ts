/**
 * Writes the bundle of each provider: the observations of all its open indicators in one file, sorted by indicator, iso3,
 * year. The bundle of the base edition is linked where none of these changed.
 */
import { createHash } from 'node:crypto';
import { link, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { listValue } from '@duckdb/node-api';
import { readSql } from '../../data/runtime/sql-files.ts';
import { bundleFile, type FileList, observationsFile } from '../../data/schema/snapshot.ts';
import type { DuckSession } from '../runtime/duckdb.ts';
import { type BaseEdition, isReusable } from './base-edition.ts';
import type { PlannedIndicator } from './plan-snapshot.ts';

const WRITE_BUNDLE = readSql(import.meta.url, 'sql/write-bundle.sql');

/** Increment when the same observations are written in another way. */
const BUNDLE_VERSION = 1;

type Bundled = Pick<PlannedIndicator, 'id' | 'providerId'> & {
  record: Pick<PlannedIndicator['record'], 'access_tier'>;
};

export interface BundleFiles {
  /** Holds the observation files under their names; receives the bundles. */
  directory: string;
  kept: FileList;
  base: BaseEdition | null;
}

/** @returns the inputs of each bundle, by its name. */
export async function writeBundles(
  duck: DuckSession,
  indicators: readonly Bundled[],
  { directory, kept, base }: BundleFiles,
): Promise<Map<string, string>> {
  const open = indicators.filter(({ record }) => record.access_tier === 'open');
  const inputs = new Map<string, string>();
  await mkdir(join(directory, 'bundles'), { recursive: true });
  for (const [provider, own] of Map.groupBy(open, ({ providerId }) => providerId)) {
    const [name, names] = [bundleFile(provider), own.map(({ id }) => observationsFile(id)).sort()];
    const hash = hashOf(names, kept);
    inputs.set(name, hash);
    const path = join(directory, name);
    if (base && (await isReusable(base, name, base.tables[name], hash)))
      await link(join(base.directory, name), path);
    else {
      const files = listValue(names.map((one) => join(directory, one)));
      await duck.run(WRITE_BUNDLE, { files, file: path });
    }
  }
  return inputs;
}

function hashOf(names: readonly string[], kept: FileList): string {
  const content = [BUNDLE_VERSION, ...names.map((name) => [name, kept[name]?.sha256])];
  return createHash('sha256').update(JSON.stringify(content)).digest('hex');
}
