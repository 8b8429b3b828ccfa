/** Address ranges of keys against `node:net`, which reads the same ranges by its own rules. */
import { BlockList, isIPv6 } from 'node:net';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  comparableAddress,
  readableRange,
  storedRange,
} from '../../../../gateway/api/metering/address-ranges.ts';

/** Few distinct bytes, so that addresses often lie in each other's ranges. */
const byte = fc.constantFrom(0, 1, 127, 128, 192, 255);
const ipv4 = fc.array(byte, { minLength: 4, maxLength: 4 }).map((bytes) => bytes.join('.'));
const ipv6 = fc
  .array(fc.tuple(byte, byte), { minLength: 8, maxLength: 8 })
  .map((groups) => groups.map(([high, low]) => (high * 256 + low).toString(16)).join(':'));
const address = fc.oneof(ipv4, ipv6);

/** As `admit.lua` compares. */
function holds(range: string, text: string): boolean {
  const [, first = '', last = ''] = /=(\w+)-(\w+)$/.exec(storedRange(range)) ?? [];
  const compared = comparableAddress(text);
  return first.length === compared.length && compared >= first && compared <= last;
}

/** The range around an address, its bits beyond the prefix cleared. */
function rangeAround(text: string, share: number): string {
  const size = isIPv6(text) ? 128 : 32;
  const bits = Math.floor(share * size);
  const digits = BigInt(`0x${comparableAddress(text)}`);
  const kept = (digits >> BigInt(size - bits)) << BigInt(size - bits);
  const hex = kept.toString(16).padStart(size / 4, '0');
  const parts = size === 32 ? [...Buffer.from(hex, 'hex')].join('.') : (hex.match(/.{4}/g) ?? []).join(':');
  return `${parts}/${bits}`;
}

describe('address ranges', () => {
  it('hold the addresses that node:net says', () => {
    fc.assert(
      fc.property(address, address, fc.double({ min: 0, max: 1, noNaN: true }), (around, sent, share) => {
        fc.pre(!comparableAddress(around).startsWith('00000000000000000000ffff'));
        const range = rangeAround(around, share);
        const [network = '', bits] = range.split('/');
        const list = new BlockList();
        const family = isIPv6(around) ? 'ipv6' : 'ipv4';
        list.addSubnet(network, Number(bits), family);
        const isSameFamily = isIPv6(sent) === isIPv6(around);
        const expected = isSameFamily && list.check(sent, family);
        expect(holds(range, sent)).toBe(expected);
        expect(holds(range, around)).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });

  it('are stored in one form, from which they are read again', () => {
    fc.assert(
      fc.property(address, fc.double({ min: 0, max: 1, noNaN: true }), (around, share) => {
        const stored = storedRange(rangeAround(around, share));
        expect(storedRange(readableRange(stored))).toBe(stored);
      }),
    );
    expect(readableRange(storedRange(' 2001:DB8:0:0::/32 '))).toBe('2001:db8::/32');
    expect(readableRange(storedRange('198.51.100.7'))).toBe('198.51.100.7/32');
  });

  it.each([
    '',
    'x',
    '1.2.3',
    '010.0.0.1',
    '0x7f.1',
    '1.2.3.4/33',
    '1.2.3.4/',
    '::/129',
    '::1/1/2',
    'fe80::1%eth0',
  ])('"%s" is refused with what was expected', (text) => {
    expect(() => storedRange(text)).toThrow('CIDR notation, such as 203.0.113.0/24');
  });

  it('a range with bits beyond its prefix is refused with the range that holds it', () => {
    expect(() => storedRange('203.0.113.7/24')).toThrow('write 203.0.113.0/24 for the range');
    expect(() => storedRange('::ffff:203.0.113.7/120')).toThrow('write 203.0.113.0/24 for the range');
  });
});
