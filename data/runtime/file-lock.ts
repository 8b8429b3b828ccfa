/**
 * A lock that is a file, held by a process, that a crash cannot leave behind.
 *
 * The file names its holder by process id and start time. Whoever finds it looks whether that very process still
 * lives (a number alone may have been given to another), and takes the lock of a dead one over. The file appears with
 * its whole content by `link`, so nobody ever reads half a holder. Holders on another machine cannot be looked at:
 * one `var/` belongs to one machine.
 */
import { randomUUID } from 'node:crypto';
import { link, mkdir, readFile, rm, stat, unlink, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

interface Holder {
  pid: number;
  /** Start of the process in clock ticks since boot, where the system tells it. */
  started: string | null;
  token: string;
}

/** Of a file that is empty or cut short: a power cut can leave one, and whoever wrote it is gone. */
const NOBODY: Holder = { pid: 0, started: null, token: 'unreadable' };

/** Somebody else holds the lock. */
export class LockHeldError extends Error {
  override name = 'LockHeldError';
  readonly pid: number;
  constructor(what: string, pid: number) {
    super(`${what} is already being worked on by process ${pid}`);
    this.pid = pid;
  }
}

export interface FileLock {
  release(): Promise<void>;
}

/** Field 22 of /proc/<pid>/stat; the command name before it may hold spaces, so counting starts after its bracket. */
async function startOf(pid: number): Promise<string | null> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null);
  return stat?.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? null;
}

/** Whether a process has this number now, whoever owns it. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

async function stillHolds(holder: Holder): Promise<boolean> {
  if (holder === NOBODY || !isAlive(holder.pid)) return false;
  return holder.started === null || holder.started === (await startOf(holder.pid));
}

async function readHolder(file: string): Promise<Holder | null> {
  const text = await readFile(file, 'utf8').catch(() => null);
  if (text === null) return null;
  try {
    return JSON.parse(text) as Holder;
  } catch {
    return NOBODY;
  }
}

async function tryLink(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to);
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // Gone: the holder of the lock clears drafts away, and a released lock has no file.
    if (code === 'EEXIST' || code === 'ENOENT') return false;
    throw error;
  }
}

/** A claim that is older was left by a process that died while it took a lock over. */
const CLAIM_STALE_MS = 10_000;
const CLAIM_POLL_MS = 5;

/**
 * Removes a dead holder's file. Only the one process that has claimed this very holder may: a name made of its token
 * can be linked once, and while the claim stands nobody else takes that file away. So no living holder's file is ever
 * touched, however many find the dead one at once.
 */
async function removeDead(file: string, dead: Holder): Promise<void> {
  const claim = `${file}.${dead.token}.dead`;
  if (!(await tryLink(file, claim))) {
    const since = (await stat(claim).catch(() => null))?.ctimeMs ?? Number.POSITIVE_INFINITY;
    if (Date.now() - since > CLAIM_STALE_MS) await rm(claim, { force: true });
    else await pause(CLAIM_POLL_MS);
    return;
  }
  const claimed = await readHolder(claim);
  if (claimed?.token === dead.token) await rm(file, { force: true });
  await rm(claim, { force: true });
}

const ATTEMPTS = 20;

/**
 * Takes the lock at once or not at all.
 * @param what named in the message: `provider gapminder`.
 * @throws {LockHeldError} when a living process (this one included) holds it.
 */
export async function acquireLock(file: string, what: string): Promise<FileLock> {
  await mkdir(dirname(file), { recursive: true });
  const own: Holder = { pid: process.pid, started: await startOf(process.pid), token: randomUUID() };
  const draft = `${file}.${own.token}`;
  try {
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      await writeFile(draft, JSON.stringify(own));
      if (await tryLink(draft, file)) return { release: () => release(file, own) };
      const holder = await readHolder(file);
      if (holder && (await stillHolds(holder))) throw new LockHeldError(what, holder.pid);
      if (holder) await removeDead(file, holder);
    }
    throw new LockHeldError(what, 0);
  } finally {
    await rm(draft, { force: true });
  }
}

interface Patience {
  atMost_ms: number;
  every_ms?: number;
  signal?: AbortSignal | undefined;
}

/** Waits for the lock instead. @throws {LockHeldError} when it is still held after `atMost_ms`; the signal's reason. */
export async function waitForLock(
  file: string,
  what: string,
  { atMost_ms, every_ms = 500, signal }: Patience,
): Promise<FileLock> {
  const deadline = performance.now() + atMost_ms;
  for (;;) {
    try {
      return await acquireLock(file, what);
    } catch (error) {
      if (!(error instanceof LockHeldError) || performance.now() > deadline) throw error;
    }
    await pause(every_ms, undefined, { ...(signal && { signal }) });
  }
}

async function release(file: string, own: Holder): Promise<void> {
  const holder = await readHolder(file);
  if (holder?.token === own.token) await unlink(file);
}
