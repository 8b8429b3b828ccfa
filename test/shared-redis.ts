/**
 * One Redis for each Vitest worker, started once per run: `setup` is the global set-up of vitest.config.ts. A test file
 * leases the Redis of its worker, which is emptied first. Outside Vitest there is none.
 */
import type { ChildProcess } from 'node:child_process';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { atSocket, end, launch, untilUp } from './redis-server.ts';

/** Set by vitest.config.ts and by Vitest. */
interface WorkerEnvironment {
  TEST_REDIS_DIR?: string;
  VITEST_POOL_ID?: string;
}

const socketOf = (dir: string, worker: number | string): string => join(dir, `${worker}.sock`);

/** Starts a Redis for each worker. Where none is installed, each test that needs one says so. */
export async function setup({ config, globalConfig }: TestProject): Promise<() => Promise<void>> {
  const { TEST_REDIS_DIR: dir = '' } = config.env as WorkerEnvironment;
  await mkdir(dir, { recursive: true });
  const workers = Array.from({ length: Number(globalConfig.maxWorkers) }, (_, index) => index + 1);
  const servers = await Promise.all(workers.map((worker) => start(dir, worker)));
  return async () => {
    await Promise.all(servers.flatMap((server) => (server ? [end(server)] : [])));
    await rm(dir, { recursive: true, force: true });
  };
}

async function start(dir: string, worker: number): Promise<ChildProcess | null> {
  const socket = socketOf(dir, worker);
  const options = ['--port', '0', '--unixsocket', socket, '--appendonly', 'no'];
  const server = await launch(dir, options).catch(() => null);
  if (server) await untilUp(() => atSocket(socket));
  return server;
}

let isLeased = false;

export interface Lease {
  socket: string;
  release(): void;
}

/** @returns null where there is no shared Redis, and while this test file holds it already. */
export async function leaseRedis(): Promise<Lease | null> {
  const { TEST_REDIS_DIR: dir, VITEST_POOL_ID: worker }: WorkerEnvironment = process.env;
  if (dir === undefined || worker === undefined || isLeased) return null;
  isLeased = true;
  const socket = socketOf(dir, worker);
  const control = atSocket(socket);
  control.on('error', () => {});
  try {
    await control.connect();
    // What an earlier test file left behind must not reach this one.
    await control.call('CLIENT', 'UNPAUSE');
    await control.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    await control.script('FLUSH');
    await control.flushall();
    await control.config('RESETSTAT');
    return { socket, release: () => (isLeased = false) };
  } catch {
    isLeased = false;
    return null;
  } finally {
    control.disconnect();
  }
}
