/**
 * Clients that generators of others make of the served description, in TypeScript and in Python: they compile under strict
 * rules, and a program that uses them hears what a plain request does.
 */
import { execFile } from 'node:child_process';
import { cp, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { useDirectory } from '../../after-tests.ts';
import { installNodePackages } from '../../node-packages.ts';
import { installPackages, pythonPath } from '../../python-packages.ts';
import { useService } from '../service.ts';
import { INDICATOR, OTHER, toldTo } from './told.ts';

const NODE_PACKAGES = [
  'openapi-typescript@7.13.0',
  'openapi-fetch@0.17.0',
  // The generator needs the compiler as a library, which its next major version is not.
  'typescript@5.9.3',
  '@types/node@24.19.2',
];
const PYTHON_PACKAGES = [
  'openapi-python-client==0.29.1',
  'mypy==2.4.1',
  'types-python-dateutil==2.9.0.20261104',
];
/** The generator takes no text but `text/*` for such, and one type for bytes. */
const PYTHON_CONFIGURATION = {
  post_hooks: [],
  content_type_overrides: {
    'application/x-bibtex': 'text/plain',
    'application/vnd.apache.parquet': 'application/octet-stream',
  },
};
const TSC = join(import.meta.dirname, '../../../node_modules/.bin/tsc');

let key: string;

const service = await useService();
({ key } = await service.account({ credits: 10_000 }));
const folder = await useDirectory();
const told = await toldTo(service, key);

/** Runs a program in the folder. @returns what it printed @throws with all that it said, when it fails */
async function run(program: string, args: string[], more: Record<string, string> = {}): Promise<string> {
  const variables = Object.entries(more).map(([name, value]) => `${name}=${value}`);
  const { stdout } = await promisify(execFile)('env', [...variables, program, ...args], {
    cwd: folder,
  }).catch((error) => {
    throw new Error(`${args.join(' ')}\n${error.stdout}\n${error.stderr}`);
  });
  return stdout;
}

const used = () => [service.url, key, INDICATOR, OTHER];

test('openapi-typescript and openapi-fetch', async () => {
  const modules = await installNodePackages(NODE_PACKAGES);
  await cp(join(import.meta.dirname, 'typescript'), folder, { recursive: true });
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
  await symlink(modules, join(folder, 'node_modules'));
  const generator = join(modules, 'openapi-typescript/bin/cli.js');
  await run(process.execPath, [generator, `${service.url}/v1/openapi.json`, '--output', 'api.d.ts']);
  await run(TSC, ['--project', '.']);
  expect(JSON.parse(await run(process.execPath, ['use.ts', ...used()]))).toEqual(told);
});

test('openapi-python-client', async () => {
  await installPackages(PYTHON_PACKAGES);
  await cp(join(import.meta.dirname, 'python'), folder, { recursive: true });
  await writeFile(join(folder, 'configuration.json'), JSON.stringify(PYTHON_CONFIGURATION));
  const python = (...args: string[]) =>
    run('python3', args, { PYTHONPATH: pythonPath(PYTHON_PACKAGES), PYTHONDONTWRITEBYTECODE: '1' });
  const generate = (query: string, name: string) =>
    python(
      ...['-m', 'openapi_python_client', 'generate', '--fail-on-warning', '--meta', 'none'],
      ...['--config', 'configuration.json', '--output-path', name],
      ...['--url', `${service.url}/v1/openapi.json${query}`],
    );
  await generate('', 'almanac_client');
  await generate('?format=csv', 'almanac_csv');
  await python('-m', 'mypy', '--strict', 'use.py');
  await python('-m', 'mypy', '--strict', '-p', 'almanac_client', '-p', 'almanac_csv');
  expect(JSON.parse(await python('use.py', ...used()))).toEqual(told);
});
