/** The files of the repository, for tests of tidiness and parity. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export const ROOT = join(import.meta.dirname, '../..');

export const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

/** Paths of all tracked and untracked files that git does not ignore. */
export const files: readonly string[] = execFileSync(
  'git',
  ['ls-files', '--cached', '--others', '--exclude-standard', '--deduplicate'],
  { cwd: ROOT, encoding: 'utf8' },
)
  .split('\n')
  .filter((path) => path !== '' && isPresent(path));

function isPresent(path: string): boolean {
  try {
    read(path);
    return true;
  } catch {
    return false; // deleted, not yet committed
  }
}

const CODE = /\.(ts|mjs|js|sql|lua|njk|css)$/;
const GENERATED = 'clients/typescript/src/api.ts';
export const code: readonly string[] = files.filter((path) => CODE.test(path) && path !== GENERATED);
/** What runs in production. */
export const product: readonly string[] = code.filter((path) => /^(build|gateway|data|admin)\//.test(path));

/** Matching lines as `path:line: text`. */
export function occurrences(paths: readonly string[], pattern: RegExp): string[] {
  return paths.flatMap((path) =>
    read(path)
      .split('\n')
      .flatMap((line, index) => (pattern.test(line) ? [`${path}:${index + 1}: ${line.trim()}`] : [])),
  );
}

/** Module specifiers of static and dynamic imports. */
export function importsOf(path: string): string[] {
  const pattern =
    /^\s*(?:import|export)\b[^'"`;]*?\bfrom\s+'([^']+)'|^\s*import\s+'([^']+)'|\bimport\('([^']+)'\)/gm;
  return [...read(path).matchAll(pattern)].flatMap(
    ([, from, bare, dynamic]) => from ?? bare ?? dynamic ?? [],
  );
}

/** `@scope/name` or `name` of a package import; null for relative paths and built-in modules. */
export function packageOf(specifier: string): string | null {
  if (specifier.startsWith('.') || specifier.startsWith('node:')) return null;
  const parts = specifier.split('/');
  return specifier.startsWith('@') ? parts.slice(0, 2).join('/') : (parts[0] ?? null);
}
