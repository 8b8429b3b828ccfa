/**
 * Prevents server-side request forgery: refuses redirects to private addresses and to names that resolve to one. Only
 * the configured origin itself (scheme, host and port) may have a private address.
 */
import { buildConnector } from 'undici';
import { isPrivateHost, publicLookup } from '../../data/runtime/public-addresses.ts';
import { UpstreamError } from './upstream.ts';

/**
 * @param origin the configured origin
 * @throws {UpstreamError} when another URL names a private address or `localhost`.
 */
export function refusePrivateHost(url: URL, origin: URL): void {
  if (url.origin === origin.origin || !isPrivateHost(url.hostname)) return;
  const host = url.hostname.replace(/^\[|\]$/g, '');
  throw new UpstreamError(`${origin.host} redirects to the private address ${host}: refused`);
}

/** Connects to the configured origin at any address, and to all others at public ones. */
export function guardedConnect(origin: URL): buildConnector.connector {
  const connectToOrigin = buildConnector({});
  const connectToOthers = buildConnector({ lookup: publicLookup() });
  return (options, callback) => {
    const port = options.port === '' || options.port === undefined ? '' : `:${options.port}`;
    const target = URL.parse(`${options.protocol}//${options.hostname}${port}`);
    (target?.origin === origin.origin ? connectToOrigin : connectToOthers)(options, callback);
  };
}
