/** The release command in clones of the last commit: what it builds, read by foreign software, and what it refuses. */
import { existsSync } from 'node:fs';
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { expect, it } from 'vitest';
import { useDirectory } from '../after-tests.ts';
import { installNodePackages } from '../node-packages.ts';
import { run as runProgram } from '../run-program.ts';

const ROOT = join(import.meta.dirname, '../..');
/** It carries the schemas of CycloneDX. */
const SCHEMAS = '@cyclonedx/cyclonedx-library@10.3.0';
const PROGRAM = 'test/release/main.ts';

const home = await useDirectory();

const run = (
  cwd: string,
  program: string,
  words: readonly string[],
  variables: Record<string, string> = {},
): Promise<string> => runProgram(program, words, { cwd, variables });
const release = (clone: string, ...words: string[]): Promise<string> =>
  run(clone, 'node', [PROGRAM, ...words]);

/** A clone of the last commit, with the packages and the tools of this folder. */
async function cloned(name: string): Promise<string> {
  const clone = join(home, name);
  await run(ROOT, 'git', ['clone', '--quiet', '--shared', ROOT, clone]);
  await mkdir(join(clone, 'var'));
  for (const shared of ['node_modules', 'var/test']) await symlink(join(ROOT, shared), join(clone, shared));
  return clone;
}

const commit = (clone: string): Promise<string> =>
  run(clone, 'git', ['-c', 'user.name=A', '-c', 'user.email=a@example.org', 'commit', '-qam', 'Change']);

const json = async (path: string) => JSON.parse(await readFile(path, 'utf8'));

const { version } = await json(join(ROOT, 'package.json'));
const first = await cloned('first');
await release(first, '--dry-run');
/** What the first run wrote. */
const built = join(first, 'var/release', version);

it('writes the same files in another folder, and sums that sha256sum confirms for each of them', async () => {
  const clone = await cloned('second');
  const output = await release(clone);
  expect(output).toContain('Nothing was published');
  expect(output).toContain(`git tag -s v${version}`);
  const sums = await readFile(join(built, 'SHA256SUMS'), 'utf8');
  expect(await readFile(join(clone, 'var/release', version, 'SHA256SUMS'), 'utf8')).toBe(sums);
  await run(built, 'sha256sum', ['--check', '--strict', '--quiet', 'SHA256SUMS']);
  const files = (await run(built, 'ls', [])).trim().split('\n');
  expect(sums.match(/[^ ]+(?=\n)/g)?.toSorted()).toEqual(
    files.filter((file) => file !== 'SHA256SUMS').toSorted(),
  );
});

it('names the service in what registries show', async () => {
  const clone = await cloned('addressed');
  await release(clone, '--dry-run', '--url=https://data.example.org');
  const output = join(clone, 'var/release', version);
  const shown = [
    await run(output, 'tar', ['-xOf', `almanac_data-${version}.tar.gz`, `almanac_data-${version}/PKG-INFO`]),
    await run(output, 'tar', [
      '-xOf',
      `almanac-data-${version}.tgz`,
      'package/README.md',
      'package/package.json',
    ]),
  ];
  for (const text of shown) {
    expect(text).toContain('https://data.example.org/docs/clients');
    expect(text).not.toContain('almanac.example');
  }
});

it('builds a wheel whose command runs in a new environment', async () => {
  const environment = join(home, 'venv');
  await run(home, 'python3', ['-m', 'venv', '--without-pip', environment]);
  const pip = ['-m', 'pip', '--python', join(environment, 'bin/python'), 'install', '--quiet', '--no-index'];
  await run(built, 'python3', [...pip, `almanac_data-${version}-py3-none-any.whl`]);
  expect(await run(home, join(environment, 'bin/almanac'), ['--version'])).toBe(`almanac-data ${version}\n`);
});

it('packs a client that an empty folder imports', async () => {
  const project = join(home, 'project');
  await mkdir(project);
  const file = join(built, `almanac-data-${version}.tgz`);
  await run(project, 'npm', ['install', '--offline', '--no-audit', '--no-fund', '--loglevel=error', file]);
  const program = "import { Almanac } from 'almanac-data'; console.log(typeof Almanac)";
  expect(await run(project, 'node', ['--input-type=module', '--eval', program])).toBe('function\n');
  expect((await json(join(project, 'node_modules/almanac-data/package.json'))).version).toBe(version);
});

it('builds an R package that a new library takes', async () => {
  const library = join(home, 'library');
  await mkdir(library);
  await run(built, 'R', ['CMD', 'INSTALL', '--library', library, `almanacdata_${version}.tar.gz`]);
  const program = "cat(as.character(packageVersion('almanacdata')))";
  expect(await run(home, 'Rscript', ['-e', program], { R_LIBS: library })).toBe(version);
});

