/**
 * A real Redis for one test file: `redis-server` or `valkey-server` on a unix socket in a directory of its own, without
 * persistence, gone when the file is done. `startRedisCluster` does the same with three masters on free loopback ports.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Cluster, Redis } from 'ioredis';
import { pino } from 'pino';
import { connectRedis, type RedisClient, whenReady } from '../data/runtime/redis.ts';

export const silentLog = pino({ level: 'silent' });

const BINARIES = ['redis-server', 'valkey-server'];
const UP_WITHIN_MS = 10_000;
const SLOTS = 16_384;

export interface TestRedis {
  url: string;
  /** A connection as the service makes it, ready. Closed by `stop`. */
  connect(): Promise<RedisClient>;
  /** Ends the server at once, as a crash would. */
  kill(): Promise<void>;
  /** Starts it again at the same place (empty, unless `persistent`). */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/** `persistent`: an append-only file that survives `kill` and `restart`. */
export async function startRedis({ persistent = false } = {}): Promise<TestRedis> {
  const dir = await mkdtemp(join(tmpdir(), 'alm-redis-'));
  const socket = join(dir, 'redis.sock');
  const options = ['--port', '0', '--unixsocket', socket, '--appendonly', persistent ? 'yes' : 'no'];
  let server = await launch(dir, options);
  await untilUp(() => new Redis({ path: socket, lazyConnect: true, retryStrategy: () => null }));
  const clients: RedisClient[] = [];
  const url = `unix://${socket}`;
  const kill = (): Promise<void> => end(server);
  return {
    url,
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

export interface TestCluster {
  url: string;
  connect(): Promise<Cluster>;
  stop(): Promise<void>;
}

/** Three masters that share the slots evenly. */
export async function startRedisCluster(): Promise<TestCluster> {
  const dir = await mkdtemp(join(tmpdir(), 'alm-cluster-'));
  const ports = await freePorts(3);
  const servers = await Promise.all(
    ports.map((port) =>
      launch(dir, [
        ...['--port', String(port), '--bind', '127.0.0.1', '--appendonly', 'no'],
        ...['--cluster-enabled', 'yes', '--cluster-config-file', `nodes-${port}.conf`],
        ...['--cluster-node-timeout', '5000'],
      ]),
    ),
  );
  await formCluster(ports);
  const clients: RedisClient[] = [];
  const url = `redis://127.0.0.1:${ports[0]}`;
  return {
    url,
    connect: async () => {
      const client = await connected(url, true, clients);
      if (client instanceof Cluster) return client;
      throw new Error('a cluster was asked for');
    },
    stop: async () => {
      for (const client of clients) client.disconnect();
      await Promise.all(servers.map(end));
      await rm(dir, { recursive: true, force: true });
    },
  };
}

async function connected(url: string, cluster: boolean, clients: RedisClient[]): Promise<RedisClient> {
  const client = connectRedis({ REDIS_URL: url, REDIS_CLUSTER: cluster }, silentLog, 'metering');
  clients.push(client);
  if (!(await whenReady(client, UP_WITHIN_MS))) throw new Error(`no answer from ${url}`);
  return client;
}

async function formCluster(ports: number[]): Promise<void> {
  const nodes = ports.map((port) => new Redis({ port, host: '127.0.0.1', lazyConnect: true }));
  const share = Math.ceil(SLOTS / nodes.length);
  for (const [index, node] of nodes.entries()) {
    await untilUp(() => node.duplicate({ retryStrategy: () => null }));
    await node.connect();
    await node.call('CLUSTER', 'ADDSLOTSRANGE', index * share, Math.min(SLOTS, (index + 1) * share) - 1);
    await node.call('CLUSTER', 'SET-CONFIG-EPOCH', index + 1);
  }
  for (const port of ports.slice(1)) await nodes[0]?.call('CLUSTER', 'MEET', '127.0.0.1', port);
  await Promise.all(nodes.map(untilWhole));
  for (const node of nodes) node.disconnect();
}

/** A node sees the whole cluster: all slots served, every node known. */
async function untilWhole(node: Redis): Promise<void> {
  const deadline_ms = Date.now() + UP_WITHIN_MS;
  while (Date.now() < deadline_ms) {
    const info = String(await node.call('CLUSTER', 'INFO'));
    if (info.includes('cluster_state:ok') && info.includes('cluster_size:3')) return;
    await pause(20);
  }
  throw new Error('the cluster did not form');
}

/** The first server binary on PATH, running. */
async function launch(dir: string, options: string[]): Promise<ChildProcess> {
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

async function untilUp(open: () => Redis): Promise<void> {
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

function end(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return Promise.resolve();
  return new Promise((settle) => {
    server.once('exit', () => settle());
    server.kill('SIGKILL');
  });
}

async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(Array.from({ length: count }, listenAnywhere));
  const ports = servers.map((server) => {
    const address = server.address();
    return typeof address === 'object' && address ? address.port : 0;
  });
  await Promise.all(servers.map((server) => new Promise((settle) => server.close(settle))));
  // The bus of a cluster node listens 10,000 above its port.
  return ports.every((port) => port > 0 && port < 55_000) ? ports : freePorts(count);
}

function listenAnywhere(): Promise<ReturnType<typeof createServer>> {
  return new Promise((settle) => {
    const server = createServer();
    server.listen(0, '127.0.0.1', () => settle(server));
  });
}
