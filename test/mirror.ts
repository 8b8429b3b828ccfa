/**
 * The provider mirror: real upstream files for tests. It is the directory that PROVIDER_MIRROR names, else the archives of
 * `../shared/providers` beside the repository, unpacked once into `var/mirror`. Provider data is never committed; without
 * a mirror the tests that need it are reported as not run.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, it } from 'vitest';
import { readSettings } from '../data/runtime/settings.ts';

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '..');
const ARCHIVES = resolve(ROOT, '..', 'shared', 'providers');
const LOCK_STALE_MS = 120_000;
const POLL_MS = 100;

/** Unpacks under a lock, since test files run in parallel. */
function unpackOnce(directory: string): void {
  const lock = `${directory}.lock`;
  mkdirSync(dirname(directory), { recursive: true });
  const pause = new Int32Array(new SharedArrayBuffer(4));
  for (;;) {
    try {
      writeFileSync(lock, String(process.pid), { flag: 'wx' });
      break;
    } catch {
      const held = statSync(lock, { throwIfNoEntry: false });
      if (held && Date.now() - held.mtimeMs > LOCK_STALE_MS) rmSync(lock, { force: true });
      Atomics.wait(pause, 0, 0, POLL_MS);
    }
  }
  try {
    execFileSync(join(ARCHIVES, 'unpack'), [directory], { stdio: 'ignore' });
  } finally {
    rmSync(lock, { force: true });
  }
}

let found: string | null | undefined;

/** Directory of the mirror with one folder per provider, or null without one. */
export function mirrorDirectory(): string | null {
  if (found !== undefined) return found;
  const given = readSettings().PROVIDER_MIRROR;
  if (given !== undefined && existsSync(given)) {
    found = given;
  } else if (existsSync(join(ARCHIVES, 'unpack'))) {
    found = join(ROOT, 'var', 'mirror');
    unpackOnce(found);
  } else {
    found = null;
  }
  return found;
}

/**
 * A `describe` for tests that need the mirror. Without one it is reported as not run, and `tests` is never called, since
 * it may read the mirror.
 */
export function describeWithMirror(name: string, tests: (mirror: string) => void): void {
  const mirror = mirrorDirectory();
  if (mirror !== null) describe(name, () => tests(mirror));
  else it.skipIf(true)(`${name} (not run: no provider mirror; set PROVIDER_MIRROR)`, () => {});
}
