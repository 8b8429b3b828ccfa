/** What is read off a request before its route is known: its id and its caller's address. */
import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import proxyAddr from '@fastify/proxy-addr';
import { type Settings, splitList } from '../../data/runtime/settings.ts';

const SAFE_ID = /^[A-Za-z0-9._-]{1,64}$/;

/**
 * Reads the id of a request: the caller's `X-Request-Id` where it is safe to repeat, else a new one.
 * @param newId gives a unique id within the safe alphabet.
 */
export function requestIdReader(newId: () => string): (request: IncomingMessage) => string {
  return (request) => {
    const sent = request.headers['x-request-id'];
    return typeof sent === 'string' && SAFE_ID.test(sent) ? sent : newId();
  };
}

/** Makes unique ids: a random prefix for this process, then a counter. */
export function createRequestIds(): () => string {
  const prefix = randomBytes(9).toString('base64url');
  let counter = 0;
  return () => `${prefix}-${(counter++).toString(36)}`;
}

/** Trusted proxies as addresses and CIDR ranges. A hop count or "all" would let any caller choose an address. */
export function trustedProxies({ TRUST_PROXY }: Pick<Settings, 'TRUST_PROXY'>): string[] | false {
  const ranges = splitList(TRUST_PROXY);
  return ranges.length > 0 ? ranges : false;
}

/** Reads the caller's address by the rules of Fastify's `request.ip`; empty once the connection has closed. */
export function addressReader(settings: Pick<Settings, 'TRUST_PROXY'>): (request: IncomingMessage) => string {
  const ranges = trustedProxies(settings);
  if (!ranges) return ({ socket }) => socket.remoteAddress ?? '';
  const isTrusted = proxyAddr.compile(ranges);
  return (request) => proxyAddr(request, isTrusted) ?? '';
}
