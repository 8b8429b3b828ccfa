/** The Arrow stream of any table, read back by the library's reader; others read it in the extended tests. */
import { tableFromIPC } from 'apache-arrow';
import { describe, expect, test } from 'vitest';
import { arrow } from '../../../../gateway/api/encoders/tables/arrow.ts';
import type { Table } from '../../../../gateway/api/encoders/tables/table.ts';
import { expectedRow, tableOf } from './tables.ts';

async function bytesOf(table: Table): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of arrow.stream(table)) pieces.push(piece);
  return Buffer.concat(pieces);
}

describe.each([
  ['one batch', [50]],
  ['batches of several sizes', [1, 30, 2]],
  ['no batch', []],
])('%s', (_name, sizes) => {
  const table = tableOf(sizes);

  test('cells, types and metadata', async () => {
    const read = tableFromIPC(await bytesOf(table));
    const rows = read.toArray().map((row) => row.toJSON());
    expect(rows).toEqual(Array.from({ length: table.rows }, (_, row) => expectedRow(row)));
    expect(read.schema.fields.map(({ name, type }) => [name, String(type)])).toEqual([
      ['word', 'Utf8'],
      ['a "name", quoted', 'Int32'],
      ['double', 'Float64'],
      ['flag', 'Bool'],
      ['year', 'Int32'],
    ]);
    expect(read.schema.metadata.get('edition')).toBe(table.edition);
    expect(JSON.parse(read.schema.metadata.get('meta') ?? '')).toEqual(table.meta);
  });
});

test('a batch at a time', async () => {
  const pieces: Buffer[] = [];
  for await (const piece of arrow.stream(tableOf([5, 5, 5]))) pieces.push(piece);
  expect(pieces).toHaveLength(5);
});
