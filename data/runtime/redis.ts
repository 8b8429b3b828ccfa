/**
 * Connections to Redis or Valkey: one server (`redis://`, `rediss://`, `unix://`) or a cluster.
 *
 * A connection never queues commands while Redis is away and never resends one after a disconnect: a caller that handles
 * money must know whether its command may have run. It reconnects until it is closed.
 *
 * The exception is the connection of a job queue: its worker blocks in Redis until there is work, and jobs are repeatable.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { Cluster, type ClusterOptions, Redis, type RedisOptions } from 'ioredis';
import type { Logger } from 'pino';
import type { Settings } from './settings.ts';

export type RedisClient = Redis | Cluster;

/** Replicas that must hold a change of money before it is acknowledged, by connection. */
const awaited = new WeakMap<RedisClient, number>();
export const replicasAwaited = (client: RedisClient): number => awaited.get(client) ?? 0;

/** Timeout of one command; after it the outcome is unknown. */
export const COMMAND_TIMEOUT_MS = 2_000;
/** A connection without any reply for this long, with commands outstanding, is replaced. */
const SILENT_CONNECTION_MS = 5_000;
const CONNECT_TIMEOUT_MS = 2_000;
/** Time to send what is buffered when a connection is closed. */
const DISCONNECT_TIMEOUT_MS = 200;
const RECONNECT_AT_MOST_MS = 1_000;
const READY_POLL_MS = 5;

/** The purpose of a connection; part of its name in `CLIENT LIST`. */
export type RedisRole = 'metering' | 'tool' | 'admin' | 'jobs';

/** Where and as whom to connect. A `path` is a unix socket and wins over host and port. */
interface Address extends Pick<RedisOptions, 'username' | 'password' | 'db'> {
  host: string;
  port: number;
  path?: string;
  tls?: { servername: string };
}

/** Reads `redis://user:password@host:port/db`, `rediss://…` or `unix:///path?db=n`. */
export function parseRedisUrl(text: string): Address {
  const url = new URL(text);
  const address: Address = { host: '127.0.0.1', port: 6379 };
  if (url.username) address.username = decodeURIComponent(url.username);
  if (url.password) address.password = decodeURIComponent(url.password);
  const isSocket = url.protocol === 'unix:';
  const db = isSocket ? (url.searchParams.get('db') ?? '') : url.pathname.slice(1);
  if (/^\d+$/.test(db)) address.db = Number(db);
  if (isSocket) address.path = decodeURIComponent(url.host + url.pathname);
  if (url.protocol === 'rediss:') address.tls = { servername: url.hostname };
  if (url.hostname) address.host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  if (url.port) address.port = Number(url.port);
  return address;
}

const PROMPT = {
  commandTimeout: COMMAND_TIMEOUT_MS,
  socketTimeout: SILENT_CONNECTION_MS,
  // Commands on a lost connection fail at once, not after their timeout.
  maxRetriesPerRequest: 0,
  autoResendUnfulfilledCommands: false,
};
/** Required by BullMQ for blocking connections. */
const PATIENT = { maxRetriesPerRequest: null };

const backoff = (attempt: number): number =>
  Math.min(25 * 2 ** Math.min(attempt - 1, 10), RECONNECT_AT_MOST_MS);

/**
 * Returns at once and connects in the background; see `whenReady`. Each outage is logged once, not once a retry.
 */
export function connectRedis(
  settings: Pick<Settings, 'REDIS_URL' | 'REDIS_CLUSTER'> & Partial<Pick<Settings, 'REDIS_WAIT_REPLICAS'>>,
  log: Logger,
  role: RedisRole,
): RedisClient {
  const { host, port, path, ...credentials } = parseRedisUrl(settings.REDIS_URL ?? 'redis://127.0.0.1:6379');
  const waits = role === 'jobs';
  const common = {
    ...credentials,
    connectionName: `almanac-${role}`,
    connectTimeout: CONNECT_TIMEOUT_MS,
    disconnectTimeout: DISCONNECT_TIMEOUT_MS,
    ...(waits ? PATIENT : PROMPT),
  };
  const client = settings.REDIS_CLUSTER
    ? new Cluster([{ host, port }], {
        redisOptions: common,
        enableOfflineQueue: waits,
        clusterRetryStrategy: backoff,
        // No retries by the library: the effect of an interrupted command is unknown.
        retryDelayOnFailover: 0,
        slotsRefreshTimeout: CONNECT_TIMEOUT_MS,
        slotsRefreshInterval: 10_000,
        // Certificates of managed clusters name hosts, so hosts are not resolved to addresses.
        ...(credentials.tls && { dnsLookup: (name, done) => done(null, name) }),
      } satisfies ClusterOptions)
    : new Redis({
        ...common,
        ...(path === undefined ? { host, port } : { path }),
        enableOfflineQueue: waits,
        retryStrategy: backoff,
      } satisfies RedisOptions);
  if (client instanceof Cluster) connectNodesEarly(client);
  awaited.set(client, settings.REDIS_WAIT_REPLICAS ?? 0);
  logOutages(client, log, role);
  return client;
}

/**
 * By default a node connects at its first command and refuses those that arrive meanwhile. Waits for the cluster to be
 * ready, because its own first query would be refused as well.
 */
function connectNodesEarly(cluster: Cluster): void {
  const connectWaiting = (): void => {
    if (cluster.status !== 'ready') return;
    for (const node of cluster.nodes()) if (node.status === 'wait') node.connect().catch(() => {});
  };
  cluster.on('ready', connectWaiting);
  cluster.on('+node', connectWaiting);
}

function logOutages(client: RedisClient, log: Logger, role: RedisRole): void {
  let away = false;
  client.on('error', (error: Error) => {
    if (!away) log.error({ role, reason: error.message }, 'Redis is away');
    away = true;
  });
  client.on('ready', () => {
    if (away) log.info({ role }, 'Redis is back');
    away = false;
  });
}

/** Whether commands would be sent: connected, and in a cluster connected to every master. */
export function isReady(client: RedisClient): boolean {
  if (client.status !== 'ready') return false;
  if (client instanceof Redis) return true;
  const masters = client.nodes('master');
  return masters.length > 0 && masters.every((node) => node.status === 'ready');
}

/** Waits until the connection is ready. @returns false after `timeout_ms`. */
export async function whenReady(client: RedisClient, timeout_ms: number): Promise<boolean> {
  const deadline = performance.now() + timeout_ms;
  while (!isReady(client)) {
    if (client.status === 'end' || performance.now() > deadline) return false;
    await pause(READY_POLL_MS);
  }
  return true;
}

/** The alternating names and values of a stream entry, as a record. */
export function fieldsToRecord(list: readonly string[]): Record<string, string> {
  const fields: Record<string, string> = {};
  for (let at = 0; at + 1 < list.length; at += 2) fields[list[at] ?? ''] = list[at + 1] ?? '';
  return fields;
}
