/**
 * Which addresses are of the public internet, for connections to URLs that others chose: webhooks, and redirects of
 * providers. `publicLookup` checks when the connection is made, after the name was resolved, so a name that changes gains
 * nothing.
 */
import { type LookupAddress, type LookupOptions, lookup } from 'node:dns';
import { BlockList, isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** Ranges without hosts of the public internet that `ipaddr.js` counts as unicast. */
const otherRanges = new BlockList();
otherRanges.addSubnet('192.88.99.0', 24, 'ipv4');

/** What is allocated of IPv6; the rest is of no public host. */
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3');

/** Whether an IP address is one of the public internet. IPv4 inside IPv6 counts as what it is inside. */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.process(address);
  if (parsed.range() !== 'unicast') return false;
  if (parsed instanceof ipaddr.IPv6) return parsed.match(GLOBAL_UNICAST);
  return !otherRanges.check(parsed.toString(), 'ipv4');
}

const bareHost = (hostname: string): string => hostname.replace(/^\[|\]$/g, '');

/** Whether the host of a URL is a private address or `localhost`, as far as that shows without resolving it. */
export function isPrivateHost(hostname: string): boolean {
  const host = bareHost(hostname);
  if (isIP(host) !== 0) return !isPublicAddress(host);
  return /(^|\.)localhost\.?$/i.test(host);
}

export class PrivateAddressError extends Error {
  override name = 'PrivateAddressError';

  constructor(host: string) {
    super(`${host} is no address of the public internet`);
  }
}

type LookupCallback = (error: Error | null, address: string | LookupAddress[], family?: number) => void;
export type Lookup = typeof lookup;

/** A look-up that fails when any address of a name is not public. */
export function publicLookup(resolve: Lookup = lookup) {
  return (hostname: string, options: LookupOptions, callback: LookupCallback): void => {
    resolve(hostname, { ...options, all: true }, (error, addresses) => {
      if (error) return callback(error, []);
      if (!addresses.every(({ address }) => isPublicAddress(address)))
        return callback(new PrivateAddressError(hostname), []);
      if (options.all) return callback(null, addresses);
      const [first] = addresses;
      callback(null, first?.address ?? '', first?.family);
    });
  };
}
