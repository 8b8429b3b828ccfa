/** The Python client: its wheel, its types, and its own tests, against a service in a process of its own. */
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { stopAfterTests } from '../after-tests.ts';
import { Program } from '../gateway/program.ts';
import { installPackages, pythonPath } from '../python-packages.ts';
import { run } from '../run-program.ts';
import { buildStarter } from '../shared-builds.ts';
import {
  FRAMES,
  type Interpreter,
  installWheel,
  interpreters,
  LINT_TOOLS,
  runPython,
  TEST_TOOLS,
  verifyWithPackage,
} from './python-package.ts';
import { testDerivedReceipts, testReceipts, type Verify } from './receipt-suite.ts';

const ROOT = join(import.meta.dirname, '../..');
const ACCOUNT_COMMAND = join(ROOT, 'admin/cli.ts');

const FRAME_ALONE = `
from almanac_data import Provenance, Table
Table({"year": [2020]}, {}, Provenance(None, None, None, None, None)).to_pandas()
`;

/** The promise has two ends. */
const oldestAndNewest = (): Interpreter[] => {
  const all = interpreters();
  return all.filter((_one, at) => at === 0 || at === all.length - 1);
};

await installPackages(TEST_TOOLS);
const installed = await installWheel();

describe('the package', () => {
  it('is a wheel with types and licence, and needs nothing else', async () => {
    const listing = await runPython(['-m', 'zipfile', '--list', installed.wheel]);
    for (const file of ['almanac_data/py.typed', 'almanac_data/cli/main.py', 'licenses/LICENSE'])
      expect(listing).toContain(file);
    expect(listing).not.toContain('test');
    const variables = { PYTHONPATH: installed.site, PYTHONNOUSERSITE: '1' };
    const alone = (program: string) =>
      runPython(['-S', '-c', program], { cwd: installed.directory, variables });
    const importAlone =
      'import sys, almanac_data; assert not {"pyarrow", "pandas"} & set(sys.modules); print(almanac_data.__version__)';
    expect(await alone(importAlone)).toMatch(/^\d/);
    const missing = "pandas is not installed: pip install 'almanac-data[pandas]'";
    await expect(alone(FRAME_ALONE)).rejects.toThrow(missing);
    const command = join(installed.bin, 'almanac');
    expect(await run(command, ['--version'], { variables })).toMatch(/^almanac-data \d/);
  });

  it('passes mypy, strictly, and ruff', async () => {
    await installPackages(LINT_TOOLS);
    const variables = { PYTHONPATH: pythonPath(LINT_TOOLS) };
    for (const words of [
      ['mypy', '--cache-dir', join(installed.directory, 'mypy')],
      ['ruff', 'check', '--no-cache', '.'],
      ['ruff', 'format', '--no-cache', '--check', '.'],
    ])
      await runPython(['-m', ...words], { variables });
  });

  it.each(oldestAndNewest())('passes its unit tests on Python $version', async ({ program }) => {
    const variables = { PYTHONPATH: `${installed.site}:${pythonPath(TEST_TOOLS)}` };
    const said = await runPython(['-m', 'pytest', '-q', 'tests/unit'], { program, variables });
    expect(said).toMatch(/^\d+ passed/m);
  });
});

describe('receipts', () => {
  const verify: Verify = (all) => verifyWithPackage(installed, all);
  testReceipts(verify);
  testDerivedReceipts(verify);
});

const [built] = await Promise.all([buildStarter(), installPackages(FRAMES)]);
const program = await stopAfterTests(Program.prepare());
const unlimited = { FREE_PER_MINUTE: '1000000', FREE_PER_DAY: '1000000' };
const started = await program.start({ SNAPSHOT_DIR: built.snapshots, ...unlimited });
const key = await grantedKey(program);
const path = (await run('printenv', ['PATH'])).trim();

describe('against a service', () => {
  const tested = (interpreter: string, packages: string[], ...tests: string[]) =>
    runPython(['-m', 'pytest', '-q', ...tests.map((name) => `tests/service/${name}`)], {
      program: interpreter,
      variables: {
        PYTHONPATH: [installed.site, pythonPath(TEST_TOOLS), ...packages].join(':'),
        PATH: `${installed.bin}:${path}`,
        ALMANAC_URL: started.url,
        ALMANAC_KEY: key,
      },
    });

  it.each(oldestAndNewest())(
    'passes its tests of verbs, charges and command with nothing else installed, on Python $version',
    async ({ program: interpreter }) => {
      const tests = ['test_verbs.py', 'test_charges.py', 'test_command.py'];
      expect(await tested(interpreter, [], ...tests)).toMatch(/^\d+ passed/m);
    },
  );

  it('passes its tests of charges, frames and README with the libraries of frames', async () => {
    const tests = ['test_charges.py', 'test_frames.py', 'test_readme.py'];
    expect(await tested('python3', [pythonPath(FRAMES)], ...tests)).toMatch(/^\d+ passed/m);
  });
});

/** A key of an account with more credits than the tests spend. */
async function grantedKey({ directory }: Program): Promise<string> {
  const socket = join(directory, 'var/redis/redis.sock');
  const variables = { REDIS_URL: `unix://${socket}`, VAR_DIR: join(directory, 'var') };
  const account = async (...words: string[]) =>
    JSON.parse(await run(process.execPath, [ACCOUNT_COMMAND, ...words, '--json'], { cwd: ROOT, variables }));
  const email = ['--email', 'python@example.org'];
  await account('create', ...email, '--verified', '--credits', '100000000');
  return (await account('key', ...email)).key;
}
