/**
 * The whole mirror, ingested and published once, for every test that looks at it: a minute's work that is done anew
 * only when the code of the build or the curated data change. Several test files may want it at once: one builds, the
 * others wait. Nothing in it may be changed by a test.
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
/** Builds of other states of the code that nobody can be using any more. */
const OLD_MS = 3_600_000;
const OUTPUT_BYTES = 10_000_000;

export interface MirrorBuild {
  /** A VAR_DIR: `lake/`, `snapshots/`. */
  directory: string;
  lake: string;
  snapshots: string;
  /** Directory of the snapshot that is served. */
  snapshot: string;
}

/** Digest of everything that the build is made with, but for the mirror, which does not change. */
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

/** @param mirror its directory, as `describeWithMirror` gives it. */
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

/** The record of the run whose figures a provider's lake holds. */
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
    const { mtimeMs } = await stat(path);
    if (Date.now() - mtimeMs > OLD_MS) await rm(path, { recursive: true, force: true });
  }
}
