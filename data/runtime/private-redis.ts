/**
 * A private Redis or Valkey for installations without one: a unix socket under VAR_DIR, no TCP port, append-only file.
 *
 * - Processes share it by reference counting. The first one starts the server, later ones join, the last one shuts it
 *   down. A file lock serialises these steps, so nobody joins a server that is shutting down.
 * - It runs in its own process group: Ctrl-C reaches the gateway only, which releases it after finishing its work. A
 *   process that exits without releasing it ends the server that it started.
 * - If the server dies while it is in use, a holder restarts it on the same files.
 *
 * `appendfsync always`: a command is on disk before it is acknowledged, so neither a kill nor a power cut loses a grant,
 * purchase or debit. Concurrent commands share one fsync. Measured on an SSD it costs 25 % of the throughput at 128 calls
 * in flight, and 0.15 ms for a single call. `noeviction`: nothing may be dropped silently.
 *
 * The append-only file is rewritten when it has doubled and holds at least 512 MB, some 400,000 paid calls: a rewrite
 * blocks calls for about a second, and the default of 64 MB would cause one every few seconds under load. Loading 512 MB
 * takes some seconds at start.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { lstat, mkdir, readFile, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { acquireLock, LockHeldError } from './file-lock.ts';

/** The private Redis is unavailable; the message says in one line what to do. */
export class PrivateRedisError extends Error {
  override name = 'PrivateRedisError';
}

export type PrivateRedis = Awaited<ReturnType<typeof startPrivateRedis>>;

const BINARIES = ['redis-server', 'valkey-server'];
const HOLDER = 'almanac-holder';
/** Includes loading a large append-only file. */
const START_WITHIN_MS = 120_000;
const STOP_WITHIN_MS = 30_000;
const POLL_MS = 20;
const REGAIN_EVERY_MS = 500;

/** Servers that this process started and has not released, by socket. */
const started = new Map<string, ChildProcess>();
process.on('exit', () => {
  for (const server of started.values()) server.kill();
});

/** Linux allows 107 bytes for a socket path, macOS 103. */
const SOCKET_PATH_BYTES = 100;

type Place = Awaited<ReturnType<typeof placeIn>>;

/**
 * Joins the private Redis in `dir`, and starts it when it is not running.
 * @throws {PrivateRedisError} when neither server is on PATH, or it does not come up.
 */
export async function startPrivateRedis(dir: string) {
  const place = await placeIn(resolve(dir));
  const holder = new Holder(place, await hold(place));
  return {
    /** `unix:///…/redis.sock` */
    url: `unix://${place.socket.split('/').map(encodeURIComponent).join('/')}`,
    /** Releases it. The last holder shuts the server down and waits for its exit. Close your connections first. */
    stop: () => holder.release(),
  };
}

/** One reference to the server: a named connection, replaced when it is lost. */
class Holder {
  readonly #place: Place;
  #control: Redis;
  #released: Promise<void> | null = null;
  #regaining: Promise<void> = Promise.resolve();

  constructor(place: Place, control: Redis) {
    this.#place = place;
    this.#control = control;
    this.#watch();
  }

  /** Idempotent. */
  release(): Promise<void> {
    this.#released ??= Promise.resolve().then(async () => {
      // A restart that is in progress creates a reference, too.
      await this.#regaining;
      await releaseServer(this.#place, this.#control);
    });
    return this.#released;
  }

  #watch(): void {
    const regain = () => {
      if (!this.#released) this.#regaining = this.#regain();
    };
    if (this.#control.status === 'end') regain();
    else this.#control.once('end', regain);
  }

  async #regain(): Promise<void> {
    while (!this.#released) {
      try {
        this.#control = await hold(this.#place);
        return this.#watch();
      } catch {
        await pause(REGAIN_EVERY_MS);
      }
    }
  }
}

async function placeIn(dir: string) {
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const socket = await socketFor(dir);
  await writeFile(join(dir, 'socket'), `${socket}\n`);
  const files = {
    pidFile: join(dir, 'redis.pid'),
    lockFile: join(dir, '.lock'),
    logFile: join(dir, 'redis.log'),
  };
  return { dir, socket, ...files };
}

/** In `dir` when the path is short enough, otherwise in a private directory under the system's temporary one. */
async function socketFor(dir: string): Promise<string> {
  const beside = join(dir, 'redis.sock');
  if (Buffer.byteLength(beside) <= SOCKET_PATH_BYTES) return beside;
  const name = createHash('sha256').update(dir).digest('hex').slice(0, 16);
  const short = join(tmpdir(), `almanac-${name}`);
  await mkdir(short, { recursive: true, mode: 0o700 });
  const { uid, mode } = await lstat(short);
  if (uid !== process.getuid?.() || (mode & 0o077) !== 0) {
    throw new PrivateRedisError(`${short} belongs to another user: set VAR_DIR to a shorter path`);
  }
  return join(short, 'redis.sock');
}

