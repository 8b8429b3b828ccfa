/**
 * Writes the bundle of each provider: the observations of all its open indicators in one file, sorted by indicator, iso3,
 * year. The bundle of the base edition is linked where none of these changed.
 *
 * An indicator lies in one row group, so that it can be read out of a bundle over HTTP in few requests: DuckDB asks for the
 * size, for the footer, for the column of the filter in each row group that may match, and for the rest of the one that does.
 * Row groups are as large as DuckDB's own: the footer stays small, and the statistics tell them apart. DuckDB cannot be told
 * where a row group ends, so the groups are written one by one and joined: they are copied as they are, under one footer.
 */
import { createHash } from 'node:crypto';
import { mkdir, open, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { listValue } from '@duckdb/node-api';
import { type ColumnChunk, type FileMetaData, parquetMetadata, type RowGroup } from 'hyparquet';
import { ByteWriter } from 'hyparquet-writer';
import { writeMetadata } from 'hyparquet-writer/src/metadata.js';
import { inBatches } from '../../../data/runtime/in-parallel.ts';
import { readSql } from '../../../data/runtime/sql-files.ts';
import { bundleFile, type FileList, observationsFile } from '../../../data/schema/snapshot.ts';
import type { DuckSession } from '../../runtime/duckdb.ts';
import type { PlannedIndicator } from '../plan/plan-snapshot.ts';
import { type BaseEdition, linkUnchanged } from './file-writer.ts';
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
    const hash = hashNames(ids.map(observationsFile), kept);
    inputs.set(name, hash);
    if (await linkUnchanged(base, directory, name, hash)) continue;
    const groups = inBatches(ids, GROUP_ROWS, (id) => coverage.get(id)?.rows ?? 0);
    await writeBundle(duck, directory, join(directory, name), groups);
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

function hashNames(names: readonly string[], kept: FileList): string {
  const content = [BUNDLE_VERSION, ...names.map((name) => [name, kept[name]?.sha256])];
  return createHash('sha256').update(JSON.stringify(content)).digest('hex');
}

const MAGIC = Buffer.from('PAR1');

/** Holds one file at a time, and the footers. */
async function joinParquet(files: readonly string[], target: string): Promise<void> {
  const output = await open(target, 'w');
  try {
    await output.writeFile(MAGIC);
    let length = MAGIC.length;
    let schema: FileMetaData['schema'] = [];
    const groups: RowGroup[] = [];
    for (const file of files) {
      const bytes = await readFile(file);
      const metadata = parquetMetadata(new Uint8Array(bytes).buffer, { geoparquet: false });
      if (schema.length === 0) schema = metadata.schema;
      if (JSON.stringify(metadata.schema) !== JSON.stringify(schema))
        throw new Error(`${file} has other columns than ${files[0]}`);
      for (const group of metadata.row_groups) {
        const { from, to } = extentOf(group);
        groups.push(moved(group, BigInt(length - from)));
        await output.writeFile(bytes.subarray(from, to));
        length += to - from;
      }
    }
    await output.writeFile(writeFooter(schema, groups));
  } finally {
    await output.close();
  }
}

type Place = NonNullable<ColumnChunk['meta_data']>;

function placesOf({ columns }: RowGroup): Place[] {
  return columns.map(({ meta_data }) => {
    if (meta_data === undefined) throw new Error('a column lies in another file');
    return meta_data;
  });
}

/** The bytes of its columns. What else lies between columns and footer, such as filters, is left behind. */
function extentOf(group: RowGroup): { from: number; to: number } {
  const places = placesOf(group).map((place) => {
    const from = Number(place.dictionary_page_offset ?? place.data_page_offset);
    return { from, to: from + Number(place.total_compressed_size) };
  });
  return { from: Math.min(...places.map(({ from }) => from)), to: Math.max(...places.map(({ to }) => to)) };
}

function moved(group: RowGroup, by: bigint): RowGroup {
  const columns = placesOf(group).map((place): ColumnChunk => {
    const { bloom_filter_offset: _, bloom_filter_length: __, dictionary_page_offset, ...rest } = place;
    const meta_data: Place = { ...rest, data_page_offset: rest.data_page_offset + by };
    if (dictionary_page_offset !== undefined) meta_data.dictionary_page_offset = dictionary_page_offset + by;
    return { file_offset: 0n, meta_data };
  });
  return { columns, total_byte_size: group.total_byte_size, num_rows: group.num_rows };
}

function writeFooter(schema: FileMetaData['schema'], row_groups: RowGroup[]): Uint8Array {
  const writer = new ByteWriter();
  const num_rows = row_groups.reduce((sum, group) => sum + group.num_rows, 0n);
  writeMetadata(writer, {
    version: 1,
    created_by: 'Almanac',
    schema,
    num_rows,
    row_groups,
    metadata_length: 0,
  });
  writer.appendBytes(MAGIC);
  return writer.getBytes();
}
