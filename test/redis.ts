/**
 * A real Redis for a test file: `redis-server` or `valkey-server` on a unix socket, without persistence. By default it is
 * the one of the Vitest worker. `startRedisCluster` starts a cluster on free loopback ports.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Cluster, type Redis } from 'ioredis';
import type { RedisClient } from '../data/runtime/redis.ts';
import type { TestCluster } from './redis-cluster.ts';
import { appendOnly, atSocket, connected, end, launch, untilUp } from './redis-server.ts';
import { type Lease, leaseRedis } from './shared-redis.ts';

export { startRedisCluster, type TestCluster } from './redis-cluster.ts';
export { silentLog } from './redis-server.ts';

export interface TestRedis {
  url: string;
  /** The settings of a process that uses it. */
  settings: { REDIS_URL: string; REDIS_CLUSTER: string };
  /** A connection as the service makes it, ready. Closed by `stop`. */
  connect(): Promise<RedisClient>;
  /** Ends the server at once, as a crash would. */
  kill(): Promise<void>;
  /** Starts it again at the same place (empty, unless `persistent`). */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

let sharedCluster: TestCluster | null = null;

/** Makes `startRedis` give this cluster for the rest of the test file. */
export function useRedisCluster(cluster: TestCluster): void {
  sharedCluster = cluster;
}

/** Removes all keys, in a cluster on every node. */
export async function flushRedis(redis: RedisClient): Promise<void> {
  await Promise.all(listMasters(redis).map((node) => node.flushall()));
}

/** Names of all keys that match, in a cluster those of every node. */
export async function keysMatching(redis: RedisClient, pattern = '*'): Promise<string[]> {
  return (await Promise.all(listMasters(redis).map((node) => node.keys(pattern)))).flat();
}

/** How often the named commands ran during `work`, on all nodes together. */
export async function countCommands(
  redis: RedisClient,
  names: readonly string[],
  work: () => Promise<unknown>,
): Promise<number> {
  const nodes = listMasters(redis);
  await Promise.all(nodes.map((node) => node.config('RESETSTAT')));
  await work();
  const stats = await Promise.all(nodes.map((node) => node.info('commandstats')));
  const counted = new RegExp(`cmdstat_(?:${names.join('|')}):calls=(\\d+).*failed_calls=(\\d+)`, 'g');
  const counts = [...stats.join('\n').matchAll(counted)];
  return counts.reduce((sum, [, calls, failed]) => sum + Number(calls) - Number(failed), 0);
}

const listMasters = (redis: RedisClient): Redis[] =>
  redis instanceof Cluster ? redis.nodes('master') : [redis];

/** A cluster has no `kill` and `restart` of its one server: tests of those use a single server. */
async function asRedis(cluster: TestCluster): Promise<TestRedis> {
  const singleServerOnly = (): never => {
    throw new Error('a cluster is not one server');
  };
  const clients: Cluster[] = [];
  const connect = async (replicas: number): Promise<Cluster> => {
    const client = await cluster.connect(replicas);
    clients.push(client);
    return client;
  };
  await flushRedis(await connect(0));
  return {
    url: cluster.url,
    settings: { REDIS_URL: cluster.url, REDIS_CLUSTER: 'true' },
    connect: () => connect(1),
    kill: singleServerOnly,
    restart: singleServerOnly,
    // Background writes of this test file must not reach the next one.
    stop: async () => {
      for (const client of clients) client.disconnect();
    },
  };
}

export interface RedisOptions {
  /** An append-only file in which everything acknowledged survives `kill` and `restart`. */
  persistent?: boolean;
  /** A server of its own, which the test may kill, restart, pause or configure. */
  dedicated?: boolean;
}

/** The Redis of this worker, emptied, or a server of its own. */
export async function startRedis({
  persistent = false,
  dedicated = persistent,
}: RedisOptions = {}): Promise<TestRedis> {
  if (sharedCluster) return asRedis(sharedCluster);
  const lease = dedicated ? null : await leaseRedis();
  return lease ? asLeased(lease) : startDedicated(persistent);
}

function asLeased({ socket, release }: Lease): TestRedis {
  const clients: RedisClient[] = [];
  const url = `unix://${socket}`;
  const refuse = (): never => {
    throw new Error('this Redis is shared: start it with { dedicated: true }');
  };
  return {
    url,
    settings: { REDIS_URL: url, REDIS_CLUSTER: 'false' },
    connect: () => connected(url, false, clients),
    kill: refuse,
    restart: refuse,
    stop: async () => {
      for (const client of clients) client.disconnect();
      release();
    },
  };
}

async function startDedicated(persistent: boolean): Promise<TestRedis> {
  const dir = await mkdtemp(join(tmpdir(), 'alm-redis-'));
  const socket = join(dir, 'redis.sock');
  const options = ['--port', '0', '--unixsocket', socket, ...appendOnly(persistent)];
  let server = await launch(dir, options);
  await untilUp(() => atSocket(socket));
  const clients: RedisClient[] = [];
  const url = `unix://${socket}`;
  const kill = (): Promise<void> => end(server);
  return {
    url,
    settings: { REDIS_URL: url, REDIS_CLUSTER: 'false' },
    connect: () => connected(url, false, clients),
    kill,
    restart: async () => {
      await rm(socket, { force: true });
      server = await launch(dir, options);
      await untilUp(() => atSocket(socket));
    },
    stop: async () => {
      for (const client of clients) client.disconnect();
      await kill();
      await rm(dir, { recursive: true, force: true });
    },
  };
}
