/** Binary formats of any table, read back by a library or by their parts; others read them in the extended tests. */
import { buffer } from 'node:stream/consumers';
import { crc32 } from 'node:zlib';
import { tableFromIPC } from 'apache-arrow';
import fc from 'fast-check';
import { parquetMetadata, parquetReadObjects } from 'hyparquet';
import { readRleBitPackedHybrid } from 'hyparquet/src/encoding.js';
import { describe, expect, test, vi } from 'vitest';
import * as yauzl from 'yauzl';
import { arrow } from '../../../../gateway/api/encoders/tables/arrow.ts';
import { parquet } from '../../../../gateway/api/encoders/tables/parquet.ts';
import { runBytesMax, writeRuns } from '../../../../gateway/api/encoders/tables/parquet-runs.ts';
import type { Cell, Table } from '../../../../gateway/api/encoders/tables/table.ts';
import { xlsx } from '../../../../gateway/api/encoders/tables/xlsx.ts';
import { expectedRow, tableOf } from './tables.ts';

async function bytesOf(encoder: Pick<typeof arrow, 'stream'>, table: Table): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of encoder.stream(table)) pieces.push(piece);
  return Buffer.concat(pieces);
}

const parquetOf = async (table: Table): Promise<ArrayBuffer> =>
  new Uint8Array(await bytesOf(parquet, table)).buffer;

describe.each([
  ['one batch', [50]],
  ['batches of several sizes', [1, 30, 2]],
  ['no batch', []],
])('Arrow: %s', (_name, sizes) => {
  const table = tableOf(sizes);

  test('cells, types and metadata', async () => {
    const read = tableFromIPC(await bytesOf(arrow, table));
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
])('Parquet: %s', (_name, sizes) => {
  const table = tableOf(sizes);

  test('cells, row groups and metadata', async () => {
    const file = await parquetOf(table);
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
    const { row_groups } = parquetMetadata(await parquetOf(table));
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

/** Runs of every length, mixed with values that do not repeat. */
const valuesOf = (bitWidth: number) =>
  fc
    .array(fc.record({ value: fc.nat(2 ** bitWidth - 1), times: fc.oneof(fc.constant(1), fc.nat(300)) }), {
      maxLength: 60,
    })
    .map((runs) => runs.flatMap(({ value, times }) => Array.from({ length: times }, () => value)));

test('Parquet: runs of any values of any width come back, in the room that was foretold', () => {
  fc.assert(
    fc.property(
      fc
        .integer({ min: 0, max: 24 })
        .chain((bitWidth) => fc.tuple(fc.constant(bitWidth), valuesOf(bitWidth))),
      ([bitWidth, values]) => {
        const into = new Uint8Array(runBytesMax(values.length, bitWidth) + 1).fill(0xaa);
        const written = writeRuns(Int32Array.from(values), bitWidth, into);
        expect(written).toBeLessThan(into.length);
        expect(into[written]).toBe(0xaa);
        const reader = { view: new DataView(into.buffer, 0, written), offset: 0 };
        const read = new Int32Array(values.length);
        readRleBitPackedHybrid(reader, bitWidth, read, written);
        expect([...read]).toEqual(values);
      },
    ),
  );
});

async function partsOf(bytes: Buffer): Promise<Map<string, string>> {
  const parts = new Map<string, string>();
  const zip = await yauzl.fromBufferPromise(bytes, { lazyEntries: true });
  for await (const entry of zip.eachEntry()) {
    const content = await buffer(await zip.openReadStreamPromise(entry));
    expect(entry.crc32).toBe(crc32(content));
    parts.set(entry.fileName, content.toString());
  }
  return parts;
}

const rowsOf = (sheet: string | undefined): string[] => sheet?.match(/<row>.*?<\/row>/gs) ?? [];

describe('workbook', () => {
  test('text is inline and escaped, never a formula; doubles keep their digits; missing cells are empty', async () => {
    const parts = await partsOf(await bytesOf(xlsx, tableOf([7, 5])));
    const rows = rowsOf(parts.get('xl/worksheets/sheet1.xml'));
    expect(rows).toHaveLength(13);
    const text = (escaped: string) => `<c t="inlineStr"><is><t xml:space="preserve">${escaped}</t></is></c>`;
    const [names, first, second, third, fourth, fifth, sixth] = rows;
    expect(names).toBe(
      `<row>${['word', 'a &quot;name&quot;, quoted', 'double', 'flag', 'year'].map(text).join('')}</row>`,
    );
    expect(first).toBe(`<row>${text('plain')}<c><v>-4</v></c><c><v>0.1</v></c><c/><c><v>0</v></c></row>`);
    expect(second).toContain('<c><v>-0.0</v></c><c t="b"><v>1</v></c>');
    expect(third).toContain(`${text('two&#13;\nlines')}<c/><c/>`);
    expect(fourth).toContain('<c><v>5e-324</v></c>');
    expect(fifth).toContain(`${text('=1+1')}<c><v>0</v></c><c><v>1.7976931348623157e+308</v></c>`);
    expect(sixth?.startsWith('<row><c/>')).toBe(true);
    expect([...parts.values()].join()).not.toContain('<f>');
  });

  test('a table without rows is its header', async () => {
    const parts = await partsOf(await bytesOf(xlsx, tableOf([])));
    expect(rowsOf(parts.get('xl/worksheets/sheet1.xml'))).toHaveLength(1);
    expect(parts.get('xl/worksheets/sheet2.xml')).toContain('20261120T020000Z-00000000');
  });

  test('the same bytes each time', async () => {
    const table = tableOf([50]);
    expect((await bytesOf(xlsx, table)).equals(await bytesOf(xlsx, table))).toBe(true);
  });

  test('a sheet of many pieces has all rows in order', async () => {
    const table = tableOf([16_384, 5_000]);
    const parts = await partsOf(await bytesOf(xlsx, table));
    const [, ...rows] = rowsOf(parts.get('xl/worksheets/sheet1.xml'));
    const years = rows.map((row) => Number(/<v>(\d+)<\/v><\/c><\/row>$/.exec(row)?.[1]));
    expect(years).toEqual(Array.from({ length: table.rows }, (_, row) => row));
  });

  test('a reader that leaves ends the rows', async () => {
    const ended = vi.fn();
    const endless: Table = {
      ...tableOf([50]),
      async *batches() {
        try {
          for (;;) yield* tableOf([16_384]).batches();
        } finally {
          ended();
        }
      },
    };
    let pieces = 0;
    for await (const _piece of xlsx.stream(endless)) {
      pieces += 1;
      if (pieces === 3) break;
    }
    await expect.poll(() => ended.mock.calls.length).toBe(1);
  });

  test('a fault of the rows is a fault of the file', async () => {
    const table: Table = {
      ...tableOf([50]),
      async *batches() {
        yield* tableOf([5]).batches();
        throw new Error('unreadable');
      },
    };
    await expect(bytesOf(xlsx, table)).rejects.toThrow('unreadable');
  });
});
