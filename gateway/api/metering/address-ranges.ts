/**
 * Address ranges that a key is bound to, in the form in which `admit.lua` compares them.
 *
 * A stored range is `<CIDR>=<first>-<last>`: the first and the last address in hexadecimal, 8 digits for IPv4 and 32 for
 * IPv6, so that a script compares text. IPv4 inside IPv6 (`::ffff:192.0.2.1`) counts as IPv4.
 */
import ipaddr from 'ipaddr.js';

type Address = ipaddr.IPv4 | ipaddr.IPv6;

const MAPPED_BITS = 96;

/** An address in hexadecimal; `unknown`, which no range holds, for text that is none. */
export function comparableAddress(text: string): string {
  const [bare = ''] = text.split('%', 1);
  if (!isAddress(bare)) return 'unknown';
  return toHex(ipaddr.process(bare));
}

/**
 * A range as it is stored.
 * @param text an address, or a CIDR range: `203.0.113.0/24`, `2001:db8::/32`
 * @throws {RangeError} that says what was expected
 */
export function storedRange(text: string): string {
  const [address = '', prefix, ...rest] = text.trim().split('/');
  if (!isAddress(address) || rest.length > 0) throw new RangeError(expected(text));
  const written = ipaddr.parse(address);
  const size = written.kind() === 'ipv4' ? 32 : 128;
  const bits = prefix === undefined ? size : /^\d{1,3}$/.test(prefix) ? Number(prefix) : Number.NaN;
  if (!(bits <= size)) throw new RangeError(expected(text));
  const isMapped = written instanceof ipaddr.IPv6 && written.isIPv4MappedAddress() && bits >= MAPPED_BITS;
  return isMapped ? rangeOf(written.toIPv4Address(), bits - MAPPED_BITS, text) : rangeOf(written, bits, text);
}

/** The CIDR of a stored range. */
export const readableRange = (stored: string): string => stored.split('=', 1)[0] ?? '';

function rangeOf(address: Address, bits: number, text: string): string {
  const cidr = `${address.toString()}/${bits}`;
  const kind = address instanceof ipaddr.IPv4 ? ipaddr.IPv4 : ipaddr.IPv6;
  const [first, last] = [kind.networkAddressFromCIDR(cidr), kind.broadcastAddressFromCIDR(cidr)];
  if (toHex(first) !== toHex(address)) {
    const range = `${first.toString()}/${bits}`;
    throw new RangeError(
      `"${text.trim()}" is an address within a range: write ${range} for the range, or the address alone.`,
    );
  }
  return `${cidr}=${toHex(first)}-${toHex(last)}`;
}

/** Only the usual four decimal numbers are IPv4: no octal ones, no zones. */
const isAddress = (text: string): boolean =>
  ipaddr.IPv4.isValidFourPartDecimal(text) || (ipaddr.IPv6.isValid(text) && !text.includes('%'));

const toHex = (address: Address): string => Buffer.from(address.toByteArray()).toString('hex');

const expected = (text: string): string =>
  `"${text.trim()}" is neither an IP address nor a range in CIDR notation, such as 203.0.113.0/24 or 2001:db8::/32.`;
