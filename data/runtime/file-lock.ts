/**
 * Lock files for processes that share a directory but not a process table, as containers do.
 *
 * - A lock has one holder. The holder refreshes the file's modification time every half second.
 * - A lock that was not refreshed for `STALE_MS` belonged to a process that crashed or was suspended: the next one that
 *   wants it takes it over. A crash therefore delays others by at most ten seconds; a normal exit releases at once.
 * - A holder that lost its lock learns of it: `signal` aborts, and `release` throws.
 */
import { randomUUID } from 'node:crypto';
import { readFileSync, unlinkSync } from 'node:fs';
import { link, mkdir, readFile, rm, stat, unlink, utimes, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { whenAbsent } from './durable-files.ts';

/** Longer than a build blocks its event loop, shorter than an operator waits after a crash. */
export const STALE_MS = 10_000;
const HEARTBEAT_MS = 500;
const POLL_MS = 50;

/** Another holder is alive. */
export class LockHeldError extends Error {
  override name = 'LockHeldError';
  constructor(what: string) {
    super(`${what} is already being worked on by another process`);
  }
}

/** The lock was taken over because it was not refreshed in time, or its file was removed. */
export class LockLostError extends Error {
  override name = 'LockLostError';
  constructor(file: string) {
    super(`the lock ${file} was lost to another process`);
  }
}

export interface FileLock {
  /** Aborts with a `LockLostError` when the lock is lost, and with the caller's signal: work under it has to stop. */
  readonly signal: AbortSignal;
  /** Idempotent. @throws {LockLostError} when the lock was lost before: the work was not exclusive. */
  release(): Promise<void>;
}

interface Holder {
  /** Empty for a file that a power cut left empty or cut short. */
  token: string;
  refreshed_ms: number;
}

function parseToken(text: string): string {
  try {
    return String((JSON.parse(text) as { token?: unknown }).token ?? '');
  } catch {
    return '';
  }
}

/** Null when nobody holds the lock. */
async function readHolder(file: string): Promise<Holder | null> {
  try {
    const { mtimeMs } = await stat(file);
    return { token: parseToken(await readFile(file, 'utf8')), refreshed_ms: mtimeMs };
  } catch (error) {
    return whenAbsent(null)(error);
  }
}

const isStale = ({ refreshed_ms }: Holder): boolean => Date.now() - refreshed_ms > STALE_MS;

/** False when the target exists, or when the source was removed meanwhile. */
async function tryLink(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    return whenAbsent(false)(error);
  }
}

/** Locks of this process by path. */
const held = new Map<string, HeldLock>();
process.on('exit', () => {
  for (const lock of held.values()) lock.releaseOnExit();
});

class HeldLock implements FileLock {
  readonly #file: string;
  readonly #token: string;
  readonly #lost = new AbortController();
  readonly signal: AbortSignal;
  #refreshed_ms = Date.now();
  #refreshing: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;

  constructor(file: string, token: string, signal: AbortSignal | undefined) {
    this.#file = file;
    this.#token = token;
    this.signal = signal ? AbortSignal.any([signal, this.#lost.signal]) : this.#lost.signal;
    held.set(file, this);
    this.#schedule();
  }

  async release(): Promise<void> {
    if (this.#stop()) {
      await this.#refreshing;
      if ((await readHolder(this.#file))?.token === this.#token) await unlink(this.#file);
      else this.#lose();
    }
    this.#lost.signal.throwIfAborted();
  }

  releaseOnExit(): void {
    try {
      if (parseToken(readFileSync(this.#file, 'utf8')) === this.#token) unlinkSync(this.#file);
    } catch {
      // The lock becomes stale.
    }
  }

  /** @returns whether it was held until now. */
  #stop(): boolean {
    clearTimeout(this.#timer);
    return held.get(this.#file) === this && held.delete(this.#file);
  }

  #schedule(): void {
    this.#timer = setTimeout(() => {
      this.#refreshing = this.#refresh();
    }, HEARTBEAT_MS).unref();
  }

  async #refresh(): Promise<void> {
    try {
      if ((await readHolder(this.#file))?.token !== this.#token) return this.#lose();
      const now = new Date();
      await utimes(this.#file, now, now);
      this.#refreshed_ms = now.getTime();
    } catch {
      if (Date.now() - this.#refreshed_ms > STALE_MS) return this.#lose();
    }
    if (held.get(this.#file) === this) this.#schedule();
  }

  #lose(): void {
    this.#stop();
    this.#lost.abort(new LockLostError(this.#file));
  }
}

/**
 * Removes the file of a stale lock. Only the process that claimed this very holder does: the claim's name is made of the
 * holder's token and can be linked once. Without it, two processes that find the same stale lock would remove it one
 * after the other, and the second would remove the lock that the first has taken by then.
 */
async function removeStale(file: string, stale: Holder): Promise<void> {
  const claim = `${file}.${stale.token || 'unreadable'}.stale`;
  if (!(await tryLink(file, claim))) {
    const claimed_ms = (await stat(claim).catch(() => null))?.ctimeMs ?? Number.POSITIVE_INFINITY;
    if (Date.now() - claimed_ms > STALE_MS) await rm(claim, { force: true });
    return;
  }
  const claimed = await readHolder(claim);
  if (claimed?.token === stale.token && isStale(claimed)) await rm(file, { force: true });
  await rm(claim, { force: true });
}

/** Null when another holder has the lock, or when another process is taking it over. */
async function tryAcquire(file: string, signal: AbortSignal | undefined): Promise<FileLock | null> {
  const holder = await readHolder(file);
  if (holder && !isStale(holder)) return null;
  if (holder) await removeStale(file, holder);
  const token = randomUUID();
  const draft = `${file}.${token}`;
  try {
    // The file appears with its whole content.
    await writeFile(draft, JSON.stringify({ token }));
    return (await tryLink(draft, file)) ? new HeldLock(file, token, signal) : null;
  } finally {
    await rm(draft, { force: true });
  }
}

export interface LockOptions {
  /** How long to wait for another holder to release. Default: not at all. */
  wait_ms?: number | undefined;
  /** How often to look meanwhile. */
  poll_ms?: number;
  /** Ends the wait; aborts the lock's own signal, too. */
  signal?: AbortSignal | undefined;
}

/** Works while holding a lock; see `acquireLock`. @throws {LockLostError} when it was lost meanwhile, too. */
export async function withLock<Result>(
  file: string,
  what: string,
  options: LockOptions,
  work: (lock: FileLock) => Promise<Result>,
): Promise<Result> {
  const lock = await acquireLock(file, what, options);
  return work(lock).finally(() => lock.release());
}

/**
 * Acquires a lock. A crashed holder's lock is waited for until it is stale, also without `wait_ms`.
 * @param what named in the error: `provider gapminder`.
 * @throws {LockHeldError} when another holder, this process included, is alive after the wait; the signal's reason.
 */
export async function acquireLock(
  file: string,
  what: string,
  { wait_ms = 0, poll_ms = POLL_MS, signal }: LockOptions = {},
): Promise<FileLock> {
  const path = resolve(file);
  await mkdir(dirname(path), { recursive: true });
  const deadline = performance.now() + wait_ms;
  let first: Holder | null = null;
  for (;;) {
    const lock = await tryAcquire(path, signal);
    if (lock) return lock;
    if (performance.now() >= deadline) {
      const holder = await readHolder(path);
      const isAlive = held.has(path) || (first && holder && holder.refreshed_ms !== first.refreshed_ms);
      if (isAlive) throw new LockHeldError(what);
      first ??= holder;
    }
    await pause(poll_ms, undefined, { ...(signal && { signal }) });
  }
}
