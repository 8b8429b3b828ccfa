/**
 * Keeps webhooks off networks that only this machine reaches, and off services that speak no HTTP: connections go to
 * addresses of the public internet alone, and to no port that is reserved for anything but the web.
 */
import { buildConnector } from 'undici';
import {
  isPrivateHost,
  PrivateAddressError,
  publicLookup,
} from '../../../../data/runtime/public-addresses.ts';

/** What ports of URLs may be, in words. */
export const PORTS_EXPECTED = '80, 443, or 1024 and above';

const RESERVED_PORTS_END = 1_024;

/** @param port of a URL; empty for that of its scheme. */
export function isWebhookPort(port: string): boolean {
  return ['', '80', '443'].includes(port) || Number(port) >= RESERVED_PORTS_END;
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
    ...(!allowsPrivate && { lookup: publicLookup() }),
  });
  return (options, callback) => {
    const { hostname, port } = options;
    if (!allowsPrivate && isPrivateHost(hostname)) callback(new PrivateAddressError(hostname), null);
    else if (!allowsAnyPort && !isWebhookPort(port))
      callback(new Error(`port ${port} is not ${PORTS_EXPECTED}`), null);
    else connect(options, callback);
  };
}
