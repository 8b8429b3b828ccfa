/** The cache that counts bytes. */
import { expect, test } from 'vitest';
import { ByteCache } from '../../../../gateway/api/snapshot/files/memory.ts';

const cacheOf = (maxBytes: number): ByteCache<string> => new ByteCache(maxBytes, (text) => text.length);
const give = (text: string) => (): Promise<string> => Promise.resolve(text);

test.each([true, false])('concurrent callers share one creation of a value (kept: %s)', async (isKept) => {
  const cache = cacheOf(100);
  let made = 0;
  const make = async (): Promise<string> => {
    made += 1;
    return 'value';
  };
  const ask = () => cache.getOrMake('a', make, isKept);
  expect(await Promise.all([ask(), ask(), ask()])).toEqual(['value', 'value', 'value']);
  expect(made).toBe(1);
  expect(cache.get('a')).toBe(isKept ? 'value' : undefined);
});

test('stays within its budget: what was not used since goes first, and nothing larger is kept', async () => {
  const cache = cacheOf(10);
  await cache.getOrMake('a', give('aaaa'));
  await cache.getOrMake('b', give('bbbb'));
  cache.get('a');
  await cache.getOrMake('c', give('cccc'));
  expect([cache.get('b'), cache.get('a'), cache.bytes]).toEqual([undefined, 'aaaa', 8]);
  expect(await cache.getOrMake('d', give('larger than all'))).toBe('larger than all');
  expect([cache.get('d'), cache.bytes]).toEqual([undefined, 8]);
});

test('a failure is not cached', async () => {
  const cache = cacheOf(10);
  await expect(cache.getOrMake('a', () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  expect(await cache.getOrMake('a', give('yes'))).toBe('yes');
});
