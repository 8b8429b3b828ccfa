/**
 * A lock that is a file, held by a process, that a crash cannot leave behind.
 *
 * The file names its holder by process id and start time. Whoever finds it looks whether that very process still
 * lives (a number alone may have been given to another), and takes the lock of a dead one over. The file appears with
 * its whole content by `link`, so nobody ever reads half a holder. Holders on another machine cannot be looked at:
 * one `var/` belongs to one machine.
 */
import { randomUUID } from 'node:crypto';
import { link, mkdir, readFile, rename, unlink, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';

interface Holder {
  pid: number;
  /** Start of the process in clock ticks since boot, where the system tells it. */
  started: string | null;
  token: string;
}

/** Somebody else holds the lock. */
export class LockHeld extends Error {
  override name = 'LockHeld';
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

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

async function stillHolds(holder: Holder): Promise<boolean> {
  if (!isAlive(holder.pid)) return false;
  return holder.started === null || holder.started === (await startOf(holder.pid));
}

async function readHolder(file: string): Promise<Holder | null> {
  const text = await readFile(file, 'utf8').catch(() => null);
  if (text === null) return null;
  return JSON.parse(text) as Holder;
}

async function tryLink(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** Puts a dead holder's file out of the way; a live one that was put there meanwhile is put back. */
async function removeDead(file: string, dead: Holder): Promise<void> {
  const aside = `${file}.${randomUUID()}`;
  try {
    await rename(file, aside);
  } catch {
    return;
  }
  const taken = await readHolder(aside);
  if (taken && taken.token !== dead.token) await tryLink(aside, file);
  await unlink(aside);
}

const ATTEMPTS = 20;

/**
 * Takes the lock at once or not at all.
 * @param what named in the message: `provider gapminder`.
 * @throws {LockHeld} when a living process (this one included) holds it.
 */
export async function takeLock(file: string, what: string): Promise<FileLock> {
  await mkdir(dirname(file), { recursive: true });
  const own: Holder = { pid: process.pid, started: await startOf(process.pid), token: randomUUID() };
  const draft = `${file}.${own.token}`;
  await writeFile(draft, JSON.stringify(own));
  try {
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      if (await tryLink(draft, file)) return { release: () => release(file, own) };
      const holder = await readHolder(file);
      if (holder && (await stillHolds(holder))) throw new LockHeld(what, holder.pid);
      if (holder) await removeDead(file, holder);
    }
    throw new LockHeld(what, 0);
  } finally {
    await unlink(draft);
  }
}

async function release(file: string, own: Holder): Promise<void> {
  const holder = await readHolder(file);
  if (holder?.token === own.token) await unlink(file);
}
