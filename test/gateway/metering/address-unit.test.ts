import { describe, expect, it } from 'vitest';
import { addressUnit } from '../../../gateway/metering/address-meter.ts';

describe('what counts as one anonymous caller', () => {
  it.each([
    ['an IPv4 address', '192.0.2.1', '192.0.2.1'],
    ['IPv4 inside IPv6', '::ffff:192.0.2.1', '192.0.2.1'],
    ['IPv4 inside IPv6, in hexadecimal', '::ffff:c000:201', '192.0.2.1'],
    ['IPv4 inside IPv6, written out', '0:0:0:0:0:FFFF:192.0.2.1', '192.0.2.1'],
    ['an IPv6 address by its /64', '2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['the same /64, shortened', '2001:db8:1:2::1', '2001:db8:1:2::/64'],
    ['the same /64, upper case and zeros', '2001:0DB8:0001:0002::FFFF', '2001:db8:1:2::/64'],
    ['another /64', '2001:db8:1:3::1', '2001:db8:1:3::/64'],
    ['the gap at the start', '::1', '0:0:0:0::/64'],
    ['the gap at the end', '2001:db8::', '2001:db8:0:0::/64'],
    ['a zone', 'fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['a text that is no address', 'unix:', 'unix:'],
  ])('%s', (_what, address, unit) => {
    expect(addressUnit(address)).toBe(unit);
  });

  it('bounds a text that is no address', () => {
    expect(addressUnit('x'.repeat(10_000)).length).toBeLessThanOrEqual(64);
  });
});
