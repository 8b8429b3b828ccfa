/** Free answers that are kept by URL and coding, within a budget. */
import { describe, expect, test } from 'vitest';
import type { Representation, Wishes } from '../../../gateway/http/representation.ts';
import { ResponseCache } from '../../../gateway/http/response-cache.ts';

const BUDGET = 1_000_000;
const PLAIN = '"plain"';
const CODED = '"coded"';

const answer = (bytes: number, tag = PLAIN, status: 200 | 304 = 200): Representation => ({
  status,
  type: 'text/plain',
  headers: [],
  encoding: 'identity',
  tag,
  content: status === 200 ? [Buffer.alloc(bytes)] : '',
  openHeaders: null,
});
const wish = (acceptEncoding: string, ifNoneMatch?: string): Wishes => ({
  acceptEncoding,
  ifNoneMatch,
  tagged: true,
});

describe('ResponseCache', () => {
  test('each coding is found by whoever wants it, as a whole or as what the owner of its tag is told', () => {
    const kept = new ResponseCache(BUDGET);
    const [plain, coded] = [answer(100), answer(50, CODED)];
    kept.keep('/a', wish('identity'), plain, false);
    expect(kept.find('/a', wish('br'))).toBeNull();
    kept.keep('/a', wish('br'), coded, false);
    expect(kept.find('/a', wish('identity'))).toBe(plain);
    expect(kept.find('/a', wish('br, gzip'))).toBe(coded);
    expect(kept.find('/a', wish('br', CODED))).toMatchObject({ status: 304, tag: CODED, content: '' });
    expect(kept.find('/a', wish('br', PLAIN))).toBe(coded);
    expect(kept.find('/b', wish('br'))).toBeNull();
  });

  test('a 304 that comes first is kept without a body, and the body when it is there', () => {
    const kept = new ResponseCache(BUDGET);
    const [told, whole] = [answer(0, PLAIN, 304), answer(100)];
    kept.keep('/a', wish('br', PLAIN), told, false);
    expect(kept.find('/a', wish('br', PLAIN))).toBe(told);
    expect(kept.find('/a', wish('br'))).toBeNull();
    kept.keep('/a', wish('br'), whole, false);
    kept.keep('/a', wish('br', PLAIN), told, false);
    expect(kept.find('/a', wish('br'))).toBe(whole);
    expect(kept.find('/a', wish('br', PLAIN))?.status).toBe(304);
  });

  test('what was asked for goes last, and all together never exceed the budget', () => {
    const kept = new ResponseCache(BUDGET);
    kept.keep('/first', wish('br'), answer(200_000), false);
    for (let other = 0; other < 20; other++) {
      expect(kept.find('/first', wish('br'))).not.toBeNull();
      kept.keep(`/${other}`, wish('br'), answer(200_000), false);
    }
    const held = Array.from({ length: 20 }, (_, other) => kept.find(`/${other}`, wish('br')));
    expect(held.filter((found) => found !== null)).toHaveLength(3);
  });

  test('small ones take room, too: however many URLs there are, they are bounded', () => {
    const kept = new ResponseCache(BUDGET);
    for (let at = 0; at < 10_000; at++) kept.keep(`/${at}`, wish('br'), answer(1), false);
    const held = Array.from({ length: 10_000 }, (_, at) => kept.find(`/${at}`, wish('br')));
    const count = held.filter((found) => found !== null).length;
    expect(count).toBeGreaterThan(100);
    expect(count).toBeLessThan(500);
  });

  test('a body beyond a quarter of the budget is not kept, unless it is in memory anyway; nor are long URLs', () => {
    const kept = new ResponseCache(BUDGET);
    kept.keep('/large', wish('br'), answer(250_001), false);
    kept.keep('/shared', wish('br'), answer(2_000_000), true);
    kept.keep(`/${'a'.repeat(600)}`, wish('br'), answer(1), false);
    expect(kept.find('/large', wish('br'))).toBeNull();
    expect(kept.find('/shared', wish('br'))).not.toBeNull();
    expect(kept.find(`/${'a'.repeat(600)}`, wish('br'))).toBeNull();
  });

  test('clear forgets everything', () => {
    const kept = new ResponseCache(BUDGET);
    kept.keep('/a', wish('br'), answer(1), false);
    kept.clear();
    expect(kept.find('/a', wish('br'))).toBeNull();
  });
});
