/**
 * Signals leave no process behind: Ctrl-C and SIGTERM at any time of a start (every 50 ms of one with data, and while the
 * starter data are published), a lost terminal, and each of them during a command.
 */
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
] as const)('%s every 50 ms until it serves, WORKERS=%s', async (signal, WORKERS) => {
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

test('SIGHUP after 800 ms, and the same directory starts afterwards', async () => {
  await publishFixture(`${directory.path}/snapshots`);
  await directory.interrupt('SIGHUP', 800);
  expect(await directory.interrupt('SIGINT', 60_000)).toBe(true);
});

test.each([
  ['npm run account -- show --email nobody@example.org', 'SIGINT'],
  ['npm run account -- show --email nobody@example.org', 'SIGHUP'],
  ['npm run backup -- --to /dev/null/nowhere', 'SIGTERM'],
] as const)('%s, %s while its Redis starts', async (command, signal) => {
  await directory.interruptCommand(command, signal);
});
