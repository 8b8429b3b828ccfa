/**
 * `npm run release` builds what a version publishes, from the last commit, into `var/release/<version>`, and checks it as
 * the registries would. It publishes and tags nothing; without `--dry-run` it prints the commands for that. `--url=…` is
 * written in place of the placeholder by which READMEs and manifests of the clients name the service.
 *
 * Built twice from one commit, the files are equal to the byte. `SHA256SUMS` is written last, when all checks passed.
 */
import { execFileSync, type SpawnSyncReturns } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { installNodePackages } from '../node-packages.ts';
import { installPackages, pythonPath } from '../python-packages.ts';

const ROOT = join(import.meta.dirname, '../..');
const PYTHON_TOOLS = ['build==1.6.1', 'hatchling==1.33.0', 'twine==7.0.0'];
/** `npm sbom --omit dev` leaves out packages that a development dependency needs as well, such as `yaml`. */
const NODE_TOOLS = ['publint@0.3.25', '@arethetypeswrong/cli@0.18.5', '@cyclonedx/cyclonedx-npm@6.0.1'];
const OUTPUT_BYTES = 50_000_000;
/** How `env` exits when there is no such program. */
const NOT_FOUND = 127;

/** What ends the program with a message instead of a stack. */
class Refusal extends Error {}

const USAGE = 'usage: npm run release -- [--dry-run] [--url=https://HOST]';
const PLACEHOLDER = 'https://almanac.example';
/** What registries show. */
const NAMING_SERVICE = [
  'python/README.md',
  'python/pyproject.toml',
  'typescript/README.md',
  'typescript/package.json',
];

const words = process.argv.slice(2);
const isDryRun = words.includes('--dry-run');
const url = words.flatMap((word) => /^--url=(https:\/\/[^/\s]+)$/.exec(word)?.[1] ?? [])[0];
/** `NAME=value` for the programs that build and check. */
let variables: readonly string[] = [];

