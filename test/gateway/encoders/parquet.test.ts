/** The Parquet file of any table, read back by hyparquet; others read it in the extended tests. */
import { parquetMetadata, parquetReadObjects } from 'hyparquet';
import { describe, expect, test } from 'vitest';
import { parquet } from '../../../gateway/encoders/parquet.ts';
import type { Table } from '../../../gateway/encoders/table.ts';
import { expectedRow, tableOf } from './tables.ts';

async function fileOf(table: Table): Promise<ArrayBuffer> {
  const pieces: Buffer[] = [];
  for await (const piece of parquet.stream(table)) pieces.push(piece);
  return new Uint8Array(Buffer.concat(pieces)).buffer;
}

describe.each([
  ['one batch', [50]],
  ['batches of several sizes', [1, 30, 2]],
  ['a long batch', [9_001, 3]],
  ['no batch', []],
])('%s', (_name, sizes) => {
  const table = tableOf(sizes);

  test('cells, row groups and metadata', async () => {
    const file = await fileOf(table);
    expect(await parquetReadObjects({ file })).toEqual(
      Array.from({ length: table.rows }, (_, row) => expectedRow(row)),
    );
    const { row_groups, key_value_metadata } = parquetMetadata(file);
    expect(row_groups.map(({ num_rows }) => Number(num_rows))).toEqual(sizes);
    const metadata = new Map(key_value_metadata?.map(({ key, value }) => [key, value]));
    expect(metadata.get('edition')).toBe(table.edition);
    expect(JSON.parse(metadata.get('meta') ?? '')).toEqual(table.meta);
  });
});
