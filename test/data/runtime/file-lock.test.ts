import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { link, mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import {
  acquireLock,
  type FileLock,
  LockHeldError,
  LockLostError,
  STALE_MS,
} from '../../../data/runtime/file-lock.ts';
import { useDirectory } from '../../after-tests.ts';
import { expireLock } from '../../expire-lock.ts';
import { inOwnProcessTable } from '../../process-table.ts';

const root = await useDirectory();
let directory: string;
let file: string;
beforeEach(async () => {
  directory = await mkdtemp(join(root, 'lock-'));
  file = join(directory, 'below', '.lock');
});

const module = JSON.stringify(new URL('../../../data/runtime/file-lock.ts', import.meta.url).href);

/** A child that acquires the lock, says so, and then runs `afterwards`. */
async function holder(afterwards = 'setInterval(() => {}, 1000)') {
  const script = `
    const { acquireLock } = await import(${module});
    await acquireLock(${JSON.stringify(file)}, 'it');
    console.log('held');
    ${afterwards};`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  await once(child.stdout, 'data');
  return child;
}

/** Containers that share the directory: each is process 1 of its own process table, and says who it is and what it got. */
async function containers(count: number) {
  const source = `
    const { acquireLock } = await import(${module});
    const outcome = await acquireLock(${JSON.stringify(file)}, 'it').then(() => 'held', ({ name }) => name);
    console.log(process.pid, outcome);
    setInterval(() => {}, 1000);`;
  const children = Array.from({ length: count }, () => inOwnProcessTable(source));
  onTestFinished(() => children.forEach((child) => void child.kill('SIGKILL')));
  return Promise.all(
    children.map(async (child) => ({ child, said: String((await once(child.stdout, 'data'))[0]).trim() })),
  );
}

const acquireAtOnce = (count: number): Promise<PromiseSettledResult<FileLock>[]> =>
  Promise.allSettled(Array.from({ length: count }, () => acquireLock(file, 'it')));
const holders = (results: readonly PromiseSettledResult<FileLock>[]): FileLock[] =>
  results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
const lostSignal = (lock: FileLock): Promise<unknown> =>
  new Promise((settle) => {
    lock.signal.addEventListener('abort', () => settle(lock.signal.reason), { once: true });
  });

describe('a lock', () => {
  it('has one holder at a time, also within one process', async () => {
    const lock = await acquireLock(file, 'the snapshot');
    await expect(acquireLock(file, 'the snapshot')).rejects.toThrow(
      'the snapshot is already being worked on by another process',
    );
    await lock.release();
    await (await acquireLock(file, 'the snapshot')).release();
    expect(await readdir(join(directory, 'below'))).toEqual([]);
  });

  it('goes to exactly one of many that acquire it at once', async () => {
    expect(holders(await acquireAtOnce(20))).toHaveLength(1);
  });

  it('is refused while its process lives and taken over by exactly one after a kill', async () => {
    const child = await holder();
    await expect(acquireLock(file, 'it')).rejects.toThrow(LockHeldError);
    child.kill('SIGKILL');
    await once(child, 'exit');
    await expireLock(file);
    expect(holders(await acquireAtOnce(10))).toHaveLength(1);
  });

  it('is taken over by exactly one of many in every of 20 rounds', async () => {
    for (let round = 0; round < 20; round += 1) {
      await acquireLock(file, 'it').then((lock) => lock.release());
      await writeFile(file, JSON.stringify({ token: `crashed-${round}` }));
      await expireLock(file);
      const [winner, ...others] = holders(await acquireAtOnce(10));
      expect(others).toEqual([]);
      await winner?.release();
    }
    expect(await readdir(join(directory, 'below'))).toEqual([]);
  });

  it('is released at once by a process that exits normally or by an exception', async () => {
    for (const afterwards of ['process.exit(0)', 'throw new Error()']) {
      const child = await holder(afterwards);
      if (child.exitCode === null) await once(child, 'exit');
      expect(await readdir(join(directory, 'below'))).toEqual([]);
    }
  });

  it('has one holder among containers, which share no process ids and all are process 1', async () => {
    const [first, ...others] = (await containers(4)).toSorted((a, b) => (a.said < b.said ? 1 : -1));
    expect(first?.said).toBe('1 held');
    expect(others.map(({ said }) => said)).toEqual(Array(3).fill('1 LockHeldError'));
    await expect(acquireLock(file, 'it')).rejects.toThrow(LockHeldError);

    const killed = first && once(first.child, 'close');
    first?.child.kill('SIGKILL');
    await killed;
    await expireLock(file);
    const next = await containers(2);
    expect(next.map(({ said }) => said).toSorted()).toEqual(['1 LockHeldError', '1 held']);
  });

  it('is refreshed while it is held', async () => {
    const lock = await acquireLock(file, 'it');
    const earlier = new Date(Date.now() - 5_000);
    await utimes(file, earlier, earlier);
    await expect.poll(async () => (await stat(file)).mtimeMs).toBeGreaterThan(earlier.getTime() + 1);
    await lock.release();
  });

  it('of a suspended holder is taken over; the holder is told by its signal and by release', async () => {
    const lock = await acquireLock(file, 'it');
    const lost = lostSignal(lock);
    // As another process takes it over after ten seconds without a refresh.
    const taken = JSON.stringify({ token: 'another process' });
    await rm(file);
    await writeFile(file, taken);
    expect(await lost).toBeInstanceOf(LockLostError);
    await expect(lock.release()).rejects.toThrow(LockLostError);
    expect(await readFile(file, 'utf8')).toBe(taken);
  });

  it('that was lost is not removed by a release before the next refresh', async () => {
    const lock = await acquireLock(file, 'it');
    const taken = JSON.stringify({ token: 'another process' });
    await writeFile(file, taken);
    await expect(lock.release()).rejects.toThrow(LockLostError);
    expect(await readFile(file, 'utf8')).toBe(taken);
  });

  it('whose file was removed counts as lost', async () => {
    const lock = await acquireLock(file, 'it');
    await rm(file);
    expect(await lostSignal(lock)).toBeInstanceOf(LockLostError);
  });

  it('is kept when the refresh comes late but nobody took it over', async () => {
    const lock = await acquireLock(file, 'it');
    await expireLock(file);
    await expect.poll(async () => Date.now() - (await stat(file)).mtimeMs).toBeLessThan(10_000);
    expect(lock.signal.aborted).toBe(false);
    await lock.release();
  });

  it('left by an earlier version, empty or cut short, does not block for ever', async () => {
    const earlier = JSON.stringify({ pid: process.pid, started: '1', token: 'of a process' });
    for (const content of [earlier, '', '{"pid":']) {
      await acquireLock(file, 'it').then((lock) => lock.release());
      await writeFile(file, content);
      await expireLock(file);
      const taken = holders(await acquireAtOnce(10));
      expect(taken).toHaveLength(1);
      await taken[0]?.release();
    }
  });

  it('survives a process that crashed while it took the lock over', async () => {
    await acquireLock(file, 'it').then((lock) => lock.release());
    await writeFile(file, JSON.stringify({ token: 'crashed' }));
    await link(file, `${file}.crashed.stale`);
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + STALE_MS + 1_000 });
    onTestFinished(() => void vi.useRealTimers());
    await (await acquireLock(file, 'it')).release();
    expect(await readdir(join(directory, 'below'))).toEqual([]);
  });

  it('is not released again by its former holder', async () => {
    const lock = await acquireLock(file, 'it');
    await lock.release();
    const next = await acquireLock(file, 'it');
    await lock.release();
    await expect(acquireLock(file, 'it')).rejects.toThrow(LockHeldError);
    await next.release();
  });

  it('is waited for as long as asked, and acquired when the holder releases', async () => {
    const lock = await acquireLock(file, 'it');
    const waiting = acquireLock(file, 'it', { wait_ms: 60_000, poll_ms: 1 });
    await lock.release();
    await (await waiting).release();
  });

  it('is no longer waited for once the signal aborts, which aborts the work under it, too', async () => {
    const stop = new AbortController();
    const lock = await acquireLock(file, 'it', { signal: stop.signal });
    const waiting = acquireLock(file, 'it', { wait_ms: 60_000, signal: stop.signal });
    stop.abort(new Error('stopped'));
    await expect(waiting).rejects.toThrow();
    expect(lock.signal.reason).toEqual(new Error('stopped'));
    await lock.release();
  });
});
