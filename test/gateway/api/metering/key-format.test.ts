/** The checksum of API keys. Requests with malformed keys: `authentication.test.ts`. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { mintKeyText, parseKey } from '../../../../gateway/api/metering/keys.ts';
import { seededRandom } from './harness.ts';

const random = seededRandom('key format');
const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

const minted = fc.constant(null).map(() => mintKeyText('live', random));

it('a published key stays valid', () => {
  const body = 'alm_live_0123456789ab_0123456789ABCDEFGHIJKLMNOPQRSTUVWX';
  expect(parseKey(`${body}44WHdv`)).not.toBeNull();
});

it('no key has a single wrong character', () => {
  fc.assert(
    fc.property(minted, fc.nat(61), fc.constantFrom(...BASE62), ({ key }, place, character) => {
      fc.pre(key[place] !== character);
      expect(parseKey(key.slice(0, place) + character + key.slice(place + 1))).toBeNull();
    }),
    { numRuns: 2000 },
  );
});