/** Runs a program. @returns what it printed @throws {Refusal} with all that it said, when it fails */
function run(directory: string, program: string, ...words: string[]): string {
  try {
    return execFileSync('env', [...variables, program, ...words], {
      cwd: directory,
      encoding: 'utf8',
      maxBuffer: OUTPUT_BYTES,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  } catch (error) {
    const { message, status, stdout = '', stderr = '' } = error as SpawnSyncReturns<string> & Error;
    if (status === NOT_FOUND) throw new Refusal(`left out: "${program} ${words.join(' ')}": ${stderr}`);
    throw new Refusal([message.split('\n')[0], stdout, stderr].join('\n'));
  }
}

/** The version that all manifests have. @param tree the exported commit @throws {Refusal} naming those that differ */
function commonVersion(tree: string): string {
  const read = (path: string): string => readFileSync(join(tree, path), 'utf8');
  const json = (path: string): string => JSON.parse(read(path)).version;
  const found = (path: string, pattern: RegExp): string | undefined => pattern.exec(read(path))?.[1];
  // Hatch reads the version from the module.
  const module = found('clients/python/pyproject.toml', /^\[tool\.hatch\.version\]\npath = "(.+)"$/m);
  const python = `clients/python/${module}`;
  const MCP = 'gateway/api/mcp/description.ts';
  const version = json('package.json');
  const others = {
    'package-lock.json': json('package-lock.json'),
    'clients/typescript/package.json': json('clients/typescript/package.json'),
    [python]: found(python, /^__version__ = "(.+)"$/m),
    // What hosts of language models are told.
    [MCP]: found(MCP, /^const VERSION = '(.+)';$/m),
    'clients/r/DESCRIPTION': found('clients/r/DESCRIPTION', /^Version: (.+)$/m),
  };
  const differing = Object.entries(others).filter(([, other]) => other !== version);
  if (differing.length === 0) return version;
  const lines = differing.map(([path, other]) => `${path} has version ${other}, package.json has ${version}`);
  throw new Refusal(lines.join('\n'));
}

/** @returns the section of the version, with its heading @throws {Refusal} when there is none */
function changelogSection(tree: string, version: string): string {
  const sections = readFileSync(join(tree, 'CHANGELOG.md'), 'utf8').split(/^(?=## )/m);
  const section = sections.find((text) => text.startsWith(`## [${version}] - `));
  if (section === undefined) throw new Refusal(`CHANGELOG.md has no section "## [${version}] - DATE"`);
  return section;
}

function buildPython(tree: string, output: string): string[] {
  const outdir = ['--outdir', output];
  run(tree, 'python3', '-m', 'build', '--no-isolation', ...outdir, join(tree, 'clients/python'));
  const built = readdirSync(output).filter((file) => /[.](whl|tar[.]gz)$/.test(file));
  run(output, 'python3', '-m', 'twine', 'check', '--strict', ...built);
  return built;
}

function buildTypeScript(tree: string, output: string, tools: string): string[] {
  const directory = join(tree, 'clients/typescript');
  const file = run(directory, 'npm', 'pack', '--silent', '--pack-destination', output).trim();
  run(output, join(tools, 'publint'), 'run', '--strict', file);
  run(output, join(tools, 'attw'), '--profile', 'esm-only', '--no-emoji', file);
  return [file];
}

/** R writes the person and the time of the build into a package: replaced, so that it can be built again. */
function buildR(tree: string, output: string, builtAt_s: string): string {
  run(tree, 'R', 'CMD', 'build', 'clients/r');
  const [file = ''] = readdirSync(tree).filter((name) => /^[a-z]+_[\d.]+[.]tar[.]gz$/.test(name));
  const [name = ''] = file.split('_');
  run(tree, 'tar', '--extract', '--file', file);
  const description = join(tree, name, 'DESCRIPTION');
  const packaged = `Packaged: ${new Date(Number(builtAt_s) * 1000).toISOString().slice(0, 19)}Z; almanac`;
  writeFileSync(description, readFileSync(description, 'utf8').replace(/^Packaged: .*$/m, packaged));
  const plain = ['--sort=name', '--owner=0', '--group=0', '--numeric-owner', `--mtime=@${builtAt_s}`];
  const gzip = '--use-compress-program=gzip -n';
  run(tree, 'tar', '--create', ...plain, gzip, '--file', join(output, file), name);
  // The manual needs LaTeX; the name on CRAN and the time are asked of other machines; there is no PDF for qpdf to shrink.
  const offline = [
    '_R_CHECK_CRAN_INCOMING_=false',
    '_R_CHECK_SYSTEM_CLOCK_=0',
    'R_QPDF=true',
    'ALMANAC_KEY=',
  ];
  const said = run(
    tree,
    'env',
    ...offline,
    'R',
    'CMD',
    'check',
    '--as-cran',
    '--no-manual',
    join(output, file),
  );
  if (!/^Status: OK$/m.test(said)) throw new Refusal(said);
  return file;
}

/** The service as `git` has it, and the packages that it runs with. */
function buildService(tree: string, output: string, version: string, tools: string): string[] {
  const archive = `almanac-${version}.tar.gz`;
  const prefix = `--prefix=almanac-${version}/`;
  run(ROOT, 'git', 'archive', '--format=tar.gz', prefix, `--output=${join(output, archive)}`, 'HEAD');
  const bill = `almanac-${version}.cdx.json`;
  const production = ['--package-lock-only', '--omit', 'dev', '--flatten-components'];
  const reproducible = ['--output-reproducible', '--output-file', join(output, bill)];
  run(tree, join(tools, 'cyclonedx-npm'), ...production, ...reproducible, 'package.json');
  return [archive, bill];
}

/** One line a file, as `sha256sum -c` reads it. */
const checksums = (output: string): string =>
  readdirSync(output)
    .toSorted()
    .map((file) => [
      createHash('sha256')
        .update(readFileSync(join(output, file)))
        .digest('hex'),
      file,
    ])
    .map((line) => `${line.join('  ')}\n`)
    .join('');

interface Packages {
  python: readonly string[];
  npm: string;
  r: string;
}

function publishing(version: string, output: string, { python, npm, r }: Packages): string {
  const built = relative(ROOT, output);
  return `Nothing was published: that and the tag are up to the owner, with credentials of the registries.

  git tag -s v${version} -m 'Almanac ${version}' && git push origin v${version}
  twine upload ${python.map((file) => join(built, file)).join(' ')}
  npm publish --access public ./${join(built, npm)}
  ${join(built, r)}: by the form at https://cran.r-project.org/submit.html

Attach all files of ${built} to the tag, with CHANGELOG-${version}.md as its text.`;
}

async function release(tree: string): Promise<void> {
  const changed = run(ROOT, 'git', 'status', '--porcelain');
  if (changed !== '') throw new Refusal(`a release is made from a commit; not committed:\n${changed}`);
  run(ROOT, 'git', 'archive', '--output', join(tree, 'tree.tar'), 'HEAD');
  run(tree, 'tar', '--extract', '--file', 'tree.tar');
  const version = commonVersion(tree);
  const section = changelogSection(tree, version);
  for (const file of NAMING_SERVICE.map((name) => join(tree, 'clients', name)))
    writeFileSync(file, readFileSync(file, 'utf8').replaceAll(PLACEHOLDER, url ?? PLACEHOLDER));

  const output = join(ROOT, 'var/release', version);
  rmSync(output, { recursive: true, force: true });
  mkdirSync(output, { recursive: true });
  await installPackages(PYTHON_TOOLS);
  const tools = join(await installNodePackages(NODE_TOOLS), '.bin');
  const builtAt_s = run(ROOT, 'git', 'log', '-1', '--format=%ct').trim();
  variables = [`SOURCE_DATE_EPOCH=${builtAt_s}`, `PYTHONPATH=${pythonPath(PYTHON_TOOLS)}`];

  const python = buildPython(tree, output);
  console.log(`${python.join(', ')}: twine check --strict passed`);
  const [npm = ''] = buildTypeScript(tree, output, tools);
  console.log(`${npm}: publint --strict and attw passed`);
  const r = buildR(tree, output, builtAt_s);
  console.log(`${r}: R CMD check --as-cran passed`);
  console.log(buildService(tree, output, version, tools).join(', '));
  writeFileSync(join(output, `CHANGELOG-${version}.md`), section);
  writeFileSync(join(output, 'SHA256SUMS'), checksums(output));
  console.log(`SHA256SUMS of all in ${relative('', output)}`);
  if (url === undefined)
    console.log(`The clients name the service as ${PLACEHOLDER}: --url=… names another.`);
  if (!isDryRun) console.log(`\n${publishing(version, output, { python, npm, r })}`);
}

const tree = mkdtempSync(join(tmpdir(), 'almanac-release-'));
try {
  if (words.length !== Number(isDryRun) + Number(url !== undefined)) throw new Refusal(USAGE);
  await release(tree);
} catch (error) {
  if (!(error instanceof Refusal)) throw error;
  console.error(error.message);
  process.exitCode = 1;
} finally {
  rmSync(tree, { recursive: true });
}
