import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { useDirectory } from '../after-tests.ts';
import { block } from '../style/documentation.ts';
import { PROMISES } from './one-attacker.ts';
import { runPart } from './part-process.ts';
import type { Finding } from './table.ts';

const dir = await useDirectory();

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
      entry,
      grace_ms: 500,
    },
  );
  return findings;
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

test('the documentation has each promise that is tested beside one attacker, and no other', () => {
  const [, , ...rows] = block('one-attacker').content.split('\n');
  expect(rows).toEqual(PROMISES.map((promise) => `| ${promise} |`));
});
