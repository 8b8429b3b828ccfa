/** Ctrl-C and SIGTERM at any time of a start: every 50 ms of one with data, and while the starter data are published. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { publishFixture } from '../gateway/fixture-snapshot.ts';
import { StartDirectory } from './npm-start.ts';

const EVERY_MS = 50;

let directory: StartDirectory;
beforeEach(async () => {
  directory = await StartDirectory.create();
});
afterEach(() => directory[Symbol.asyncDispose]());

test.each([
  ['SIGINT', '2'],
  ['SIGTERM', '1'],
] as const)('%s every 50 ms until it serves, WORKERS=%s', { timeout: 900_000 }, async (signal, WORKERS) => {
  await publishFixture(`${directory.path}/snapshots`);
  for (let delay_ms = 0; !(await directory.interrupt(signal, delay_ms, { WORKERS })); delay_ms += EVERY_MS);
});

test.each(['SIGINT', 'SIGTERM'] as const)(
  '%s while the starter data are published, which publishes nothing',
  async (signal) => {
    await directory.interrupt(signal, 4_000);
    expect(existsSync(join(directory.path, 'snapshots/current'))).toBe(false);
  },
);
