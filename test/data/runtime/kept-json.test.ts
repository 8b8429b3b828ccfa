/** Kept JSON is compressed, and read in either form. */
import { expect, test } from 'vitest';
import { packJson, unpackJson } from '../../../data/runtime/durable-files.ts';

const TEXT = JSON.stringify({ names: Array.from({ length: 100 }, (_, at) => `Åland ${at % 7}`) });

test('a packed text is smaller and comes back', async () => {
  const packed = await packJson(TEXT);
  expect(packed.length).toBeLessThan(TEXT.length / 5);
  expect(unpackJson(packed)).toBe(TEXT);
  expect(await packJson(TEXT)).toEqual(packed);
});

test.each([TEXT, '[]', '{}', ''])('plain text stays what it is', (text) => {
  expect(unpackJson(Buffer.from(text))).toBe(text);
});

test('a damaged file is an error', async () => {
  const packed = await packJson(TEXT);
  expect(() => unpackJson(packed.subarray(0, packed.length - 9))).toThrow();
});
