/** The response cache: free answers by URL and coding, within a budget. */
import { describe, expect, test } from 'vitest';
import type { Preferences, Representation } from '../../../../gateway/api/http/api/representation.ts';
import { ResponseCache } from '../../../../gateway/api/http/api/response-cache.ts';

const BUDGET = 1_000_000;
const PLAIN = '"plain"';

const answer = (bytes: number, tag = PLAIN): Representation => ({
  status: 200,
  type: 'text/plain',
  headers: [],
  encoding: 'identity',
  tag,
  edition: null,
  body: [Buffer.alloc(bytes)],
});
const accept = (acceptEncoding: string, ifNoneMatch?: string): Preferences => ({
  url: '',
  acceptEncoding,
  ifNoneMatch,
  isTagged: true,
});

describe('ResponseCache', () => {
  test('evicts the least recently used answers and never exceeds the budget', () => {
    const cache = new ResponseCache(BUDGET);
    cache.set('/first', accept('br'), answer(200_000), false);
    for (let other = 0; other < 20; other++) {
      expect(cache.find('/first', accept('br'))).not.toBeNull();
      cache.set(`/${other}`, accept('br'), answer(200_000), false);
    }
    const held = Array.from({ length: 20 }, (_, other) => cache.find(`/${other}`, accept('br')));
    expect(held.filter((found) => found !== null)).toHaveLength(3);
  });

  test('bounds the number of small answers', () => {
    const cache = new ResponseCache(BUDGET);
    for (let at = 0; at < 10_000; at++) cache.set(`/${at}`, accept('br'), answer(1), false);
    const held = Array.from({ length: 10_000 }, (_, at) => cache.find(`/${at}`, accept('br')));
    const count = held.filter((found) => found !== null).length;
    expect(count).toBeGreaterThan(100);
    expect(count).toBeLessThan(500);
  });
});
