/** The workbook of any table, by its XML; openpyxl reads it in the extended tests. */
import { buffer } from 'node:stream/consumers';
import { crc32 } from 'node:zlib';
import { describe, expect, test, vi } from 'vitest';
import * as yauzl from 'yauzl';
import type { Table } from '../../../../gateway/api/encoders/tables/table.ts';
import { xlsx } from '../../../../gateway/api/encoders/tables/xlsx.ts';
import { tableOf } from './tables.ts';

async function bytesOf(table: Table): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of xlsx.stream(table)) pieces.push(piece);
  return Buffer.concat(pieces);
}

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
    const parts = await partsOf(await bytesOf(tableOf([7, 5])));
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
    const parts = await partsOf(await bytesOf(tableOf([])));
    expect(rowsOf(parts.get('xl/worksheets/sheet1.xml'))).toHaveLength(1);
    expect(parts.get('xl/worksheets/sheet2.xml')).toContain('20261120T020000Z-00000000');
  });

  test('the same bytes each time', async () => {
    const table = tableOf([50]);
    expect((await bytesOf(table)).equals(await bytesOf(table))).toBe(true);
  });

  test('a sheet of many pieces has all rows in order', async () => {
    const table = tableOf([16_384, 5_000]);
    const parts = await partsOf(await bytesOf(table));
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
    await expect(bytesOf(table)).rejects.toThrow('unreadable');
  });
});
