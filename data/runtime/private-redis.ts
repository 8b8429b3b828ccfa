/**
 * A private Redis or Valkey for people who run none: a unix socket under VAR_DIR, no TCP port, append-only file.
 *
 * - Whoever needs it *holds* it. The first holder starts it, later ones join it, the last to let go shuts it down, so a
 *   command-line tool beside a running gateway neither starts a second server nor takes the first away. Under a lock,
 *   one process at a time does any of these: nobody joins what is being shut down, and of two that let go at the same
 *   moment, one is the last.
 * - It runs in a process group of its own: Ctrl-C reaches the gateway, which finishes its work before it lets go.
 * - Should it die while it is held, a holder starts it again on the same files.
 *
 * `appendfsync always`: a command is on the disk before its answer leaves, so neither a killed process nor a power cut
 * loses an acknowledged grant, purchase or debit. Commands that arrive together share one fsync; measured, that costs
 * a quarter of the throughput at 128 calls in flight and about 0.15 ms for a single one on a solid-state disk. A Redis
 * of your own may promise less: `everysec` loses up to two seconds in a power cut and, in a kill, what it acknowledged
 * while the disk was syncing; `no` loses nothing in a kill and up to half a minute in a power cut. `noeviction`, because
 * nothing kept here may silently go.
 *
 * The append-only file is written anew when it is twice as long as last time and at least half a gigabyte, some 400,000
 * paid calls: writing it anew takes a core for a second, in which calls wait, and with the server's own bound of 64 MB
 * a busy service would do so every few seconds. Reading half a gigabyte takes a start some seconds.
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

/** The private Redis cannot be had; the message is one line that says what to do. */
export class PrivateRedisError extends Error {
  override name = 'PrivateRedisError';
}

export interface PrivateRedis {
  /** `unix:///…/redis.sock` */
  url: string;
  /** Lets go: the last holder shuts the server down and waits for its end. Close your connections first. */
  stop(): Promise<void>;
}

const BINARIES = ['redis-server', 'valkey-server'];
const HOLDER = 'almanac-holder';
/** Loading a large append-only file takes a while. */
const START_WITHIN_MS = 120_000;
const STOP_WITHIN_MS = 30_000;
const POLL_MS = 20;
const REGAIN_EVERY_MS = 500;
/** Linux allows 107 bytes for the path of a socket, macOS 103. */
const SOCKET_PATH_BYTES = 100;

interface Place {
  dir: string;
  socket: string;
  pidFile: string;
  lockFile: string;
  logFile: string;
}

/**
 * Holds the private Redis whose files lie in `dir`, starting it when no other process has.
 * @throws {PrivateRedisError} when neither server is on PATH, or it does not come up.
 */
export async function startPrivateRedis(dir: string): Promise<PrivateRedis> {
  const place = await placeIn(resolve(dir));
  const holder = new Holder(place, await hold(place));
  return {
    url: `unix://${place.socket.split('/').map(encodeURIComponent).join('/')}`,
    stop: () => holder.release(),
  };
}

/** Holds a server by a connection, and a new one when that one is lost. */
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

  /** Letting go twice is letting go once. */
  release(): Promise<void> {
    this.#released ??= Promise.resolve().then(async () => {
      // A server that is being started again right now is ours to stop, too.
      await this.#regaining;
      await letGo(this.#place, this.#control);
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

async function placeIn(dir: string): Promise<Place> {
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const socket = await socketFor(dir);
  await writeFile(join(dir, 'socket'), `${socket}\n`);
  return {
    dir,
    socket,
    pidFile: join(dir, 'redis.pid'),
    lockFile: join(dir, '.lock'),
    logFile: join(dir, 'redis.log'),
  };
}

/** Beside the files when the path is short enough, else in a directory of ours for temporary files. */
async function socketFor(dir: string): Promise<string> {
  const beside = join(dir, 'redis.sock');
  if (Buffer.byteLength(beside) <= SOCKET_PATH_BYTES) return beside;
  const name = createHash('sha256').update(dir).digest('hex').slice(0, 16);
  const short = join(tmpdir(), `almanac-${name}`);
  await mkdir(short, { recursive: true, mode: 0o700 });
  const { uid, mode } = await lstat(short);
  if (uid !== process.getuid?.() || (mode & 0o077) !== 0) {
    throw new PrivateRedisError(`${short} belongs to somebody else: set VAR_DIR to a shorter path`);
  }
  return join(short, 'redis.sock');
}

/** A named connection to the server, which is started first when it is not running. */
const hold = (place: Place): Promise<Redis> => alone(place, () => joinOrStart(place));

async function alone<T>(place: Place, work: () => Promise<T>): Promise<T> {
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

/** Null when nobody listens, or when the server is not ready to answer yet. */
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

/** Disconnecting what has ended would keep the process waiting for a close that has already been. */
function disconnect(control: Redis): void {
  if (control.status !== 'end') control.disconnect();
}

/** A process id in a file would not tell: after a restart of the machine it may be anybody's. */
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
  // A server that is still loading owns the files: wait for it instead of starting another on them.
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

async function letGo(place: Place, control: Redis): Promise<void> {
  try {
    await alone(place, () => leave(control));
  } finally {
    disconnect(control);
  }
}

async function leave(control: Redis): Promise<void> {
  // The name goes before the lock does: a connection that is being closed may be listed for a moment more.
  const answers = await control
    .client('SETNAME', '')
    .then(() => Promise.all([control.client('LIST'), control.info('server')]))
    .catch(() => null);
  // Without answers it has ended by itself.
  if (answers === null) return;
  const [clients, server] = answers;
  if (String(clients).includes(` name=${HOLDER} `)) return;
  await shutDown(control, Number(/process_id:(\d+)/.exec(server)?.[1]));
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

async function shutDown(control: Redis, pid: number): Promise<void> {
  // The answer to SHUTDOWN is the end of the connection.
  await control.shutdown().catch(() => {});
  const deadline_ms = Date.now() + STOP_WITHIN_MS;
  while (isAlive(pid)) {
    if (Date.now() > deadline_ms)
      throw new PrivateRedisError(`the private Redis (process ${pid}) does not stop`);
    await pause(POLL_MS);
  }
}
