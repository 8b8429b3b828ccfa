/**
 * Joins Parquet files of one schema: their row groups are copied as they are, under one footer. DuckDB itself cannot be told
 * where a row group ends.
 */
import { open, readFile } from 'node:fs/promises';
import { type ColumnChunk, type FileMetaData, parquetMetadata, type RowGroup } from 'hyparquet';
import { ByteWriter } from 'hyparquet-writer';
import { writeMetadata } from 'hyparquet-writer/src/metadata.js';

const MAGIC = Buffer.from('PAR1');

/** Holds one file at a time, and the footers. */
export async function joinParquet(files: readonly string[], target: string): Promise<void> {
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
    await output.writeFile(footerOf(schema, groups));
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

function footerOf(schema: FileMetaData['schema'], row_groups: RowGroup[]): Uint8Array {
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
