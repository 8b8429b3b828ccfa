/** The Parquet file of any table, read back by hyparquet; others read it in the extended tests. */
import { parquetMetadata, parquetReadObjects } from 'hyparquet';
import { describe, expect, test } from 'vitest';
import { parquet } from '../../../../gateway/api/encoders/tables/parquet.ts';
import type { Cell, Table } from '../../../../gateway/api/encoders/tables/table.ts';
import { expectedRow, tableOf } from './tables.ts';

async function fileOf(table: Table): Promise<ArrayBuffer> {
  const pieces: Buffer[] = [];
  for await (const piece of parquet.stream(table)) pieces.push(piece);
  return new Uint8Array(Buffer.concat(pieces)).buffer;
}

/** Text by its bytes, numbers by value. */
function boundsOf(present: Exclude<Cell, null>[]): { min_value?: Cell; max_value?: Cell } {
  const order = (a: Cell, b: Cell): number =>
    typeof a === 'string' ? Buffer.compare(Buffer.from(a), Buffer.from(String(b))) : Number(a) - Number(b);
  const [min_value, ...others] = present.toSorted(order);
  return min_value === undefined ? {} : { min_value, max_value: others.at(-1) ?? min_value };
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

  test('each column of a row group states its bounds and how many cells are missing', async () => {
    const { row_groups } = parquetMetadata(await fileOf(table));
    let first = 0;
    for (const { num_rows, columns } of row_groups) {
      const rows = Array.from({ length: Number(num_rows) }, (_, at) => expectedRow(first + at));
      first += rows.length;
      for (const { meta_data } of columns) {
        const cells = rows.map((row) => row[meta_data?.path_in_schema[0] ?? ''] ?? null);
        expect(meta_data?.statistics).toEqual({
          null_count: BigInt(cells.filter((cell) => cell === null).length),
          ...boundsOf(cells.filter((cell) => cell !== null)),
        });
      }
    }
  });
});
