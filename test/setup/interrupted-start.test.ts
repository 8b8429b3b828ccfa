/** Signals during a start or a command leave no process behind; every 50 ms is tried by the extended tests. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { publishFixture } from '../gateway/fixture-snapshot.ts';
import { StartDirectory } from './npm-start.ts';

let directory: StartDirectory;
beforeAll(async () => {
  directory = await StartDirectory.create();
  await publishFixture(`${directory.path}/snapshots`);
});
afterAll(() => directory[Symbol.asyncDispose]());

test.each([
  ['SIGINT', 300],
  ['SIGINT', 600],
  ['SIGINT', 900],
  ['SIGTERM', 700],
  ['SIGTERM', 1_000],
  ['SIGHUP', 800],
] as const)('%s after %i ms', async (signal, delay_ms) => {
  await directory.interrupt(signal, delay_ms);
});

test.each([
  ['npm run account -- show --email nobody@example.org', 'SIGINT'],
  ['npm run account -- show --email nobody@example.org', 'SIGHUP'],
  ['npm run backup -- --to /dev/null/nowhere', 'SIGTERM'],
] as const)('%s, %s while its Redis starts', async (command, signal) => {
  await directory.interruptCommand(command, signal);
});

test('the same directory starts afterwards', async () => {
  expect(await directory.interrupt('SIGINT', 60_000)).toBe(true);
});