it('archives every file of the commit and no other', async () => {
  const lines = (text: string): string[] => text.trim().split('\n').toSorted();
  const listed = lines(await run(built, 'tar', ['--list', '--file', `almanac-${version}.tar.gz`]));
  const tracked = lines(await run(ROOT, 'git', ['ls-tree', '-r', '--name-only', 'HEAD']));
  expect(listed.filter((path) => !path.endsWith('/'))).toEqual(
    tracked.map((path) => `almanac-${version}/${path}`).toSorted(),
  );
});

it('lists every package that production installs, in the form of CycloneDX', async () => {
  const bill = await json(join(built, `almanac-${version}.cdx.json`));
  const schemas = join(await installNodePackages([SCHEMAS]), '@cyclonedx/cyclonedx-library/res/schema');
  const ajv = new Ajv({ strict: false, validateFormats: false });
  const where = 'http://cyclonedx.org/schema/';
  for (const name of ['spdx', 'jsf-0.82'].map((one) => `${one}.SNAPSHOT.schema.json`))
    ajv.addSchema(await json(join(schemas, name)), `${where}${name}`);
  const schema = await json(join(schemas, `bom-${bill.specVersion}.SNAPSHOT.schema.json`));
  const isValid = ajv.validate(schema, bill);
  expect([isValid, ajv.errorsText()]).toEqual([true, 'No errors']);
  const lock: { packages: Record<string, { version: string; dev?: boolean }> } = await json(
    join(ROOT, 'package-lock.json'),
  );
  const installed = Object.entries(lock.packages)
    .filter(([path, { dev }]) => path !== '' && dev !== true)
    .map(([path, one]) => `${path.replace(/^.*node_modules\//, '')}@${one.version}`);
  const components: { group?: string; name: string; version: string }[] = bill.components;
  const listed = components.map(({ group, name, version: one }) => [group, `${name}@${one}`].join('/'));
  expect([...new Set(listed.map((one) => one.replace(/^\//, '')))].toSorted()).toEqual(
    [...new Set(installed)].toSorted(),
  );
});

it('takes the section of the version from the changelog', async () => {
  const section = await readFile(join(built, `CHANGELOG-${version}.md`), 'utf8');
  expect(section).toMatch(/^## \[/);
  expect(section.match(/^## /gm)).toHaveLength(1);
  expect(await readFile(join(ROOT, 'CHANGELOG.md'), 'utf8')).toContain(section);
});

it('refuses another version in any manifest by its name, and what a registry would refuse', async () => {
  const clone = await cloned('refused');
  const inJson = /(?<="version": ")\d/;
  const module = (await run(clone, 'git', ['ls-files', 'clients/python/src/*/_version.py'])).trim();
  const changes: readonly [path: string, before: string | RegExp, after: string, message: string][] = [
    ['package-lock.json', inJson, '', 'package-lock.json has version '],
    ['clients/typescript/package.json', inJson, '', 'clients/typescript/package.json has version '],
    [module, /(?<=version__ = ")\d/, '', `${module} has version `],
    ['clients/r/DESCRIPTION', /(?<=^Version: )\d/m, '', 'clients/r/DESCRIPTION has version '],
    [
      'gateway/api/mcp/description.ts',
      /(?<=VERSION = ')\d/,
      '',
      'gateway/api/mcp/description.ts has version ',
    ],
    ['CHANGELOG.md', `## [${version}]`, '', 'CHANGELOG.md has no section'],
    ['clients/python/pyproject.toml', 'readme = "README.md"', '', 'missing'],
    ['clients/typescript/package.json', /(?<="default": ".*)[.]js/, '', 'but the file does not exist'],
    ['clients/r/DESCRIPTION', /^License: .*$/m, 'License: none', 'Status: 1'],
    ['clients/typescript/package.json', '"dist"', '"dist/clients"', 'Internal resolution error'],
  ];
  for (const [path, before, after, message] of changes) {
    const text = await readFile(join(clone, path), 'utf8');
    await writeFile(join(clone, path), text.replace(before, after));
    await expect(release(clone, '--dry-run')).rejects.toThrow(`not committed:\n M ${path}`);
    await commit(clone);
    await expect(release(clone, '--dry-run')).rejects.toThrow(message);
    await run(clone, 'git', ['reset', '--quiet', '--hard', 'HEAD~']);
  }
  await expect(release(clone, '--publish')).rejects.toThrow('usage: npm run release -- [--dry-run]');
  expect(existsSync(join(clone, 'var/release', version, 'SHA256SUMS'))).toBe(false);
});
