/** Redis server processes for tests: started, awaited, connected to, ended. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { pino } from 'pino';
import { connectRedis, type RedisClient, whenReady } from '../data/runtime/redis.ts';

export const silentLog = pino({ level: 'silent' });

const BINARIES = ['redis-server', 'valkey-server'];
const START_TIMEOUT_MS = 60_000;
const POLL_MS = 5;

/** A connection as the service makes it, ready. */
export async function connected(url: string, cluster = false, replicas = 0): Promise<RedisClient> {
  const settings = { REDIS_URL: url, REDIS_CLUSTER: cluster, REDIS_WAIT_REPLICAS: replicas };
  const client = connectRedis(settings, silentLog, 'metering');
  if (!(await whenReady(client, START_TIMEOUT_MS))) throw new Error(`no answer from ${url}`);
  return client;
}

/** As the private Redis: `everysec` would lose what was acknowledged during a sync when the server is killed. */
export const appendOnly = (persistent: boolean): string[] =>
  persistent ? ['--appendonly', 'yes', '--appendfsync', 'always'] : ['--appendonly', 'no'];

/** The first server binary on PATH, running. */
export async function launch(dir: string, options: string[]): Promise<ChildProcess> {
  for (const binary of BINARIES) {
    const child = spawn(binary, ['--save', '', '--dir', dir, '--daemonize', 'no', ...options], {
      stdio: 'ignore',
    });
    // Rejected when there is no such program.
    const isSpawned = await once(child, 'spawn').catch(() => false);
    if (isSpawned) return child;
  }
  throw new Error(`neither ${BINARIES.join(' nor ')} is on PATH`);
}

export async function untilUp(open: () => Redis): Promise<void> {
  const deadline_ms = Date.now() + START_TIMEOUT_MS;
  while (Date.now() < deadline_ms) {
    const client = open();
    client.on('error', () => {});
    const up = await client
      .connect()
      .then(() => client.ping())
      .catch(() => null);
    client.disconnect();
    if (up) return;
    await pause(POLL_MS);
  }
  throw new Error('Redis did not start');
}

/** One connection attempt to a unix socket. */
export const atSocket = (path: string): Redis =>
  new Redis({ path, lazyConnect: true, retryStrategy: () => null });

export async function end(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return;
  server.kill('SIGKILL');
  await once(server, 'exit');
}
