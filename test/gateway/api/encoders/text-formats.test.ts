/** JSON, NDJSON and CSV of any table, read back by parsers of others. */
import { parse } from 'csv-parse/sync';
import { describe, expect, test } from 'vitest';
import type { Encoder } from '../../../../gateway/api/encoders/encoder.ts';
import { csv } from '../../../../gateway/api/encoders/tables/csv.ts';
import { json } from '../../../../gateway/api/encoders/tables/json.ts';
import { ndjson } from '../../../../gateway/api/encoders/tables/ndjson.ts';
import { cellAt, type Table, textVector } from '../../../../gateway/api/encoders/tables/table.ts';
import { expectedRow, tableOf } from './tables.ts';

/** In one batch, in several, longer than a piece, and without rows. */
const SHAPES: [string, number[]][] = [
  ['one batch', [50]],
  ['batches of several sizes', [1, 30, 2]],
  ['a batch of several pieces', [9_001, 3]],
  ['no batch', []],
];

async function textOf(encoder: Encoder, table: Table): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of encoder.stream(table)) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

const expectedRows = ({ rows }: Table) => Array.from({ length: rows }, (_, row) => expectedRow(row));

describe.each(SHAPES)('%s', (_name, sizes) => {
  const table = tableOf(sizes);

  test('JSON', async () => {
    const parsed = JSON.parse(await textOf(json, table));
    expect(parsed).toEqual({ data: expectedRows(table), meta: table.meta });
  });

  test('NDJSON', async () => {
    const text = await textOf(ndjson, table);
    expect(text === '' || text.endsWith('}\n')).toBe(true);
    const lines = text.split('\n').slice(0, -1);
    expect(lines.map((line) => JSON.parse(line))).toEqual(expectedRows(table));
  });

  test('CSV', async () => {
    const records = parse(await textOf(csv, table), { record_delimiter: '\r\n' });
    const names = table.columns.map(({ name }) => name);
    const cells = expectedRows(table).map((row) =>
      names.map((name) => (Object.is(row[name], -0) ? '-0.0' : String(row[name] ?? ''))),
    );
    expect(records).toEqual([names, ...cells]);
  });

  test('the cells one by one', async () => {
    const rows: unknown[] = [];
    for await (const { rows: count, vectors } of table.batches())
      for (let row = 0; row < count; row += 1)
        rows.push(
          Object.fromEntries(
            table.columns.map(({ name }, at) => [name, vectors[at] && cellAt(vectors[at], row)]),
          ),
        );
    expect(rows).toEqual(expectedRows(table));
  });
});

test('a CSV record of one empty field is no empty line', async () => {
  const cells: (string | null)[] = ['a', null, '', 'b'];
  const words = textVector(cells);
  const table: Table = {
    ...tableOf([]),
    columns: [{ name: 'word', type: 'text' }],
    rows: cells.length,
    async *batches() {
      yield { rows: cells.length, vectors: [words] };
    },
  };
  const text = await textOf(csv, table);
  expect(text).toBe('word\r\na\r\n""\r\n""\r\nb\r\n');
  const records = parse(text, { record_delimiter: '\r\n', skip_empty_lines: true });
  expect(records).toHaveLength(1 + cells.length);
});
