/** The cache that counts bytes. */
import { describe, expect, test } from 'vitest';
import { ByteCache } from '../../../gateway/snapshot/byte-cache.ts';

const cacheOf = (maxBytes: number): ByteCache<string> => new ByteCache(maxBytes, (text) => text.length);
const give = (text: string) => (): Promise<string> => Promise.resolve(text);

describe('ByteCache', () => {
  test('a value is made once, however many ask at the same time', async () => {
    const cache = cacheOf(100);
    let made = 0;
    const make = async (): Promise<string> => {
      made += 1;
      return 'value';
    };
    expect(await Promise.all([cache.get('a', make), cache.get('a', make), cache.get('a', make)])).toEqual([
      'value',
      'value',
      'value',
    ]);
    expect(made).toBe(1);
    expect(cache.get('a', make)).toBe('value');
  });

  test('the least recently used leaves first', async () => {
    const cache = cacheOf(10);
    await cache.get('a', give('aaaa'));
    await cache.get('b', give('bbbb'));
    cache.peek('a');
    await cache.get('c', give('cccc'));
    expect(cache.peek('b')).toBeUndefined();
    expect(cache.peek('a')).toBe('aaaa');
    expect(cache.bytes).toBe(8);
  });

  test('what is larger than the budget is handed out and not kept', async () => {
    const cache = cacheOf(3);
    expect(await cache.get('a', give('aaaa'))).toBe('aaaa');
    expect(cache.peek('a')).toBeUndefined();
    expect(cache.bytes).toBe(0);
  });

  test('a failure is not remembered', async () => {
    const cache = cacheOf(10);
    await expect(cache.get('a', () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(await cache.get('a', give('yes'))).toBe('yes');
  });

  test('a value that grew is measured again, and may push out others or itself', async () => {
    const cache = new ByteCache<{ size: number }>(10, ({ size }) => size);
    const grown = { size: 2 };
    await cache.get('a', () => Promise.resolve({ size: 6 }));
    await cache.get('b', () => Promise.resolve(grown));
    grown.size = 9;
    cache.remeasure('b', grown);
    expect(cache.peek('a')).toBeUndefined();
    expect(cache.bytes).toBe(9);
    grown.size = 11;
    cache.remeasure('b', grown);
    expect(cache.peek('b')).toBeUndefined();
    expect(cache.bytes).toBe(0);
  });

  test('a value that is not to be kept is made once for all who ask now, and forgotten', async () => {
    const cache = cacheOf(10);
    let made = 0;
    const make = async (): Promise<string> => {
      made += 1;
      return 'a';
    };
    await Promise.all([cache.get('a', make, false), cache.get('a', make, false)]);
    expect([made, cache.bytes, cache.peek('a')]).toEqual([1, 0, undefined]);
  });

  test('hasRoom and oldest say what keeping would push out', async () => {
    const cache = cacheOf(10);
    expect([cache.hasRoom(10), cache.hasRoom(11), cache.oldest()]).toEqual([true, false, undefined]);
    await cache.get('a', give('aaaa'));
    await cache.get('b', give('bbbb'));
    expect([cache.hasRoom(2), cache.hasRoom(3), cache.oldest()]).toEqual([true, false, 'a']);
    cache.peek('a');
    expect(cache.oldest()).toBe('b');
  });

  test('clear forgets everything', async () => {
    const cache = cacheOf(10);
    await cache.get('a', give('a'));
    cache.clear();
    expect(cache.peek('a')).toBeUndefined();
    expect(cache.bytes).toBe(0);
  });
});
