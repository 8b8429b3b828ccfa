/** docs/architecture.md lists the files that the journeys execute. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { block } from '../style/documentation.ts';

const MAIN = join(import.meta.dirname, 'main.ts');

it('executes the files that docs/architecture.md lists (npm run journeys updates them)', async () => {
  // A process of its own: Vitest transforms modules, and other test files have already warmed what this one loads.
  const { stdout } = await promisify(execFile)(process.execPath, [MAIN, '--print']);
  expect(stdout).toBe(block('journeys').content);
});
