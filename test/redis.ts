/**
 * A real Redis for a test file: `redis-server` or `valkey-server` on a unix socket, without persistence. By default it is
 * the one of the Vitest worker. `startRedisCluster` starts a cluster on free loopback ports.
 */
import type { ChildProcess } from 'node:child_process';
import { mkdtempDisposable, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Cluster, type Redis } from 'ioredis';
import type { RedisClient } from '../data/runtime/redis.ts';
import { stopAfterTests } from './after-tests.ts';
import type { TestCluster } from './redis-cluster.ts';
import { appendOnly, atSocket, connected, end, launch, untilUp } from './redis-server.ts';
import { leaseRedis } from './shared-redis.ts';

export { startRedisCluster, type TestCluster } from './redis-cluster.ts';
export { silentLog } from './redis-server.ts';

export interface TestRedis extends AsyncDisposable {
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

/** What differs between the servers that a test may be given. */
interface Server {
  url: string;
  isCluster?: boolean;
  connect(): Promise<RedisClient>;
  /** Of one server that is not shared. */
  kill?(): Promise<void>;
  restart?(): Promise<void>;
  close?(): unknown;
}

function asTestRedis({ url, isCluster = false, connect, kill, restart, close }: Server): TestRedis {
  const clients: RedisClient[] = [];
  const refuse = (): never => {
    throw new Error('a cluster, or a shared Redis: start it with { dedicated: true }');
  };
  const stop = async (): Promise<void> => {
    // Background writes of this test file must not reach the next one.
    for (const client of clients) client.disconnect();
    await close?.();
  };
  return {
    url,
    settings: { REDIS_URL: url, REDIS_CLUSTER: String(isCluster) },
    connect: async () => {
      const client = await connect();
      clients.push(client);
      return client;
    },
    kill: kill ?? refuse,
    restart: restart ?? refuse,
    stop,
    [Symbol.asyncDispose]: stop,
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
  if (sharedCluster) return useCluster(sharedCluster);
  const lease = dedicated ? null : await leaseRedis();
  if (lease === null) return startDedicated(persistent);
  const url = `unix://${lease.socket}`;
  return asTestRedis({ url, connect: () => connected(url), close: lease.release });
}

/** The same, stopped after the tests of the file or suite. */
export const useRedis = (options?: RedisOptions): Promise<TestRedis> => stopAfterTests(startRedis(options));

async function useCluster(cluster: TestCluster): Promise<TestRedis> {
  const redis = await cluster.connect();
  await flushRedis(redis);
  redis.disconnect();
  return asTestRedis({ url: cluster.url, isCluster: true, connect: () => cluster.connect(1) });
}

async function startDedicated(persistent: boolean): Promise<TestRedis> {
  const dir = await mkdtempDisposable(join(tmpdir(), 'alm-redis-'));
  const socket = join(dir.path, 'redis.sock');
  const options = ['--port', '0', '--unixsocket', socket, ...appendOnly(persistent)];
  const start = async (): Promise<ChildProcess> => {
    await rm(socket, { force: true });
    const started = await launch(dir.path, options);
    await untilUp(() => atSocket(socket));
    return started;
  };
  let server = await start();
  const url = `unix://${socket}`;
  const kill = (): Promise<void> => end(server);
  return asTestRedis({
    url,
    connect: () => connected(url),
    kill,
    restart: async () => {
      server = await start();
    },
    close: async () => {
      await kill();
      await dir.remove();
    },
  });
}
