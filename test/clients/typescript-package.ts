/** The TypeScript client as its users get it: packed, and installed in a project of its own. */
import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { useDirectory } from '../after-tests.ts';
import { run } from '../run-program.ts';

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
  /** Removed after the tests. */
  directory: string;
  /** Where the package lies in it. */
  installed: string;
}

/** Packs the client with its own script, and installs the package in a new project, without the network. */
export async function installPackage(): Promise<Project> {
  const home = await useDirectory();
  const source = join(home, relative(ROOT, PACKAGE));
  await cp(PACKAGE, source, { recursive: true, filter: (path) => !path.startsWith(join(PACKAGE, 'dist')) });
  // The package carries the arithmetic of derived figures.
  for (const shared of ['package.json', 'data/derived'])
    await cp(join(ROOT, shared), join(home, shared), { recursive: true });
  const pack = 'PATH="$1:$PATH" exec npm pack --silent --pack-destination "$2"';
  await run('sh', ['-c', pack, 'sh', BIN, home], { cwd: source });
  const directory = join(home, 'project');
  await mkdir(directory);
  await writeFile(join(directory, 'package.json'), '{ "type": "module", "private": true }');
  await writeFile(join(directory, 'tsconfig.json'), JSON.stringify(CONSUMER_TSCONFIG));
  const flags = ['--offline', '--no-audit', '--no-fund', '--loglevel=error'];
  const { version } = JSON.parse(await readFile(join(source, 'package.json'), 'utf8'));
  await run('npm', ['install', ...flags, `../almanac-data-${version}.tgz`], { cwd: directory });
  return { directory, installed: join(directory, 'node_modules/almanac-data') };
}

/** Compiles the TypeScript in the project. */
export const compile = ({ directory }: Project): Promise<string> =>
  run(join(BIN, 'tsc'), ['--project', '.'], { cwd: directory });

/** Makes the types of Node.js, which the project's own files use, resolvable. */
export const linkNodeTypes = ({ directory }: Project): Promise<void> =>
  symlink(join(ROOT, 'node_modules/@types'), join(directory, 'node_modules/@types'));
