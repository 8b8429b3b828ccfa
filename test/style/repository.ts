/** The repository as a list of files: what tidiness and parity are judged on. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export const ROOT = join(import.meta.dirname, '../..');

export const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

/** Paths of everything that is, or is about to be, committed; never what git ignores. */
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
export const code: readonly string[] = files.filter((path) => CODE.test(path));
/** What runs in production. */
export const product: readonly string[] = code.filter((path) => /^(build|gateway|data|admin)\//.test(path));

/** Lines of the files that match, as `path:line: text`, so that a failing test shows where to look. */
export function occurrences(paths: readonly string[], pattern: RegExp): string[] {
  return paths.flatMap((path) =>
    read(path)
      .split('\n')
      .flatMap((line, index) => (pattern.test(line) ? [`${path}:${index + 1}: ${line.trim()}`] : [])),
  );
}

/** Module names that a file imports, static and dynamic ones. */
export function importsOf(path: string): string[] {
  const pattern =
    /^\s*(?:import|export)\b[^'"`;]*?\bfrom\s+'([^']+)'|^\s*import\s+'([^']+)'|\bimport\('([^']+)'\)/gm;
  return [...read(path).matchAll(pattern)].flatMap(
    ([, from, bare, dynamic]) => from ?? bare ?? dynamic ?? [],
  );
}

/** `@scope/name` or `name` of a bare import; null for relative paths and Node's own modules. */
export function packageOf(specifier: string): string | null {
  if (specifier.startsWith('.') || specifier.startsWith('node:')) return null;
  const parts = specifier.split('/');
  return specifier.startsWith('@') ? parts.slice(0, 2).join('/') : (parts[0] ?? null);
}
