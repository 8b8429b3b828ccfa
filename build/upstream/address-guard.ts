/**
 * Prevents server-side request forgery: refuses redirects to private addresses and to names that resolve to one. Only
 * the configured origin itself (scheme, host and port) may have a private address.
 */
import { type LookupAddress, type LookupOptions, lookup } from 'node:dns';
import { BlockList, isIP } from 'node:net';
import { buildConnector } from 'undici';
import { UpstreamError } from './upstream.ts';

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
  ['::', 96],
  ['64:ff9b::', 96],
  ['64:ff9b:1::', 48],
  ['2001::', 32],
  ['2002::', 16],
  ['fc00::', 7],
  ['fe80::', 10],
  ['fec0::', 10],
  ['ff00::', 8],
] as const) {
  privateRanges.addSubnet(address, bits, 'ipv6');
}

/** Whether an IP address is not routable on the public internet. */
export function isPrivateAddress(address: string): boolean {
  const family = isIP(address);
  if (family === 0) return false;
  // IPv4-mapped addresses are refused as a whole: as a subnet of the block list they would match every IPv4 address.
  if (/^::ffff:/i.test(address)) return true;
  return privateRanges.check(address, family === 6 ? 'ipv6' : 'ipv4');
}

const bareHost = (url: URL): string => url.hostname.replace(/^\[|\]$/g, '');

/**
 * @param origin the configured origin
 * @throws {UpstreamError} when another URL names a private address or `localhost`.
 */
export function refusePrivateHost(url: URL, origin: URL): void {
  if (url.origin === origin.origin) return;
  const host = bareHost(url);
  if (isPrivateAddress(host) || /(^|\.)localhost\.?$/i.test(host)) {
    throw new UpstreamError(`${origin.host} redirects to the private address ${host}: refused`);
  }
}

type LookupCallback = (error: Error | null, address: string | LookupAddress[], family?: number) => void;

/** A DNS look-up that fails on private addresses. */
export function guardedLookup(hostname: string, options: LookupOptions, callback: LookupCallback): void {
  lookup(hostname, { ...options, all: true }, (error, addresses) => {
    if (error) return callback(error, []);
    const refused = addresses.find((one) => isPrivateAddress(one.address));
    if (refused) {
      return callback(
        new UpstreamError(`${hostname} resolves to the private address ${refused.address}: refused`),
        [],
      );
    }
    if (options.all) return callback(null, addresses);
    const [first] = addresses;
    callback(null, first?.address ?? '', first?.family);
  });
}

/** Connects to the configured origin at any address, and to all others through `guardedLookup`. */
export function guardedConnect(origin: URL): buildConnector.connector {
  const connectToOrigin = buildConnector({});
  const connectToOthers = buildConnector({ lookup: guardedLookup });
  return (options, callback) => {
    const port = options.port === '' || options.port === undefined ? '' : `:${options.port}`;
    const target = URL.parse(`${options.protocol}//${options.hostname}${port}`);
    (target?.origin === origin.origin ? connectToOrigin : connectToOthers)(options, callback);
  };
}
