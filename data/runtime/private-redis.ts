/**
 * A private Redis or Valkey for people who run none: a unix socket under VAR_DIR, no TCP port, append-only file.
 *
 * - Whoever needs it *holds* it. The first holder starts it, later ones join it, the last to let go shuts it down, so a
 *   command-line tool beside a running gateway neither starts a second server nor takes the first away.
 * - It runs in a process group of its own: Ctrl-C reaches the gateway, which finishes its work before it lets go.
 * - Should it die while it is held, a holder starts it again on the same files.
 *
 * `appendfsync always`: a command is on the disk before its answer leaves, so neither a killed process nor a power cut
 * loses an acknowledged grant, purchase or debit. Commands that arrive together share one fsync; measured, that costs
 * a quarter of the throughput at 128 calls in flight and about 0.15 ms for a single one on a solid-state disk. A Redis
 * of your own may promise less: `everysec` loses up to two seconds in a power cut and, when the disk lags, in a kill
 * too; `no` loses nothing in a kill and up to half a minute in a power cut. `noeviction`, because nothing kept here may
 * silently go.
 *
 * The append-only file is written anew when it is twice as long as last time and at least half a gigabyte, some 400,000
 * paid calls: writing it anew takes a core for a second, in which calls wait, and with the server's own bound of 64 MB
 * a busy service would do so every few seconds. Reading half a gigabyte takes a start some seconds.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { lstat, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';

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
    this.#control.once('close', () => {
      if (!this.#released) this.#regaining = this.#regain();
    });
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
    lockFile: join(dir, 'starting.lock'),
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

/** A named connection to a running server, which is started first when there is none. */
async function hold(place: Place): Promise<Redis> {
  const deadline_ms = Date.now() + START_WITHIN_MS;
  while (Date.now() < deadline_ms) {
    const running = await attach(place);
    if (running) return running;
    if (await takeLock(place)) {
      try {
        const launched = (await attach(place)) ?? (await launch(place, deadline_ms));
        if (launched) return launched;
      } finally {
        await rm(place.lockFile, { force: true });
      }
    }
    await pause(POLL_MS);
  }
  throw new PrivateRedisError(`the private Redis did not start; see ${place.logFile}`);
}

/** Null when nobody listens, or when the server is not ready to answer yet. */
async function attach(place: Place): Promise<Redis | null> {
  if (!existsSync(place.socket)) return null;
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
    control.disconnect();
    return null;
  }
}

/** One process starts the server at a time. A lock whose owner is gone is void. */
async function takeLock({ lockFile }: Place): Promise<boolean> {
  try {
    await writeFile(lockFile, String(process.pid), { flag: 'wx' });
    return true;
  } catch {
    const owner = await readPid(lockFile);
    if (owner !== null && !isAlive(owner)) await rm(lockFile, { force: true });
    return false;
  }
}

/** Null when it was up, and somebody who held it before us has stopped it again. */
async function launch(place: Place, deadline_ms: number): Promise<Redis | null> {
  // A server that is still loading or stopping owns the files: wait for it instead of starting another on them.
  const earlier = await readPid(place.pidFile);
  while (earlier !== null && isAlive(earlier) && existsSync(place.socket) && Date.now() < deadline_ms) {
    const running = await attach(place);
    if (running) return running;
    await pause(POLL_MS);
  }
  await rm(place.socket, { force: true });
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

async function waitUntilUp(child: ChildProcess, place: Place, deadline_ms: number): Promise<Redis | null> {
  while (Date.now() < deadline_ms && child.exitCode === null && child.signalCode === null) {
    const running = await attach(place);
    if (running) return running;
    await pause(POLL_MS);
  }
  if (child.exitCode === 0) return null;
  const log = await readFile(place.logFile, 'utf8').catch(() => '');
  const reason = log.trim().split('\n').at(-1) ?? '';
  throw new PrivateRedisError(`the private Redis did not start; see ${place.logFile}: ${reason}`);
}

async function letGo(place: Place, control: Redis): Promise<void> {
  if (hasEnded(control)) return;
  const clients = String(await control.client('LIST').catch(() => ''));
  const holders = clients.split('\n').filter((line) => line.includes(` name=${HOLDER} `)).length;
  if (holders > 1) return control.disconnect();
  const pid = await readPid(place.pidFile);
  // The answer to SHUTDOWN is the end of the connection.
  await control.shutdown().catch(() => {});
  // Disconnecting what has ended would keep the process waiting for a close that has already been.
  if (!hasEnded(control)) control.disconnect();
  const deadline_ms = Date.now() + STOP_WITHIN_MS;
  while (pid !== null && isAlive(pid)) {
    if (Date.now() > deadline_ms)
      throw new PrivateRedisError(`the private Redis (process ${pid}) does not stop`);
    await pause(POLL_MS);
  }
}

const hasEnded = ({ status }: Redis): boolean => status === 'end';

async function readPid(file: string): Promise<number | null> {
  const text = await readFile(file, 'utf8').catch(() => '');
  const pid = Number.parseInt(text, 10);
  return Number.isInteger(pid) && pid > 0 ? pid : null;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
