/** The text format of API keys. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { digestOf, mintKeyText, parseKey, randomId } from '../../../../gateway/api/metering/keys.ts';
import { seededRandom } from './harness.ts';

const random = seededRandom('key format');
const KEY = /^alm_live_[0-9abcdefghjkmnpqrstvwxyz]{12}_[0-9A-Za-z]{40}$/;
const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

const minted = fc.constant(null).map(() => mintKeyText('live', random));

describe('an API key', () => {
  it('consists of prefix, environment, id and secret', () => {
    fc.assert(
      fc.property(minted, ({ key, key_id, secret, last4, environment }) => {
        expect(key).toMatch(KEY);
        expect(key).toBe(`alm_${environment}_${key_id}_${secret}`);
        expect(secret.slice(-4)).toBe(last4);
      }),
    );
  });

  it('is parsed into the parts it was made of, in both environments', () => {
    for (const environment of ['live', 'test'] as const) {
      const { key, key_id, secret } = mintKeyText(environment, random);
      expect(parseKey(key)).toEqual({ environment, key_id, secret });
    }
  });

  it('has the SHA-256 of its secret as digest', () => {
    expect(digestOf('abc').toString('hex')).toBe(
      'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
    );
    const { secret, digest } = mintKeyText('live', random);
    expect(digest.equals(digestOf(secret))).toBe(true);
  });

  it('has a stable checksum: a published key stays valid', () => {
    const body = 'alm_live_0123456789ab_0123456789ABCDEFGHIJKLMNOPQRSTUVWX';
    expect(parseKey(`${body}44WHdv`)).not.toBeNull();
  });

  it('uses every character of the alphabet', () => {
    expect(new Set(randomId(5000, random)).size).toBe(32);
  });
});

describe('parsing rejects a key with a wrong', () => {
  const cases: [what: string, change: (key: string) => string][] = [
    ['prefix', (key) => key.replace('alm_', 'alx_')],
    ['upper-case prefix', (key) => key.replace('alm_', 'ALM_')],
    ['environment', (key) => key.replace('_live_', '_prod_')],
    ['other environment', (key) => key.replace('_live_', '_test_')],
    ['id with an excluded letter', (key) => `${key.slice(0, 9)}i${key.slice(10)}`],
    ['upper-case id', (key) => key.slice(0, 9) + key.slice(9, 21).toUpperCase() + key.slice(21)],
    ['id too short', (key) => key.slice(0, 9) + key.slice(10)],
    ['id too long', (key) => `${key.slice(0, 9)}0${key.slice(9)}`],
    ['separator', (key) => `${key.slice(0, 21)}-${key.slice(22)}`],
    ['secret too short', (key) => key.slice(0, -1)],
    ['secret too long', (key) => `${key}a`],
    ['secret with a sign', (key) => `${key.slice(0, 30)}-${key.slice(31)}`],
    ['newline at the end', (key) => `${key}\n`],
    ['space before', (key) => ` ${key}`],
    ['full-width digit', (key) => `${key.slice(0, 30)}１${key.slice(31)}`],
    ['nothing', () => ''],
  ];
  it.each(cases)('%s', (_what, change) => {
    fc.assert(fc.property(minted, ({ key }) => parseKey(change(key)) === null));
  });

  it('single character, by its checksum', () => {
    fc.assert(
      fc.property(minted, fc.nat(61), fc.constantFrom(...BASE62), ({ key }, place, character) => {
        fc.pre(key[place] !== character);
        expect(parseKey(key.slice(0, place) + character + key.slice(place + 1))).toBeNull();
      }),
      { numRuns: 2000 },
    );
  });

  it('format altogether', () => {
    fc.assert(fc.property(fc.string(), (text) => parseKey(text) === null));
  });
});
