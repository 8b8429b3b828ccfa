/**
 * A real Redis Cluster for one test file: three masters that share the slots evenly, each with the given number of
 * replicas, on free loopback ports.
 */
import type { ChildProcess } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Cluster, Redis } from 'ioredis';
import { freePorts } from './free-ports.ts';
import { appendOnly, connected, end, launch, untilUp } from './redis-server.ts';

const MASTERS = 3;
const SLOTS = 16_384;
const FORM_TIMEOUT_MS = 120_000;
const MEETING_TIMEOUT_MS = 1_500;
const POLL_MS = 20;

export interface ClusterOptions {
  /** Of each master. */
  replicas?: number;
  /** An append-only file in which everything acknowledged survives `kill` and `restart`. */
  persistent?: boolean;
  /** Silence after which a node is held to have failed. */
  nodeTimeoutMs?: number;
}

export interface TestCluster extends AsyncDisposable {
  /** Of the first node, by start order, that runs. */
  readonly url: string;
  /** A connection as the service makes it; money waits for so many replicas. */
  connect(waitReplicas?: number): Promise<Cluster>;
  /** Port of the master that holds a key, as the nodes that run see it. */
  masterOf(key: string): Promise<number>;
  /** Port of the first replica of the master that holds a key. */
  replicaOf(key: string): Promise<number>;
  /** Stops a node in its tracks until it is thawed: its connections stay, and nothing comes. */
  freeze(port: number): void;
  thaw(port: number): void;
  /** Ends a node at once, as a crash would. */
  kill(port: number): Promise<void>;
  /** Starts a node again on its files; resolves when it is part of the cluster, as a replica where there are any. */
  restart(port: number): Promise<void>;
  stop(): Promise<void>;
}

