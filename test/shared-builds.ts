/**
 * Two published builds that tests share: the whole mirror, which takes a minute, and the starter data, which take ten
 * seconds. Each is rebuilt only when build code or curated data change. A lock lets one test file build while others wait.
 * Tests must not modify them.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { acquireLock } from '../data/runtime/file-lock.ts';
import type { RunRecord } from '../data/schema/lake.ts';
import { showSnapshot } from './shown-snapshot.ts';

const run = promisify(execFile);
const ROOT = resolve(import.meta.dirname, '..');
const BUILD_WITHIN_MS = 600_000;
const SUMMARY = 'night.json';
/** Age at which builds of other code versions are deleted. */
const OLD_MS = 3_600_000;
const OUTPUT_BYTES = 10_000_000;

export interface SharedBuild {
  /** A VAR_DIR: `lake/`, `snapshots/`. */
  directory: string;
  lake: string;
  snapshots: string;
  /** Shows the files of the current snapshot under their names. */
  snapshot: string;
}

/** Digest of code and curated data, the starter data included. The mirror never changes. */
async function digest(): Promise<string> {
  const hash = createHash('sha256');
  for (const folder of ['build', 'data']) {
    const entries = await readdir(join(ROOT, folder), { recursive: true, withFileTypes: true });
    const files = entries
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name));
    for (const file of files.sort()) hash.update(file).update(await readFile(file));
  }
  return hash.digest('hex').slice(0, 16);
}

/** @param mirror directory from `describeWithMirror` */
export const buildMirror = (mirror: string): Promise<SharedBuild> =>
  buildOnce('mirror-build', ['nightly', '--all'], { PROVIDER_MIRROR: mirror });

/** The starter data as `npm start` publishes them. */
export const buildStarter = (): Promise<SharedBuild> => buildOnce('starter-build', ['starter'], {});

async function buildOnce(
  name: string,
  command: string[],
  settings: Record<string, string>,
): Promise<SharedBuild> {
  const home = join(ROOT, 'var', name);
  const directory = join(home, await digest());
  await mkdir(home, { recursive: true });
  const lock = await acquireLock(`${directory}.lock`, `the ${name}`, { wait_ms: BUILD_WITHIN_MS });
  try {
    if (!existsSync(join(directory, SUMMARY))) {
      await removeOld(home);
      await buildInto(directory, command, settings);
    }
  } finally {
    await lock.release();
  }
  const snapshots = join(directory, 'snapshots');
  const current = (await readFile(join(snapshots, 'current'), 'utf8')).trim();
  return {
    directory,
    snapshots,
    lake: join(directory, 'lake'),
    snapshot: join(`${snapshots}-shown`, current),
  };
}

/** Record of the current run of a provider in the lake. */
export async function runOf({ lake }: SharedBuild, provider: string): Promise<RunRecord> {
  const run = (await readFile(join(lake, provider, 'current'), 'utf8')).trim();
  return JSON.parse(await readFile(join(lake, provider, run, 'run.json'), 'utf8'));
}

async function buildInto(
  directory: string,
  command: string[],
  settings: Record<string, string>,
): Promise<void> {
  await rm(directory, { recursive: true, force: true });
  const env = { ...settings, VAR_DIR: directory, LOG_LEVEL: 'error' };
  const step = [join(ROOT, 'build', 'main.ts'), ...command, '--json'];
  const { stdout } = await run(process.execPath, step, { env, cwd: ROOT, maxBuffer: OUTPUT_BYTES });
  await showSnapshot(join(directory, 'snapshots'));
  await writeFile(join(directory, SUMMARY), stdout);
}

async function removeOld(home: string): Promise<void> {
  for (const name of await readdir(home)) {
    const path = join(home, name);
    // Another process waiting for the lock creates and removes its own files here.
    const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: Date.now() }));
    if (Date.now() - mtimeMs > OLD_MS) await rm(path, { recursive: true, force: true });
  }
}
