/** The Python client: its wheel, its types, and its own tests, against a service in a process of its own. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { forgeries, sound } from '../data/proofs/forgeries.ts';
import type { Evidence } from '../data/proofs/tampering.ts';
import { evidenceOfGrowth, GENUINE, GROWN } from '../data/proofs/vectors.ts';
import { Program, type Started } from '../gateway/program.ts';
import { forgedFrom, provedReceipts, publishProvable } from '../gateway/provable-world.ts';
import { Service } from '../gateway/service.ts';
import { installPackages, pythonPath } from '../python-packages.ts';
import { buildStarter } from '../shared-builds.ts';
import {
  FRAMES,
  type Installed,
  type Interpreter,
  installWheel,
  interpreters,
  LINT_TOOLS,
  run,
  TEST_TOOLS,
} from './python-package.ts';
import { verifyWithPackage } from './python-receipts.ts';

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

let installed: Installed;

beforeAll(async () => {
  await installPackages(TEST_TOOLS);
  installed = await installWheel();
});
afterAll(async () => {
  if (installed !== undefined) await rm(dirname(installed.wheel), { recursive: true });
});

describe('the package', () => {
  it('is a wheel with types and licence, and needs nothing else', async () => {
    const listing = await run('python3', ['-m', 'zipfile', '--list', installed.wheel]);
    for (const file of ['almanac_data/py.typed', 'almanac_data/cli/main.py', 'licenses/LICENSE'])
      expect(listing).toContain(file);
    expect(listing).not.toContain('test');
    const alone = { PYTHONPATH: installed.site, PYTHONNOUSERSITE: '1' };
    const importAlone =
      'import sys, almanac_data; assert not {"pyarrow", "pandas"} & set(sys.modules); print(almanac_data.__version__)';
    expect(await run('python3', ['-S', '-c', importAlone], alone, dirname(installed.wheel))).toMatch(/^\d/);
    const frame = run('python3', ['-S', '-c', FRAME_ALONE], alone, dirname(installed.wheel));
    await expect(frame).rejects.toThrow("pandas is not installed: pip install 'almanac-data[pandas]'");
    expect(await run(join(installed.bin, 'almanac'), ['--version'], alone)).toMatch(/^almanac-data \d/);
  });

  it('passes mypy, strictly, and ruff', async () => {
    await installPackages(LINT_TOOLS);
    const tools = { PYTHONPATH: pythonPath(LINT_TOOLS) };
    await run('python3', ['-m', 'mypy', '--cache-dir', join(dirname(installed.wheel), 'mypy')], tools);
    await run('python3', ['-m', 'ruff', 'check', '--no-cache', '.'], tools);
    await run('python3', ['-m', 'ruff', 'format', '--no-cache', '--check', '.'], tools);
  });

  it.each(oldestAndNewest())('passes its unit tests on Python $version', async ({ program: interpreter }) => {
    const path = { PYTHONPATH: `${installed.site}:${pythonPath(TEST_TOOLS)}` };
    expect(await run(interpreter, ['-m', 'pytest', '-q', 'tests/unit'], path)).toMatch(/^\d+ passed/m);
  });
});

describe('receipts', () => {
  const verdictsOf = async (cases: [string, Evidence][]): Promise<string[]> => {
    const outcomes = await verifyWithPackage(
      installed,
      cases.map(([, evidence]) => evidence),
    );
    return cases.map(([name], at) => `${name}: ${outcomes[at]?.split(':')[0]}`);
  };

  it('are accepted and refused as by the verifier of the service', async () => {
    const good = GENUINE.flatMap((one) => Object.entries(sound(one)));
    expect(await verdictsOf(good)).toEqual(good.map(([name]) => `${name}: accepted`));
    const bad = GENUINE.flatMap((one) => Object.entries(forgeries(one)));
    expect(await verdictsOf(bad)).toEqual(bad.map(([name]) => `${name}: refused`));
    const grown = GROWN.flatMap((receipt) => GROWN.map((kept) => evidenceOfGrowth(receipt, kept)));
    expect(new Set(await verifyWithPackage(installed, grown))).toEqual(new Set(['accepted']));
  });

  it('of derived figures are recomputed, and refused where they are forged', async () => {
    const root = await mkdtemp(join(tmpdir(), 'alm-derived-'));
    await publishProvable(root);
    const service = await Service.start({ snapshots: root });
    const { key } = await service.account({ credits: 1_000_000 });
    const receipts = await provedReceipts((path) => service.get(`/v1/${path}`, { key }));
    const keys = (await service.get('/.well-known/almanac-keys.json')).text;
    await service.stop();
    await rm(root, { recursive: true });
    const outcomesOf = (all: readonly object[]) =>
      verifyWithPackage(
        installed,
        all.map((receipt) => ({ receipt: JSON.stringify(receipt), keys })),
      );
    expect(await outcomesOf(receipts)).toEqual(receipts.map(() => 'accepted'));
    const refused = (await outcomesOf(receipts.flatMap(forgedFrom))).map((outcome) => outcome.split(':')[0]);
    expect([new Set(refused), refused.length > 100]).toEqual([new Set(['refused']), true]);
  });
});

describe('against a service', () => {
  let program: Program;
  let started: Started;
  let key: string;
  let path: string;

  beforeAll(async () => {
    const [built] = await Promise.all([buildStarter(), installPackages(FRAMES)]);
    program = await Program.prepare();
    const unlimited = { FREE_PER_MINUTE: '1000000', FREE_PER_DAY: '1000000' };
    started = await program.start({ SNAPSHOT_DIR: built.snapshots, ...unlimited });
    key = await grantedKey(program);
    path = (await run('printenv', ['PATH'])).trim();
  });
  afterAll(async () => {
    await program?.[Symbol.asyncDispose]();
  });

  const tested = (interpreter: string, packages: string[], ...tests: string[]) =>
    run(interpreter, ['-m', 'pytest', '-q', ...tests.map((name) => `tests/service/${name}`)], {
      PYTHONPATH: [installed.site, pythonPath(TEST_TOOLS), ...packages].join(':'),
      PATH: `${installed.bin}:${path}`,
      ALMANAC_URL: started.url,
      ALMANAC_KEY: key,
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
    JSON.parse(await run(process.execPath, [ACCOUNT_COMMAND, ...words, '--json'], variables, ROOT));
  const email = ['--email', 'python@example.org'];
  await account('create', ...email, '--verified', '--credits', '100000000');
  return (await account('key', ...email)).key;
}
