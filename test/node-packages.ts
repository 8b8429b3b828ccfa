/** Packages of Node.js from their registry, for tests that read our output with software of others. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '../var/test');

/**
 * Installs packages once for all runs, apart from our own: some need other versions of what we use. Complete at once or
 * not at all.
 * @param packages with their versions: `name@1.0.0`
 * @returns their `node_modules`
 */
export async function installNodePackages(packages: readonly string[]): Promise<string> {
  const digest = createHash('sha256').update(packages.join('\n')).digest('hex');
  const installed = join(ROOT, `node-${digest.slice(0, 12)}`);
  const modules = join(installed, 'node_modules');
  if (existsSync(installed)) return modules;
  const draft = `${installed}-${process.pid}`;
  await mkdir(draft, { recursive: true });
  await writeFile(join(draft, 'package.json'), '{ "private": true }');
  const flags = ['--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error'];
  execFileSync('npm', ['install', ...flags, ...packages], {
    cwd: draft,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  await rename(draft, installed).catch(async (error: unknown) => {
    await rm(draft, { recursive: true });
    if (!existsSync(installed)) throw error;
  });
  return modules;
}
