/**
 * Writes the bundle of each provider: the observations of all its open indicators in one file, sorted by indicator, iso3,
 * year. The bundle of the base edition is linked where none of these changed.
 *
 * Row groups are as large as DuckDB's own: the footer stays small, and the statistics tell which of them hold an indicator.
 */
import { hash } from 'node:crypto';
import { join } from 'node:path';
import { listValue } from '@duckdb/node-api';
import { readSql } from '../../../data/runtime/sql-files.ts';
import { bundleFile, type FileList, observationsFile } from '../../../data/schema/snapshot.ts';
import type { DuckSession } from '../../runtime/duckdb.ts';
import type { PlannedIndicator } from '../plan/plan-snapshot.ts';
import { type BaseEdition, linkUnchanged } from './file-writer.ts';

const WRITE_BUNDLE = readSql(import.meta.url, 'sql/write-bundle.sql');

/** Increment when the same observations are written in another way. */
const BUNDLE_VERSION = 3;

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
  const bundles = new Map(
    [...Map.groupBy(open, ({ providerId }) => bundleFile(providerId))].map(
      ([name, own]) => [name, own.map(({ id }) => observationsFile(id)).sort()] as const,
    ),
  );
  const inputsOf = (names: readonly string[]): string =>
    hash('sha256', JSON.stringify([BUNDLE_VERSION, ...names.map((one) => [one, kept[one]?.sha256])]));
  const inputs = new Map([...bundles].map(([name, names]) => [name, inputsOf(names)]));
  for (const name of await linkUnchanged(base, directory, inputs)) {
    const files = listValue((bundles.get(name) ?? []).map((one) => join(directory, one)));
    await duck.run(WRITE_BUNDLE, { files, file: join(directory, name) });
  }
  return inputs;
}
