/**
 * Keeps a provider from leading the build into the network it runs in: a redirect, or a name that resolves to a
 * private address, is refused unless the provider's own origin lies there.
 */
import { type LookupAddress, type LookupOptions, lookup } from 'node:dns';
import { BlockList, isIP } from 'node:net';
import { UpstreamError } from './upstream-error.ts';

const privateRanges = new BlockList();
for (const [address, bits] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['224.0.0.0', 3],
] as const) {
  privateRanges.addSubnet(address, bits, 'ipv4');
}
for (const [address, bits] of [
  ['::', 127],
  ['fc00::', 7],
  ['fe80::', 10],
  ['ff00::', 8],
] as const) {
  privateRanges.addSubnet(address, bits, 'ipv6');
}

/** Whether an address belongs to no one on the public internet. */
export function isPrivateAddress(address: string): boolean {
  const family = isIP(address);
  if (family === 0) return false;
  // IPv4 in disguise: nobody serves data there, and a block list takes such a range for all of IPv4.
  if (/^::ffff:/i.test(address)) return true;
  return privateRanges.check(address, family === 6 ? 'ipv6' : 'ipv4');
}

const bareHost = (url: URL): string => url.hostname.replace(/^\[|\]$/g, '');

/** @throws {UpstreamError} when a URL names a private address itself, or a host that only exists locally. */
export function refusePrivateHost(url: URL, origin: URL): void {
  const host = bareHost(url);
  if (host === bareHost(origin)) return;
  if (isPrivateAddress(host) || host === 'localhost' || host.endsWith('.localhost')) {
    throw new UpstreamError(`${origin.host} redirects to the private address ${host}: refused`);
  }
}

type LookupCallback = (error: Error | null, address: string | LookupAddress[], family?: number) => void;

/** A DNS look-up that refuses private answers for every host but the origin's own. */
export function guardedLookup(origin: URL) {
  return (hostname: string, options: LookupOptions, callback: LookupCallback): void => {
    lookup(hostname, { ...options, all: true }, (error, addresses) => {
      if (error) return callback(error, []);
      const bad =
        hostname === bareHost(origin) ? undefined : addresses.find((one) => isPrivateAddress(one.address));
      if (bad) {
        return callback(
          new UpstreamError(`${hostname} resolves to the private address ${bad.address}: refused`),
          [],
        );
      }
      if (options.all) return callback(null, addresses);
      const [first] = addresses;
      callback(null, first?.address ?? '', first?.family);
    });
  };
}
