/** What CI runs and how it counts repeated files. */
import { type ExecFileException, execFile } from 'node:child_process';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { useDirectory } from '../after-tests.ts';
import { EXTENDED_SAMPLE } from '../extended-sample.ts';
import { files, ROOT } from './repository.ts';

const run = promisify(execFile);

const folder = await useDirectory();

it('samples extended tests that exist, each once', () => {
  const extended = files.filter((path) => path.endsWith('.extended.test.ts'));
  expect(EXTENDED_SAMPLE.filter((path) => !extended.includes(path))).toEqual([]);
  expect(new Set(EXTENDED_SAMPLE).size).toBe(EXTENDED_SAMPLE.length);
});

const FILES = Array.from({ length: 25 }, (_, index) => `test/${index}.test.ts`);

/** Writes a report of Vitest in which so many of the first files fail. */
async function report(name: string, paths: readonly string[], failing: number): Promise<void> {
  const testResults = paths.map((path, index) => {
    const status = index < failing ? 'failed' : 'passed';
    return { name: join(folder, path), status, assertionResults: [{ status }] };
  });
  const path = join(folder, 'var/test', `${name}.json`);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, JSON.stringify({ testResults }));
}

/** @param failing files in the suite @param still of those that are repeated */
async function ci(failing: number, still: number) {
  await rm(join(folder, 'var'), { recursive: true, force: true });
  await report('suite', FILES, failing);
  const reports = async (command: string) => {
    const args = [join(ROOT, '.ci/reports.mjs'), command, 'suite'];
    return run(process.execPath, args, { cwd: folder }).catch((error: ExecFileException) => error);
  };
  const repeated = String((await reports('failed')).stdout)
    .split('\n')
    .filter(Boolean);
  for (const [index, path] of repeated.entries())
    await report(`again/${path}`, [path], index < still ? 1 : 0);
  const total = await reports('total');
  return { fails: total instanceof Error, lines: String(total.stdout).trim().split('\n') };
}

it.each([
  [0, 0, false, ['repeated: 0 files', 'tests: 25 passed, 0 failed']],
  [
    2,
    0,
    false,
    [`flaky: ${FILES[0]}`, `flaky: ${FILES[1]}`, 'repeated: 2 files', 'tests: 25 passed, 0 failed'],
  ],
  [2, 1, true, [`flaky: ${FILES[1]}`, 'repeated: 2 files', 'tests: 24 passed, 1 failed']],
  [3, 3, true, ['repeated: 3 files, at most 2 may be', 'tests: 22 passed, 3 failed']],
  [21, 0, true, ['repeated: 0 files', 'tests: 4 passed, 21 failed']],
])('counts %d failed files, of which %d fail again', async (failing, still, fails, lines) => {
  expect(await ci(failing, still)).toEqual({ fails, lines });
});

it('fails when more than two files pass only when repeated', async () => {
  const { fails, lines } = await ci(3, 0);
  expect({ fails, lines: lines.slice(3) }).toEqual({
    fails: true,
    lines: ['repeated: 3 files, at most 2 may be', 'tests: 25 passed, 0 failed'],
  });
});
