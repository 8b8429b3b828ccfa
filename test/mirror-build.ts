/**
 * The whole mirror, ingested and published, shared by all tests that need it. It takes a minute and is rebuilt only when
 * build code or curated data change. A lock lets one test file build while others wait. Tests must not modify it.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { acquireLock } from '../data/runtime/file-lock.ts';
import type { RunRecord } from '../data/schema/lake.ts';

const run = promisify(execFile);
const ROOT = resolve(import.meta.dirname, '..');
const HOME = join(ROOT, 'var', 'mirror-build');
export const BUILD_WITHIN_MS = 600_000;
const SUMMARY = 'night.json';
/** Age at which builds of other code versions are deleted. */
const OLD_MS = 3_600_000;
const OUTPUT_BYTES = 10_000_000;

export interface MirrorBuild {
  /** A VAR_DIR: `lake/`, `snapshots/`. */
  directory: string;
  lake: string;
  snapshots: string;
  /** Directory of the current snapshot. */
  snapshot: string;
}

/** Digest of code and curated data. The mirror never changes. */
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
export async function buildMirror(mirror: string): Promise<MirrorBuild> {
  const directory = join(HOME, await digest());
  await mkdir(HOME, { recursive: true });
  const lock = await acquireLock(`${directory}.lock`, 'the mirror build', { wait_ms: BUILD_WITHIN_MS });
  try {
    if (!existsSync(join(directory, SUMMARY))) await buildInto(directory, mirror);
  } finally {
    await lock.release();
  }
  const snapshots = join(directory, 'snapshots');
  const current = (await readFile(join(snapshots, 'current'), 'utf8')).trim();
  return { directory, snapshots, lake: join(directory, 'lake'), snapshot: join(snapshots, current) };
}

/** Record of the current run of a provider in the lake. */
export async function runOf({ lake }: MirrorBuild, provider: string): Promise<RunRecord> {
  const run = (await readFile(join(lake, provider, 'current'), 'utf8')).trim();
  return JSON.parse(await readFile(join(lake, provider, run, 'run.json'), 'utf8'));
}

async function buildInto(directory: string, mirror: string): Promise<void> {
  await removeOld();
  await rm(directory, { recursive: true, force: true });
  const env = { PROVIDER_MIRROR: mirror, VAR_DIR: directory, LOG_LEVEL: 'error' };
  const night = [join(ROOT, 'build', 'main.ts'), 'nightly', '--all', '--json'];
  const { stdout } = await run(process.execPath, night, { env, cwd: ROOT, maxBuffer: OUTPUT_BYTES });
  await writeFile(join(directory, SUMMARY), stdout);
}

async function removeOld(): Promise<void> {
  for (const name of await readdir(HOME)) {
    const path = join(HOME, name);
    // Another process waiting for the lock creates and removes its own files here.
    const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: Date.now() }));
    if (Date.now() - mtimeMs > OLD_MS) await rm(path, { recursive: true, force: true });
  }
}
