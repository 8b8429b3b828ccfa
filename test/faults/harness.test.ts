/**
 * The harness of `npm run faults` detects parts that hang, crash or leave processes and files behind, and keeps what others
 * found.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { block } from '../style/documentation.ts';
import { PROMISES } from './one-attacker.ts';
import { runPart } from './part-process.ts';
import type { Finding } from './table.ts';

let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'alm-harness-'));
});
afterAll(() => rm(dir, { recursive: true }));

/** Runs a program as a part. */
async function run(program: string, limit_s = 120): Promise<Finding[]> {
  const entry = join(dir, `${program.length}.mjs`);
  await writeFile(entry, program);
  const findings: Finding[] = [];
  await runPart(
    { ...PART, limit_s },
    {
      found: (finding) => findings.push(finding),
      signal: new AbortController().signal,
      ...{ entry, grace_ms: 500 },
    },
  );
  return findings;
}

/** Runs parts in a process of their own, as `main.ts` does. Each part is the case of the program that has its name. */
async function runAll(cases: Record<string, string>) {
  const scratch = await mkdtemp(join(dir, 'run-'));
  const entry = join(scratch, 'entry.mjs');
  const blocks = Object.entries(cases).map(([name, code]) => `case '${name}': {${code}; break;}`);
  await writeFile(entry, `switch (process.argv[2]) {${blocks.join('')}}`);
  const parts = Object.keys(cases).map((name) => ({
    ...{ name, fault: 'nothing', limit_s: name === 'slow' ? 1.2345 : 120 },
  }));
  const main = `import { runFaults } from '${join(import.meta.dirname, 'run-faults.ts')}';
    await runFaults(${JSON.stringify(parts)}, ${JSON.stringify({ reports: scratch, entry })});`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', main], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  let notes = '';
  child.stdout.on('data', (bytes) => {
    output += bytes;
  });
  child.stderr.on('data', (bytes) => {
    notes += bytes;
  });
  const report = async (): Promise<{ findings: Finding[] }> => {
    const [file = ''] = (await readdir(scratch)).filter((name) => name.endsWith('.json'));
    return JSON.parse(await readFile(join(scratch, file), 'utf8'));
  };
  const ended = once(child, 'close').then(([code]) => ({ code, output }));
  return { child, ended, report, notes: () => notes };
}

const PART = { name: 'part', fault: 'nothing' };
const TELL = `process.send({ promise: 'all is well', figure: '1', ok: true });`;

test('a part that crashes, reports nothing or exceeds its time limit breaks a promise', async () => {
  const outcomes = await Promise.all([
    run(`${TELL} process.exitCode = 3;`),
    run('export {};'),
    run(`${TELL} setInterval(() => {}, 1000);`, 1.5005),
  ]);
  expect(outcomes.map((findings) => findings.at(-1))).toMatchObject([
    { figure: 'exit code 3', kept: false },
    { figure: 'none', kept: false },
    { promise: 'ends by itself', kept: false },
  ]);
});

test('whatever happens to a part, what was found before stays and the others run', async () => {
  const { ended } = await runAll({
    first: TELL,
    slow: `${TELL} setInterval(() => {}, 1000)`,
    broken: `${TELL} process.exitCode = 3`,
    last: TELL,
  });
  const { code, output } = await ended;
  expect(code).toBe(1);
  for (const row of [
    '| all is well | first: nothing | 1 | yes |',
    '| all is well | slow: nothing | 1 | yes |',
    '| ends by itself | ″ | ended after 1.2345 s | **no** |',
    '| all is well | broken: nothing | 1 | yes |',
    '| runs to its end | ″ | exit code 3 | **no** |',
    '| all is well | last: nothing | 1 | yes |',
    '6 promises, 2 broken',
  ])
    expect(output).toContain(row);
});

test('every finding is on disk as it comes, and an interrupt prints the table', async () => {
  const { child, ended, report, notes } = await runAll({
    first: TELL,
    endless: `${TELL} setInterval(() => {}, 1000)`,
    last: TELL,
  });
  await expect.poll(notes).toMatch(/endless: nothing\n.*all is well/);
  expect((await report()).findings.map(({ part }) => part)).toEqual(['first', 'endless']);
  child.kill('SIGINT');
  const { code, output } = await ended;
  expect(code).toBe(1);
  expect(output).toContain('| ends by itself | ″ | interrupted | **no** |');
  expect(output).toContain('3 promises, 1 broken');
  expect((await report()).findings).toHaveLength(3);
});

test.runIf(existsSync('/proc/self'))(
  'processes and files left by a part are removed and reported',
  async () => {
    const program = `
    import { spawn } from 'node:child_process';
    import { writeFileSync } from 'node:fs';
    import { tmpdir } from 'node:os';
    const child = spawn('sleep', ['61'], { detached: true, stdio: 'ignore' });
    child.unref();
    writeFileSync(tmpdir() + '/forgotten', '');
    process.send({ promise: 'all is well', figure: String(child.pid), ok: true }, () => process.disconnect());`;
    const [first, left] = await run(program);
    expect(left).toMatchObject({ kept: false, figure: 'process sleep 61, file forgotten' });
    // A zombie has an empty command line.
    expect(await readFile(`/proc/${first?.figure}/cmdline`, 'utf8').catch(() => '')).toBe('');
  },
);

test('the documentation has each promise that is tested beside one attacker, and no other', () => {
  const [, , ...rows] = block('one-attacker').content.split('\n');
  expect(rows).toEqual(PROMISES.map((promise) => `| ${promise} |`));
});
