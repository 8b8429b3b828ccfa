/**
 * Keeps webhooks off networks that only this machine reaches, and off services that speak no HTTP: connections go to
 * addresses of the public internet alone, and to no port that is reserved for anything but the web. The address is checked
 * when the connection is made, after the name was resolved, so a name that changes gains nothing.
 */
import { type LookupAddress, type LookupOptions, lookup } from 'node:dns';
import { BlockList, isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { buildConnector } from 'undici';

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

/** What ports of URLs may be, in words. */
export const PORTS_EXPECTED = '80, 443, or 1024 and above';

const RESERVED_PORTS_END = 1_024;

/** @param port of a URL; empty for that of its scheme. */
export function isWebhookPort(port: string): boolean {
  return ['', '80', '443'].includes(port) || Number(port) >= RESERVED_PORTS_END;
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
export function publicLookup(resolve: Lookup) {
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

export interface ConnectorOptions {
  /** Connects to private addresses, too. */
  allowsPrivate: boolean;
  /** Connects to every port. Default false. */
  allowsAnyPort?: boolean;
  timeout_ms: number;
}

/** Node resolves no address that stands in the URL itself, so it is checked apart. */
export function webhookConnector({
  allowsPrivate,
  allowsAnyPort = false,
  timeout_ms,
}: ConnectorOptions): buildConnector.connector {
  const connect = buildConnector({
    timeout: timeout_ms,
    ...(!allowsPrivate && { lookup: publicLookup(lookup) }),
  });
  return (options, callback) => {
    const { hostname, port } = options;
    if (!allowsPrivate && isPrivateHost(hostname)) callback(new PrivateAddressError(hostname), null);
    else if (!allowsAnyPort && !isWebhookPort(port))
      callback(new Error(`port ${port} is not ${PORTS_EXPECTED}`), null);
    else connect(options, callback);
  };
}
