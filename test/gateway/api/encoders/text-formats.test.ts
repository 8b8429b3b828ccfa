/** JSON, NDJSON and CSV of any table, read back by parsers of others; numbers beside the strings that JavaScript makes. */
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Encoder } from '../../../../gateway/api/encoders/tables/table.ts';
import { type Table, textVector, type Vector } from '../../../../gateway/api/encoders/tables/table.ts';
import { csv, json, ndjson } from '../../../../gateway/api/encoders/tables/text-formats.ts';
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

/** Around every place where the way of formatting changes. */
const EDGES = [
  ...[1e-7, 1e-6, 1.5e-6, 0.1, 0.3, 1, 9.999999, 2 ** 31, 2 ** 53, 1e15, 1e21, 5e-324, Number.MAX_VALUE],
].flatMap((edge) => [edge, edge - edge / 2 ** 52, edge + edge / 2 ** 52, edge - 1, edge + 1]);

const numberText = (value: number): string => (Object.is(value, -0) ? '-0.0' : String(value));

async function expectWritten(doubles: readonly number[], integers: readonly number[]): Promise<void> {
  const table: Table = {
    ...tableOf([]),
    columns: [
      { name: 'double', type: 'double' },
      { name: 'integer', type: 'integer' },
    ],
    rows: doubles.length,
    async *batches() {
      const codes = Int32Array.from(doubles, (_, row) => integers[row % integers.length] ?? 0);
      const vectors: Vector[] = [
        { type: 'double', values: Float64Array.from(doubles) },
        { type: 'integer', values: codes, nullAs: null },
      ];
      yield { rows: doubles.length, vectors };
    },
  };
  const records = doubles.map((value, row) => `${numberText(value)},${integers[row % integers.length]}\r\n`);
  expect(await textOf(csv, table)).toBe(`double,integer\r\n${records.join('')}`);
}

test('numbers of few and of many digits', async () => {
  await expectWritten(
    [0, -0, ...EDGES, ...EDGES.map((edge) => -edge)],
    [0, 7, -1, -2_147_483_648, 2_147_483_647],
  );
  const decimal = fc
    .tuple(fc.maxSafeInteger(), fc.integer({ min: 0, max: 12 }))
    .map(([digits, decimals]) => digits / 10 ** decimals);
  const short = fc
    .tuple(fc.integer(), fc.integer({ min: 0, max: 8 }))
    .map(([digits, decimals]) => digits / 10 ** decimals);
  const any = fc.double({ noNaN: true, noDefaultInfinity: true });
  const doubles = fc.array(fc.oneof(decimal, short, any), { minLength: 50, maxLength: 100 });
  await fc.assert(
    fc.asyncProperty(doubles, (values) => expectWritten(values, [2024])),
    { numRuns: 70 },
  );
});
