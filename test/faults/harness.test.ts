/** The harness of `npm run faults` detects parts that hang, crash or leave processes and files behind. */
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runPart } from './part-process.ts';
import { type Finding, markdown } from './table.ts';

let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'alm-harness-'));
});
afterAll(() => rm(dir, { recursive: true }));

/** Runs a program as a part. */
async function run(program: string, limit_ms = 120_000): Promise<Finding[]> {
  const entry = join(dir, `${program.length}.mjs`);
  await writeFile(entry, program);
  return runPart({ name: 'part', fault: 'nothing' }, limit_ms, new AbortController().signal, {
    entry,
    grace_ms: 500,
  });
}

const TELL = `process.send({ promise: 'all is well', figure: '1', ok: true });`;
const kept = { part: 'part', fault: 'nothing', promise: 'all is well', figure: '1', kept: true };

test('returns the findings that a part reports', async () => {
  expect(await run(TELL)).toEqual([kept]);
});

test('a part that crashes, reports nothing or exceeds its time limit breaks a promise', async () => {
  const outcomes = await Promise.all([
    run(`${TELL} process.exitCode = 3;`),
    run('export {};'),
    run(`${TELL} setInterval(() => {}, 1000);`, 1500),
  ]);
  expect(outcomes.map((findings) => findings.at(-1))).toMatchObject([
    { figure: 'exit code 3', kept: false },
    { figure: 'none', kept: false },
    { promise: 'ends by itself', kept: false },
  ]);
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

test('the table has one row for each promise and counts the broken ones', () => {
  const findings = [kept, { ...kept, promise: 'a | b', kept: false }];
  const table = markdown({ at: '', machine: { cores: 2 }, duration_s: 61, findings });
  expect(table).toContain('| all is well | part: nothing | 1 | yes |\n');
  expect(table).toContain('| a \\| b | ″ | 1 | **no** |\n');
  expect(table).toContain('2 promises, 1 broken, in 61 s.');
});
