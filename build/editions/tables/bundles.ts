/**
 * Writes the bundle of each provider: the observations of all its open indicators in one file, sorted by indicator, iso3,
 * year. The bundle of the base edition is linked where none of these changed.
 *
 * An indicator lies in one row group, so that it can be read out of a bundle over HTTP in few requests: DuckDB asks for the
 * size, for the footer, for the column of the filter in each row group that may match, and for the rest of the one that does.
 * Row groups are as large as DuckDB's own: the footer stays small, and the statistics tell them apart.
 */
import { createHash } from 'node:crypto';
import { link, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { listValue } from '@duckdb/node-api';
import { inBatches } from '../../../data/runtime/in-parallel.ts';
import { readSql } from '../../../data/runtime/sql-files.ts';
import { bundleFile, type FileList, observationsFile } from '../../../data/schema/snapshot.ts';
import type { DuckSession } from '../../runtime/duckdb.ts';
import { type BaseEdition, isReusable } from '../base-edition.ts';
import type { PlannedIndicator } from '../plan/plan-snapshot.ts';
import { joinParquet } from './join-parquet.ts';
import type { IndicatorCoverage } from './summary-tables.ts';

const WRITE_BUNDLE = readSql(import.meta.url, 'sql/write-bundle.sql');

/** As write-bundle.sql has it. */
const GROUP_ROWS = 122_880;
/** Increment when the same observations are written in another way. */
const BUNDLE_VERSION = 2;

type Bundled = Pick<PlannedIndicator, 'id' | 'providerId'> & {
  record: Pick<PlannedIndicator['record'], 'access_tier'>;
};

export interface BundleFiles {
  /** Holds the observation files under their names; receives the bundles. */
  directory: string;
  kept: FileList;
  base: BaseEdition | null;
  /** With the number of rows of each indicator. */
  coverage: ReadonlyMap<string, Pick<IndicatorCoverage, 'rows'>>;
}

/** @returns the inputs of each bundle, by its name. */
export async function writeBundles(
  duck: DuckSession,
  indicators: readonly Bundled[],
  { directory, kept, base, coverage }: BundleFiles,
): Promise<Map<string, string>> {
  const open = indicators.filter(({ record }) => record.access_tier === 'open');
  const inputs = new Map<string, string>();
  await mkdir(join(directory, 'bundles'), { recursive: true });
  for (const [provider, own] of Map.groupBy(open, ({ providerId }) => providerId)) {
    const name = bundleFile(provider);
    const ids = own.map(({ id }) => id).sort();
    const hash = hashOf(ids.map(observationsFile), kept);
    inputs.set(name, hash);
    const path = join(directory, name);
    if (base && (await isReusable(base, name, base.tables[name], hash)))
      await link(join(base.directory, name), path);
    else {
      const groups = inBatches(ids, GROUP_ROWS, (id) => coverage.get(id)?.rows ?? 0);
      await writeBundle(duck, directory, path, groups);
    }
  }
  return inputs;
}

async function writeBundle(
  duck: DuckSession,
  directory: string,
  path: string,
  groups: readonly (readonly string[])[],
): Promise<void> {
  const parts = groups.map((_, at) => `${path}.${at}`);
  for (const [at, ids] of groups.entries()) {
    const files = listValue(ids.map((id) => join(directory, observationsFile(id))));
    await duck.run(WRITE_BUNDLE, { files, file: parts[at] ?? '' });
  }
  await joinParquet(parts, path);
  for (const part of parts) await rm(part);
}

function hashOf(names: readonly string[], kept: FileList): string {
  const content = [BUNDLE_VERSION, ...names.map((name) => [name, kept[name]?.sha256])];
  return createHash('sha256').update(JSON.stringify(content)).digest('hex');
}
