/** What the tests of one file share, and what is ended after them. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, onTestFinished } from 'vitest';

type Stoppable = { stop(): unknown } | AsyncDisposable;

/** Waits for what is being started, and stops it after the tests. What was started last is stopped first. */
export async function stopAfterTests<Started extends Stoppable>(
  starting: Promise<Started>,
): Promise<Started> {
  const started = await starting;
  afterAll(async () => void (await ('stop' in started ? started.stop() : started[Symbol.asyncDispose]())));
  return started;
}

/** A directory that is removed after the tests. */
export const useDirectory = (): Promise<string> => temporaryDirectory(afterAll);

/** A directory that is removed after the test, or after the one that a hook is called for. */
export const directoryOfTest = (): Promise<string> => temporaryDirectory(onTestFinished);

async function temporaryDirectory(afterwards: (remove: () => Promise<void>) => void): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'alm-'));
  afterwards(() => rm(directory, { recursive: true, force: true }));
  return directory;
}
