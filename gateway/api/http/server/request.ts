/** What is read off a request before its route is known: its ids and its caller's address. */
import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import proxyAddr from '@fastify/proxy-addr';
import type { Settings } from '../../../../data/runtime/settings.ts';
import { splitList } from '../../../../data/runtime/settings-schema.ts';

const SAFE_ID = /^[A-Za-z0-9._-]{1,64}$/;

/** Names our own id in answers to a client that sent one: ours alone is unique, in ledger, audit log and log. */
export const SERVER_REQUEST_ID = 'X-Server-Request-Id';

/** The client's `X-Request-Id`, to be repeated in its answer; null where there is none or it is not safe to repeat. */
export function clientRequestId({ headers }: Pick<IncomingMessage, 'headers'>): string | null {
  const sent = headers['x-request-id'];
  return typeof sent === 'string' && SAFE_ID.test(sent) ? sent : null;
}

/** Makes unique ids: a random prefix for this process, then a counter. */
export function createRequestIds(): () => string {
  const prefix = randomBytes(9).toString('base64url');
  let count = 0;
  return () => `${prefix}-${(count++).toString(36)}`;
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
