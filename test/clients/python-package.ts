/** The Python client as its users get it: a wheel, installed beside the packages that its tests need. */
import { type ExecFileSyncOptionsWithStringEncoding, execFile, execFileSync } from 'node:child_process';
import { mkdtemp, readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { installPackages, pythonPath } from '../python-packages.ts';

export const PACKAGE = join(import.meta.dirname, '../../clients/python');

const OUTPUT_BYTES = 10_000_000;
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

/** Runs a program. @returns what it printed @throws with all that it said, when it fails */
export async function run(
  program: string,
  words: readonly string[],
  variables: Record<string, string> = {},
  cwd = PACKAGE,
): Promise<string> {
  const pairs = Object.entries({ PYTHONDONTWRITEBYTECODE: '1', ...variables });
  const settings = pairs.map(([name, value]) => `${name}=${value}`);
  const { stdout } = await promisify(execFile)('env', [...settings, program, ...words], {
    cwd,
    maxBuffer: OUTPUT_BYTES,
  }).catch((error) => {
    throw new Error(`${words.join(' ')}\n${error.stdout}\n${error.stderr}`);
  });
  return stdout;
}

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
  wheel: string;
  /** For PYTHONPATH: the package alone. */
  site: string;
  /** Where the command lies. */
  bin: string;
}

/** Builds the wheel and installs it, without any dependency, in a temporary directory. */
export async function installWheel(): Promise<Installed> {
  await installPackages(BUILD_TOOLS);
  const directory = await mkdtemp(join(tmpdir(), 'alm-python-'));
  const path = { PYTHONPATH: pythonPath(BUILD_TOOLS) };
  const words = ['-m', 'build', '--wheel', '--no-isolation', '--outdir', directory, PACKAGE];
  await run('python3', words, path);
  const [name = ''] = (await readdir(directory)).filter((file) => file.endsWith('.whl'));
  const wheel = join(directory, name);
  const site = join(directory, 'site');
  const pip = [
    '-m',
    'pip',
    'install',
    '--quiet',
    '--disable-pip-version-check',
    '--no-index',
    '--target',
    site,
    wheel,
  ];
  await run('python3', pip);
  return { wheel, site, bin: join(site, 'bin') };
}
