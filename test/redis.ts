/**
 * A real Redis for one test file: `redis-server` or `valkey-server` on a unix socket in a directory of its own, without
 * persistence, gone when the file is done. `startRedisCluster` does the same with a cluster on free loopback ports.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Cluster, Redis } from 'ioredis';
import { pino } from 'pino';
import { connectRedis, type RedisClient, whenReady } from '../data/runtime/redis.ts';

import type { TestCluster } from './redis-cluster.ts';

export { startRedisCluster, type TestCluster } from './redis-cluster.ts';

export const silentLog = pino({ level: 'silent' });

const BINARIES = ['redis-server', 'valkey-server'];
const UP_WITHIN_MS = 10_000;

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

let standIn: TestCluster | null = null;

/** From now on, and in this file of tests, `startRedis` gives a cluster instead of a server of its own. */
export function serveFrom(cluster: TestCluster): void {
  standIn = cluster;
}

/** Removes everything, in a cluster from every node. */
export async function empty(redis: RedisClient): Promise<void> {
  await Promise.all(mastersOf(redis).map((node) => node.flushall()));
}

/** The names of all keys that match, in a cluster those of every node. */
export async function everyKey(redis: RedisClient, pattern = '*'): Promise<string[]> {
  return (await Promise.all(mastersOf(redis).map((node) => node.keys(pattern)))).flat();
}

/** How often some commands were carried out during some work, on all nodes together. */
export async function callsDuring(
  redis: RedisClient,
  names: readonly string[],
  work: () => Promise<unknown>,
): Promise<number> {
  const nodes = mastersOf(redis);
  await Promise.all(nodes.map((node) => node.config('RESETSTAT')));
  await work();
  const stats = await Promise.all(nodes.map((node) => node.info('commandstats')));
  const counted = new RegExp(`cmdstat_(?:${names.join('|')}):calls=(\\d+).*failed_calls=(\\d+)`, 'g');
  const counts = [...stats.join('\n').matchAll(counted)];
  return counts.reduce((sum, [, calls, failed]) => sum + Number(calls) - Number(failed), 0);
}

const mastersOf = (redis: RedisClient): Redis[] =>
  redis instanceof Cluster ? redis.nodes('master') : [redis];

/** What does not exist for a cluster are the ends of one server: tests of those use one server. */
async function asRedis(cluster: TestCluster): Promise<TestRedis> {
  const oneServer = (): never => {
    throw new Error('a cluster is not one server');
  };
  await empty(await cluster.connect());
  return {
    url: cluster.url,
    settings: { REDIS_URL: cluster.url, REDIS_CLUSTER: 'true' },
    connect: () => cluster.connect(1),
    kill: oneServer,
    restart: oneServer,
    stop: async () => {},
  };
}

/** `persistent`: an append-only file in which everything acknowledged survives `kill` and `restart`. */
export async function startRedis({ persistent = false } = {}): Promise<TestRedis> {
  if (standIn) return asRedis(standIn);
  const dir = await mkdtemp(join(tmpdir(), 'alm-redis-'));
  const socket = join(dir, 'redis.sock');
  const options = ['--port', '0', '--unixsocket', socket, ...appendOnly(persistent)];
  let server = await launch(dir, options);
  await untilUp(() => new Redis({ path: socket, lazyConnect: true, retryStrategy: () => null }));
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
      await untilUp(() => new Redis({ path: socket, lazyConnect: true, retryStrategy: () => null }));
    },
    stop: async () => {
      for (const client of clients) client.disconnect();
      await kill();
      await rm(dir, { recursive: true, force: true });
    },
  };
}

/** A connection as the service makes it, ready; it is added to `clients`. */
export async function connected(
  url: string,
  cluster: boolean,
  clients: RedisClient[],
  replicas = 0,
): Promise<RedisClient> {
  const settings = { REDIS_URL: url, REDIS_CLUSTER: cluster, REDIS_WAIT_REPLICAS: replicas };
  const client = connectRedis(settings, silentLog, 'metering');
  clients.push(client);
  if (!(await whenReady(client, UP_WITHIN_MS))) throw new Error(`no answer from ${url}`);
  return client;
}

/** As the private Redis: with `everysec`, what is acknowledged while the disk is syncing is lost in a kill. */
export const appendOnly = (persistent: boolean): string[] =>
  persistent ? ['--appendonly', 'yes', '--appendfsync', 'always'] : ['--appendonly', 'no'];

/** The first server binary on PATH, running. */
export async function launch(dir: string, options: string[]): Promise<ChildProcess> {
  for (const binary of BINARIES) {
    const child = spawn(binary, ['--save', '', '--dir', dir, '--daemonize', 'no', ...options], {
      stdio: 'ignore',
    });
    const spawned = await new Promise<boolean>((settle) => {
      child.once('spawn', () => settle(true));
      child.once('error', () => settle(false));
    });
    if (spawned) return child;
  }
  throw new Error(`neither ${BINARIES.join(' nor ')} is on PATH`);
}

export async function untilUp(open: () => Redis): Promise<void> {
  const deadline_ms = Date.now() + UP_WITHIN_MS;
  while (Date.now() < deadline_ms) {
    const client = open();
    client.on('error', () => {});
    const up = await client
      .connect()
      .then(() => client.ping())
      .catch(() => null);
    client.disconnect();
    if (up) return;
    await pause(10);
  }
  throw new Error('Redis did not start');
}

export function end(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return Promise.resolve();
  return new Promise((settle) => {
    server.once('exit', () => settle());
    server.kill('SIGKILL');
  });
}
