/** The Python client as its users get it: a wheel, installed beside the packages that its tests need. */
import { type ExecFileSyncOptionsWithStringEncoding, execFileSync } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { useDirectory } from '../after-tests.ts';
import type { Evidence } from '../data/proofs/tampering.ts';
import { installPackages, pythonPath } from '../python-packages.ts';
import { type RunOptions, run } from '../run-program.ts';
import { verdictsOn } from './receipt-suite.ts';

export const PACKAGE = join(import.meta.dirname, '../../clients/python');

const QUIET: ExecFileSyncOptionsWithStringEncoding = {
  encoding: 'utf8',
  stdio: ['ignore', 'pipe', 'ignore'],
};

/** Pure Python, so that one installation serves every version of Python. */
export const TEST_TOOLS = [
  'pytest==9.2.0',
  'exceptiongroup==1.3.0',
  'tomli==2.3.0',
  'typing_extensions==4.16.0',
];
export const BUILD_TOOLS = ['build==1.6.1', 'hatchling==1.33.0'];
export const LINT_TOOLS = ['mypy==2.4.1', 'ruff==0.17.6'];
export const FRAMES = ['pandas==3.1.1', 'pyarrow==26.0.1', 'polars==2.1.0', 'duckdb==2.0.0'];

/** Runs a program, in the folder of the package by default. */
export const runPython = (
  words: readonly string[],
  { program = 'python3', cwd = PACKAGE, variables }: RunOptions & { program?: string } = {},
): Promise<string> => run(program, words, { cwd, variables: { PYTHONDONTWRITEBYTECODE: '1', ...variables } });

export interface Interpreter {
  /** `3.12`. */
  version: string;
  program: string;
}

/** The interpreters of this machine that the package promises to run on, oldest first. */
export function interpreters(): Interpreter[] {
  return [10, 11, 12, 13, 14].flatMap((minor) => {
    const version = `3.${minor}`;
    const candidates = [`python${version}`, ...pyenvInterpreters(minor)];
    const program = candidates.find((one) => versionOf(one) === version);
    return program === undefined ? [] : [{ version, program }];
  });
}

function pyenvInterpreters(minor: number): string[] {
  try {
    const versions = execFileSync('pyenv', ['versions', '--bare'], QUIET);
    const root = execFileSync('pyenv', ['root'], QUIET).trim();
    const fitting = versions.split('\n').filter((version) => version.trim().startsWith(`3.${minor}.`));
    return fitting.map((version) => join(root, 'versions', version.trim(), 'bin/python3'));
  } catch {
    return []; // not installed
  }
}

/** `3.12`; null where the program does not run. */
function versionOf(interpreter: string): string | null {
  const program = 'import sys; print("%d.%d" % sys.version_info[:2])';
  try {
    return execFileSync(interpreter, ['-c', program], QUIET).trim();
  } catch {
    return null;
  }
}

export interface Installed {
  /** Removed after the tests. */
  directory: string;
  wheel: string;
  /** For PYTHONPATH: the package alone. */
  site: string;
  /** Where the command lies. */
  bin: string;
}

/** Builds the wheel and installs it, without any dependency. */
export async function installWheel(): Promise<Installed> {
  await installPackages(BUILD_TOOLS);
  const directory = await useDirectory();
  const words = ['-m', 'build', '--wheel', '--no-isolation', '--outdir', directory, PACKAGE];
  await runPython(words, { variables: { PYTHONPATH: pythonPath(BUILD_TOOLS) } });
  const [name = ''] = (await readdir(directory)).filter((file) => file.endsWith('.whl'));
  const wheel = join(directory, name);
  const site = join(directory, 'site');
  const offline = ['--quiet', '--disable-pip-version-check', '--no-index'];
  await runPython(['-m', 'pip', 'install', ...offline, '--target', site, wheel]);
  return { directory, wheel, site, bin: join(site, 'bin') };
}

/** @returns for each what the package says: `accepted`, or `refused: ` and why */
export const verifyWithPackage = (
  { site, directory }: Installed,
  all: readonly Evidence[],
): Promise<string[]> =>
  verdictsOn(directory, all, (file) =>
    runPython([join(PACKAGE, 'tests/verify_evidence.py'), file], { variables: { PYTHONPATH: site } }),
  );
