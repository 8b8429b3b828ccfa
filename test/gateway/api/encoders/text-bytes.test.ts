/** Numbers and words as bytes, beside the strings that JavaScript makes of them. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { TextBytes } from '../../../../gateway/api/encoders/tables/text-bytes.ts';
import { formatDouble } from '../../../../gateway/api/snapshot/rows/indicator-columns.ts';

function doubleText(value: number): string {
  const bytes = new TextBytes();
  bytes.addDouble(value);
  return bytes.taken().toString();
}

/** Around every place where the way of formatting changes. */
const EDGES = [
  1e-7,
  1e-6,
  1.5e-6,
  0.1,
  0.3,
  1,
  9.999999,
  2 ** 31,
  2 ** 53,
  1e15,
  1e21,
  5e-324,
  Number.MAX_VALUE,
].flatMap((edge) => [edge, edge - edge / 2 ** 52, edge + edge / 2 ** 52, edge - 1, edge + 1]);

test.each([0, -0, ...EDGES, ...EDGES.map((edge) => -edge)])('the double %s', (value) => {
  expect(doubleText(value)).toBe(formatDouble(value));
});

test('doubles of few and of many digits', () => {
  const decimal = fc
    .tuple(fc.maxSafeInteger(), fc.integer({ min: 0, max: 12 }))
    .map(([digits, decimals]) => digits / 10 ** decimals);
  const short = fc
    .tuple(fc.integer(), fc.integer({ min: 0, max: 8 }))
    .map(([digits, decimals]) => digits / 10 ** decimals);
  const any = fc.double({ noNaN: true, noDefaultInfinity: true });
  fc.assert(
    fc.property(fc.oneof(decimal, short, any), (value) => {
      expect(doubleText(value)).toBe(formatDouble(value));
    }),
    { numRuns: 5_000 },
  );
});

test('integers, words, and pieces longer than the first buffer', () => {
  const bytes = new TextBytes();
  const expected: string[] = [];
  const word = Buffer.from('東京, '.repeat(20));
  for (let round = 0; round < 3; round += 1) {
    for (const integer of [0, 7, -1, 10, 2024, -2_147_483_648, 2_147_483_647]) {
      bytes.addInteger(integer);
      bytes.add(Buffer.from(';'));
      expected.push(`${integer};`);
    }
    for (let copy = 0; copy < 4_000; copy += 1) bytes.add(word);
    expected.push(word.toString().repeat(4_000));
    expect(bytes.taken().toString() === expected.splice(0).join('')).toBe(true);
  }
});