/** Opens a named connection to the server, and starts the server when it is not running. */
const hold = (place: Place): Promise<Redis> => withLock(place, () => joinOrStart(place));

async function withLock<T>(place: Place, work: () => Promise<T>): Promise<T> {
  const options = { wait_ms: START_WITHIN_MS, poll_ms: POLL_MS };
  const lock = await acquireLock(place.lockFile, 'the private Redis', options).catch((error: unknown) => {
    throw error instanceof LockHeldError ? new PrivateRedisError(error.message) : error;
  });
  try {
    return await work();
  } finally {
    await lock.release();
  }
}

/** Null when the server is not running or still loading. */
async function attach(place: Place): Promise<Redis | null> {
  const control = new Redis({
    path: place.socket,
    connectionName: HOLDER,
    lazyConnect: true,
    enableReadyCheck: false,
    retryStrategy: () => null,
  });
  control.on('error', () => {});
  try {
    await control.connect();
    await control.ping();
    return control;
  } catch {
    disconnect(control);
    return null;
  }
}

/** Disconnecting an ended connection would keep the process alive, waiting for a second `close`. */
function disconnect(control: Redis): void {
  if (control.status !== 'end') control.disconnect();
}

/** Whether a server listens. The pid file does not tell: after a reboot its number may belong to any process. */
async function listens(path: string): Promise<boolean> {
  const probe = connect({ path });
  try {
    await once(probe, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    probe.destroy();
  }
}

async function joinOrStart(place: Place): Promise<Redis> {
  const deadline_ms = Date.now() + START_WITHIN_MS;
  // A server that is still loading owns the files: wait for it.
  while (await listens(place.socket)) {
    const running = await attach(place);
    if (running) return running;
    if (Date.now() > deadline_ms) throw await notStarted(place);
    await pause(POLL_MS);
  }
  for (const binary of BINARIES) {
    const child = await spawnServer(binary, place);
    if (child) return waitUntilUp(child, place, deadline_ms);
  }
  throw new PrivateRedisError(
    `neither ${BINARIES.join(' nor ')} is on PATH: install one (apt-get install redis-server), or set REDIS_URL`,
  );
}

/** Null when the binary does not exist. */
async function spawnServer(binary: string, place: Place): Promise<ChildProcess | null> {
  const child = spawn(binary, serverArguments(place), { cwd: place.dir, detached: true, stdio: 'ignore' });
  started.set(place.socket, child);
  const spawned = await new Promise<boolean>((settle) => {
    child.once('spawn', () => settle(true));
    child.once('error', () => settle(false));
  });
  child.unref();
  return spawned ? child : null;
}

const serverArguments = (place: Place): string[] => [
  ...['--port', '0'],
  ...['--unixsocket', place.socket, '--unixsocketperm', '700'],
  ...['--dir', place.dir, '--pidfile', place.pidFile, '--logfile', place.logFile],
  ...['--appendonly', 'yes', '--appendfsync', 'always', '--save', ''],
  ...['--auto-aof-rewrite-min-size', '512mb'],
  ...['--maxmemory-policy', 'noeviction'],
  ...['--daemonize', 'no'],
];

async function waitUntilUp(child: ChildProcess, place: Place, deadline_ms: number): Promise<Redis> {
  while (Date.now() < deadline_ms && child.exitCode === null && child.signalCode === null) {
    const running = await attach(place);
    if (running) return running;
    await pause(POLL_MS);
  }
  throw await notStarted(place);
}

async function notStarted({ logFile }: Place): Promise<PrivateRedisError> {
  const log = await readFile(logFile, 'utf8').catch(() => '');
  const reason = log.trim().split('\n').at(-1) ?? '';
  return new PrivateRedisError(`the private Redis did not start; see ${logFile}: ${reason}`);
}

async function releaseServer(place: Place, control: Redis): Promise<void> {
  try {
    await withLock(place, () => shutDownIfLast(control));
  } finally {
    disconnect(control);
    started.delete(place.socket);
  }
}

/** The system closes the connection once the server has exited. Its process id may be one of another container. */
async function shutDownIfLast(control: Redis): Promise<void> {
  // Drops the name first: CLIENT LIST may show a closing connection for a moment.
  const clients = await control
    .client('SETNAME', '')
    .then(() => control.client('LIST'))
    .catch(() => null);
  // No reply: the server has exited by itself.
  if (clients === null || String(clients).includes(` name=${HOLDER} `)) return;
  const exited = once(control, 'end', { signal: AbortSignal.timeout(STOP_WITHIN_MS) }).catch(() => {
    throw new PrivateRedisError('the private Redis does not stop');
  });
  // SHUTDOWN closes the connection instead of replying.
  await Promise.all([exited, control.shutdown().catch(() => {})]);
}
