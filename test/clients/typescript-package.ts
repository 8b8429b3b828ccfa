/** The TypeScript client as its users get it: packed, and installed in a project of its own. */
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { promisify } from 'node:util';

const ROOT = join(import.meta.dirname, '../..');
export const PACKAGE = join(ROOT, 'clients/typescript');
const BIN = join(ROOT, 'node_modules/.bin');

/** Strict, and without leave to skip the types of the package. */
const CONSUMER_TSCONFIG = {
  compilerOptions: {
    target: 'es2022',
    lib: ['es2022', 'dom', 'dom.iterable', 'dom.asynciterable'],
    module: 'nodenext',
    strict: true,
    noUncheckedIndexedAccess: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: false,
    types: ['node'],
    typeRoots: [join(ROOT, 'node_modules/@types')],
    outDir: 'built',
  },
  include: ['*.ts'],
};

export interface Project {
  directory: string;
  /** Where the package lies in it. */
  installed: string;
}

/** Runs a program. @returns what it printed @throws with all that it said, when it fails */
export async function run(
  cwd: string,
  program: string,
  words: readonly string[],
  variables: Record<string, string> = {},
): Promise<string> {
  const settings = Object.entries(variables).map(([name, value]) => `${name}=${value}`);
  const { stdout } = await promisify(execFile)('env', [...settings, program, ...words], { cwd }).catch(
    (error) => {
      throw new Error(`${program} ${words.join(' ')}\n${error.stdout}\n${error.stderr}`);
    },
  );
  return stdout;
}

/** Packs the client with its own script, and installs the package in a new project, without the network. */
export async function installPackage(): Promise<Project> {
  const home = await mkdtemp(join(tmpdir(), 'alm-npm-'));
  const source = join(home, relative(ROOT, PACKAGE));
  await cp(PACKAGE, source, { recursive: true, filter: (path) => !path.startsWith(join(PACKAGE, 'dist')) });
  // The package carries the arithmetic of derived figures.
  for (const shared of ['package.json', 'data/derived'])
    await cp(join(ROOT, shared), join(home, shared), { recursive: true });
  const pack = 'PATH="$1:$PATH" exec npm pack --silent --pack-destination "$2"';
  await run(source, 'sh', ['-c', pack, 'sh', BIN, home]);
  const directory = join(home, 'project');
  await mkdir(directory);
  await writeFile(join(directory, 'package.json'), '{ "type": "module", "private": true }');
  await writeFile(join(directory, 'tsconfig.json'), JSON.stringify(CONSUMER_TSCONFIG));
  const flags = ['--offline', '--no-audit', '--no-fund', '--loglevel=error'];
  const { version } = JSON.parse(await run(source, 'cat', ['package.json']));
  await run(directory, 'npm', ['install', ...flags, `../almanac-data-${version}.tgz`]);
  return { directory, installed: join(directory, 'node_modules/almanac-data') };
}

/** Compiles the TypeScript in the project. */
export const compile = ({ directory }: Project): Promise<string> =>
  run(directory, join(BIN, 'tsc'), ['--project', '.']);

/** Makes the types of Node.js, which the project's own files use, resolvable. */
export const linkNodeTypes = ({ directory }: Project): Promise<void> =>
  symlink(join(ROOT, 'node_modules/@types'), join(directory, 'node_modules/@types'));