export async function startRedisCluster(options: ClusterOptions = {}): Promise<TestCluster> {
  const { replicas = 0, persistent = false, nodeTimeoutMs = 5_000 } = options;
  const dir = await mkdtemp(join(tmpdir(), 'alm-cluster-'));
  const ports = await freePorts(MASTERS * (1 + replicas));
  const servers = new Map<number, ChildProcess>();
  const start = async (port: number, timeout_ms = nodeTimeoutMs): Promise<void> => {
    servers.set(port, await launch(dir, nodeArguments(port, persistent, timeout_ms)));
  };
  // Nodes tell of each other every half node timeout: a short one while they meet.
  await Promise.all(ports.map((port) => start(port, MEETING_TIMEOUT_MS)));
  await formCluster(ports);
  for (const port of ports)
    await onNode(port, (node) => node.config('SET', 'cluster-node-timeout', nodeTimeoutMs));
  const clients: Cluster[] = [];
  const running = (): number => [...servers.keys()].find((port) => servers.get(port)?.exitCode === null) ?? 0;
  const url = (): string => `redis://127.0.0.1:${running()}`;
  const stop = async (): Promise<void> => {
    for (const client of clients) client.disconnect();
    await Promise.all([...servers.values()].map(end));
    await rm(dir, { recursive: true, force: true });
  };
  return {
    get url() {
      return url();
    },
    connect: async (waitReplicas = 0) => {
      const client = await connected(url(), true, waitReplicas);
      if (!(client instanceof Cluster)) throw new Error('a cluster was asked for');
      clients.push(client);
      return client;
    },
    masterOf: async (key) => (await onNode(running(), (node) => nodesOf(node, key)))[0] ?? 0,
    replicaOf: async (key) => (await onNode(running(), (node) => nodesOf(node, key)))[1] ?? 0,
    freeze: (port) => servers.get(port)?.kill('SIGSTOP'),
    thaw: (port) => servers.get(port)?.kill('SIGCONT'),
    kill: async (port) => {
      const server = servers.get(port);
      servers.delete(port);
      if (server) await end(server);
    },
    restart: async (port) => {
      await start(port);
      await untilUp(() => nodeAt(port));
      await onNode(port, (node) =>
        replicas > 0 ? untilInStep(node) : untilWhole([node], async () => {}, ports.length),
      );
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

const nodeArguments = (port: number, persistent: boolean, nodeTimeoutMs: number): string[] => [
  ...['--port', String(port), '--bind', '127.0.0.1'],
  ...appendOnly(persistent),
  ...['--appenddirname', `aof-${port}`],
  ...['--dbfilename', `dump-${port}.rdb`],
  ...['--cluster-enabled', 'yes', '--cluster-config-file', `nodes-${port}.conf`],
  ...['--cluster-node-timeout', String(nodeTimeoutMs), '--repl-diskless-sync-delay', '0'],
];

const nodeAt = (port: number): Redis =>
  new Redis({ port, host: '127.0.0.1', lazyConnect: true, retryStrategy: () => null });

async function onNode<T>(port: number, work: (node: Redis) => Promise<T>): Promise<T> {
  const node = nodeAt(port);
  node.on('error', () => {});
  try {
    await node.connect();
    return await work(node);
  } finally {
    node.disconnect();
  }
}

/** Ports of the nodes that hold a key, its master first. */
async function nodesOf(node: Redis, key: string): Promise<number[]> {
  const slot = Number(await node.call('CLUSTER', 'KEYSLOT', key));
  const ranges = (await node.call('CLUSTER', 'SLOTS')) as [number, number, ...[string, number][]][];
  const range = ranges.find(([from, to]) => from <= slot && slot <= to);
  if (!range) throw new Error(`nobody holds slot ${slot}`);
  const [, , ...nodes] = range;
  return nodes.map(([, port]) => port);
}

/** Whether something becomes true in time. */
async function isSoon(isSo: () => Promise<boolean>, within_ms = FORM_TIMEOUT_MS): Promise<boolean> {
  const deadline_ms = Date.now() + within_ms;
  while (Date.now() < deadline_ms) {
    if (await isSo()) return true;
    await pause(POLL_MS);
  }
  return false;
}

async function untilInStep(node: Redis): Promise<void> {
  const isInStep = await isSoon(async () => {
    const info = await node.info('replication');
    return info.includes('role:slave') && info.includes('master_link_status:up');
  });
  if (!isInStep) throw new Error('a replica does not follow its master');
}

async function formCluster(ports: number[]): Promise<void> {
  const nodes = ports.map((port) => nodeAt(port));
  const masters = nodes.slice(0, MASTERS);
  const share = Math.ceil(SLOTS / MASTERS);
  for (const [index, node] of nodes.entries()) {
    await untilUp(() => node.duplicate());
    await node.connect();
    await node.call('CLUSTER', 'SET-CONFIG-EPOCH', index + 1);
    if (index >= MASTERS) continue;
    await node.call('CLUSTER', 'ADDSLOTSRANGE', index * share, Math.min(SLOTS, (index + 1) * share) - 1);
  }
  await untilWhole(nodes, async () => {
    for (const port of ports.slice(1)) await nodes[0]?.call('CLUSTER', 'MEET', '127.0.0.1', port);
  });
  const ids = await Promise.all(masters.map((master) => master.call('CLUSTER', 'MYID')));
  const replicas = nodes.slice(MASTERS);
  for (const [index, replica] of replicas.entries())
    await replica.call('CLUSTER', 'REPLICATE', String(ids[index % MASTERS]));
  await Promise.all(replicas.map(untilInStep));
  const holders = nodes.length / MASTERS;
  await Promise.all(nodes.map((node) => untilEveryoneKnows(node, holders)));
  for (const node of nodes) node.disconnect();
}

/** A node has heard of every replica. */
async function untilEveryoneKnows(node: Redis, holders: number): Promise<void> {
  const isKnown = await isSoon(async () => {
    const ranges = (await node.call('CLUSTER', 'SLOTS')) as unknown[][];
    return ranges.every((range) => range.length === 2 + holders);
  });
  if (!isKnown) throw new Error('the replicas are not known');
}

/** Each node sees the whole cluster. @param meet again and again: a busy node gives up a handshake that takes too long */
async function untilWhole(nodes: Redis[], meet: () => Promise<void>, known = nodes.length): Promise<void> {
  const deadline_ms = Date.now() + FORM_TIMEOUT_MS;
  while (Date.now() < deadline_ms) {
    await meet();
    const seen = await Promise.all(nodes.map((node) => isSoonWhole(node, known)));
    if (seen.every(Boolean)) return;
  }
  throw new Error('the cluster did not form');
}

/** Whether a node sees the whole cluster before long: all slots served, every node known. */
async function isSoonWhole(node: Redis, known: number): Promise<boolean> {
  const isWhole = [`cluster_state:ok`, `cluster_size:${MASTERS}`, `cluster_known_nodes:${known}`];
  return isSoon(async () => {
    const info = String(await node.call('CLUSTER', 'INFO'));
    return isWhole.every((line) => info.includes(line));
  }, 4 * MEETING_TIMEOUT_MS);
}
