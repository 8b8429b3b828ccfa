/**
 * What counts as one anonymous caller: an IPv4 address, or the /64 of an IPv6 address, because whoever has one
 * address of a /64 usually has all of them. IPv4 written inside IPv6 (`::ffff:192.0.2.1`) counts as IPv4.
 */
import { isIPv4, isIPv6 } from 'node:net';

const MAPPED_PREFIX = '0:0:0:0:0:ffff:';

/** The canonical text of the unit. Text that is no address counts as itself, cut to a bounded length. */
export function addressUnit(address: string): string {
  if (isIPv4(address)) return address;
  const [bare = ''] = address.split('%', 1);
  if (!isIPv6(bare)) return address.slice(0, 64);
  const groups = expand(bare);
  const text = groups.map((group) => group.toString(16)).join(':');
  if (text.startsWith(MAPPED_PREFIX)) return dotted(groups[6] ?? 0, groups[7] ?? 0);
  return `${groups
    .slice(0, 4)
    .map((group) => group.toString(16))
    .join(':')}::/64`;
}

const dotted = (high: number, low: number): string => `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`;

/** The eight 16-bit groups of a valid IPv6 address. */
function expand(address: string): number[] {
  const [head = '', tail] = address.split('::');
  const front = groupsOf(head);
  if (tail === undefined) return front;
  const back = groupsOf(tail);
  return [...front, ...new Array<number>(8 - front.length - back.length).fill(0), ...back];
}

function groupsOf(text: string): number[] {
  if (text === '') return [];
  return text.split(':').flatMap((part) => {
    if (!part.includes('.')) return Number.parseInt(part, 16);
    const [a = 0, b = 0, c = 0, d = 0] = part.split('.').map(Number);
    return [a * 256 + b, c * 256 + d];
  });
}
