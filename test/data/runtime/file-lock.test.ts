import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { acquireLock, LockHeldError } from '../../../data/runtime/file-lock.ts';

let directory: string;
let file: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'almanac-lock-'));
  file = join(directory, 'below', '.lock');
});
afterEach(() => rm(directory, { recursive: true }));

/** A child that takes the lock, says so, and lives until it is killed. */
async function holder() {
  const module = JSON.stringify(new URL('../../../data/runtime/file-lock.ts', import.meta.url).href);
  const script = `
    const { acquireLock } = await import(${module});
    await acquireLock(${JSON.stringify(file)}, 'it');
    console.log('held');
    setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(child.stdout, 'data');
  return child;
}

describe('a lock', () => {
  it('is held by one at a time, in one process too', async () => {
    const lock = await acquireLock(file, 'the snapshot');
    await expect(acquireLock(file, 'the snapshot')).rejects.toThrow(
      `the snapshot is already being worked on by process ${process.pid}`,
    );
    await lock.release();
    await (await acquireLock(file, 'the snapshot')).release();
    expect(await readdir(join(directory, 'below'))).toEqual([]);
  });

  it('goes to exactly one of many who want it at once', async () => {
    const results = await Promise.allSettled(Array.from({ length: 20 }, () => acquireLock(file, 'it')));
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });

  it('of a living process is refused, of a killed one taken over', async () => {
    const child = await holder();
    await expect(acquireLock(file, 'it')).rejects.toThrow(LockHeldError);
    child.kill('SIGKILL');
    await once(child, 'exit');
    const results = await Promise.allSettled(Array.from({ length: 10 }, () => acquireLock(file, 'it')));
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });

  it('of a process id that was given to another process is taken over', async () => {
    const lock = await acquireLock(file, 'it');
    const own = JSON.parse(await readFile(file, 'utf8'));
    await writeFile(file, JSON.stringify({ ...own, started: '1', token: 'earlier' }));
    await (await acquireLock(file, 'it')).release();
    await lock.release();
  });

  it('whose file a power cut left empty is taken over', async () => {
    await (await acquireLock(file, 'it')).release();
    await writeFile(file, '');
    const results = await Promise.allSettled(Array.from({ length: 10 }, () => acquireLock(file, 'it')));
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });

  it('is not taken from the next holder by a late release', async () => {
    const lock = await acquireLock(file, 'it');
    await lock.release();
    const next = await acquireLock(file, 'it');
    await lock.release();
    await expect(acquireLock(file, 'it')).rejects.toThrow(LockHeldError);
    await next.release();
  });
});
