/**
 * Keeps a provider from leading the build into the network it runs in: a redirect to a private address, or to a name
 * that resolves to one, is refused. Only the very origin that the definition or PROVIDER_MIRROR names, scheme, host and
 * port, may lie there: it was put there on purpose. Its neighbours on the same host were not.
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

/** Whether an address belongs to no one on the public internet. */
export function isPrivateAddress(address: string): boolean {
  const family = isIP(address);
  if (family === 0) return false;
  // IPv4 in disguise, like the translated ranges above: nobody serves data there, and a block list takes such a range
  // for all of IPv4.
  if (/^::ffff:/i.test(address)) return true;
  return privateRanges.check(address, family === 6 ? 'ipv6' : 'ipv4');
}

const bareHost = (url: URL): string => url.hostname.replace(/^\[|\]$/g, '');

/**
 * @param origin the origin that was configured
 * @throws {UpstreamError} when a URL names a private address itself, or a host that only exists locally.
 */
export function refusePrivateHost(url: URL, origin: URL): void {
  if (url.origin === origin.origin) return;
  const host = bareHost(url);
  if (isPrivateAddress(host) || /(^|\.)localhost\.?$/i.test(host)) {
    throw new UpstreamError(`${origin.host} redirects to the private address ${host}: refused`);
  }
}

type LookupCallback = (error: Error | null, address: string | LookupAddress[], family?: number) => void;

/** A DNS look-up that refuses private answers. */
export function guardedLookup(hostname: string, options: LookupOptions, callback: LookupCallback): void {
  lookup(hostname, { ...options, all: true }, (error, addresses) => {
    if (error) return callback(error, []);
    const bad = addresses.find((one) => isPrivateAddress(one.address));
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
}

/** Connects to the configured origin wherever it lies, and to all others through `guardedLookup`. */
export function guardedConnect(origin: URL): buildConnector.connector {
  const toOrigin = buildConnector({});
  const toOthers = buildConnector({ lookup: guardedLookup });
  return (options, callback) => {
    const port = options.port === '' || options.port === undefined ? '' : `:${options.port}`;
    const target = URL.parse(`${options.protocol}//${options.hostname}${port}`);
    (target?.origin === origin.origin ? toOrigin : toOthers)(options, callback);
  };
}
