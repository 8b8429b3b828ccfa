/** Where a request comes from: its connection's other end, or what trusted proxies say is behind them. */
import type { IncomingMessage } from 'node:http';
import proxyAddr from '@fastify/proxy-addr';
import { type Settings, splitList } from '../../data/runtime/settings.ts';

/** Addresses and CIDR ranges only: a number of hops or "all" would let anyone choose an address. */
export function trustedProxies({ TRUST_PROXY }: Pick<Settings, 'TRUST_PROXY'>): string[] | false {
  const ranges = splitList(TRUST_PROXY);
  return ranges.length > 0 ? ranges : false;
}

/** The caller's address by the same rules as the framework's `request.ip`; empty once the connection is gone. */
export function callerAddress(settings: Pick<Settings, 'TRUST_PROXY'>): (request: IncomingMessage) => string {
  const ranges = trustedProxies(settings);
  if (!ranges) return ({ socket }) => socket.remoteAddress ?? '';
  const isTrusted = proxyAddr.compile(ranges);
  return (request) => proxyAddr(request, isTrusted) ?? '';
}
