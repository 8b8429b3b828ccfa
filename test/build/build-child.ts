/** Runs build-process.ts for tests that kill it. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expireLock } from '../expire-lock.ts';
import type { World } from './world.ts';

const CHILD = fileURLToPath(new URL('build-process.ts', import.meta.url));

/** When to kill: at a line of output, some time after the start, or before a file appears whose path begins so. */
export interface Kill {
  line?: number;
  after_ms?: number;
  before?: string;
}

/**
 * Ingests and builds, or backfills, in a child process. A lock that a kill leaves is stale at once.
 * @returns its exit and its lines of output, without one that the kill cut off.
 */
export async function runBuild(world: World, task: 'build' | 'backfill', kill: Kill = {}) {
  const { line = '', before = '', after_ms } = kill;
  const args = [CHILD, task, world.directory, String(world.clock), String(line), before];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const output = text(child.stdout);
  const timer = after_ms === undefined ? null : setTimeout(() => child.kill('SIGKILL'), after_ms);
  const [code, signal] = await once(child, 'close');
  if (timer) clearTimeout(timer);
  for (const lock of [world.lake('atlas').lockFile, world.snapshots.lockFile]) await expireLock(lock);
  return { code, signal, lines: (await output).split('\n').slice(0, -1) };
}
