/** The cache that counts bytes. */
import { describe, expect, test } from 'vitest';
import { ByteCache } from '../../../../gateway/api/snapshot/files/memory.ts';

const cacheOf = (maxBytes: number): ByteCache<string> => new ByteCache(maxBytes, (text) => text.length);
const give = (text: string) => (): Promise<string> => Promise.resolve(text);

describe('ByteCache', () => {
  test('concurrent callers share one creation of a value', async () => {
    const cache = cacheOf(100);
    let made = 0;
    const make = async (): Promise<string> => {
      made += 1;
      return 'value';
    };
    expect(
      await Promise.all([cache.getOrMake('a', make), cache.getOrMake('a', make), cache.getOrMake('a', make)]),
    ).toEqual(['value', 'value', 'value']);
    expect(made).toBe(1);
    expect(cache.getOrMake('a', make)).toBe('value');
  });

  test('evicts the least recently used entry first', async () => {
    const cache = cacheOf(10);
    await cache.getOrMake('a', give('aaaa'));
    await cache.getOrMake('b', give('bbbb'));
    cache.get('a');
    await cache.getOrMake('c', give('cccc'));
    expect(cache.get('b')).toBeUndefined();
    expect(cache.get('a')).toBe('aaaa');
    expect(cache.bytes).toBe(8);
  });

  test('a value larger than the budget is returned but not cached', async () => {
    const cache = cacheOf(3);
    expect(await cache.getOrMake('a', give('aaaa'))).toBe('aaaa');
    expect(cache.get('a')).toBeUndefined();
    expect(cache.bytes).toBe(0);
  });

  test('a failure is not cached', async () => {
    const cache = cacheOf(10);
    await expect(cache.getOrMake('a', () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(await cache.getOrMake('a', give('yes'))).toBe('yes');
  });

  test('measures a value again when it is set again, and evicts others or the value itself', async () => {
    const cache = new ByteCache<{ size: number }>(10, ({ size }) => size);
    const grown = { size: 2 };
    await cache.getOrMake('a', () => Promise.resolve({ size: 6 }));
    await cache.getOrMake('b', () => Promise.resolve(grown));
    grown.size = 9;
    cache.set('b', grown);
    expect(cache.get('a')).toBeUndefined();
    expect(cache.bytes).toBe(9);
    grown.size = 11;
    cache.set('b', grown);
    expect(cache.get('b')).toBeUndefined();
    expect(cache.bytes).toBe(0);
  });

  test('with keep=false, concurrent callers share one creation and nothing is cached', async () => {
    const cache = cacheOf(10);
    let made = 0;
    const make = async (): Promise<string> => {
      made += 1;
      return 'a';
    };
    await Promise.all([cache.getOrMake('a', make, false), cache.getOrMake('a', make, false)]);
    expect([made, cache.bytes, cache.get('a')]).toEqual([1, 0, undefined]);
  });

  test('hasRoom and nextEvicted tell what an insertion would evict', async () => {
    const cache = cacheOf(10);
    expect([cache.hasRoom(10), cache.hasRoom(11), cache.nextEvicted()]).toEqual([true, false, undefined]);
    await cache.getOrMake('a', give('aaaa'));
    await cache.getOrMake('b', give('bbbb'));
    expect([cache.hasRoom(2), cache.hasRoom(3), cache.nextEvicted()]).toEqual([true, false, 'a']);
    cache.get('a');
    expect(cache.nextEvicted()).toBe('b');
  });

  test('clear removes everything', async () => {
    const cache = cacheOf(10);
    await cache.getOrMake('a', give('a'));
    cache.clear();
    expect(cache.get('a')).toBeUndefined();
    expect(cache.bytes).toBe(0);
  });
});
