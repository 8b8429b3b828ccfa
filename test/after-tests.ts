/** What the tests of one file share, and what is ended after them. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, onTestFinished } from 'vitest';

type Stoppable = { stop(): unknown } | AsyncDisposable;

/** No limit of Vitest holds while it collects tests. This one ends what hangs, as those do. */
const START_AT_MOST_MS = 180_000;

/** Within a test, Vitest would take the hook and never call it. */
function afterAllTests(end: () => Promise<void>): void {
  if (isWithinTest()) throw new Error('call it at the top of a file or suite, not within a test');
  afterAll(end);
}

function isWithinTest(): boolean {
  try {
    onTestFinished(() => {});
    return true;
  } catch {
    return false;
  }
}

/** Waits for what is being started, and stops it after the tests. What was started last is stopped first. */
export async function stopAfterTests<Started extends Stoppable>(
  starting: Promise<Started>,
): Promise<Started> {
  const { promise: hung, reject } = Promise.withResolvers<never>();
  const limit = setTimeout(() => reject(new Error('what the tests share does not start')), START_AT_MOST_MS);
  const started = await Promise.race([starting, hung]).finally(() => clearTimeout(limit));
  afterAllTests(
    async () => void (await ('stop' in started ? started.stop() : started[Symbol.asyncDispose]())),
  );
  return started;
}

/** A directory that is removed after the tests. */
export const useDirectory = (): Promise<string> => temporaryDirectory(afterAllTests);

/** A directory that is removed after the test, or after the one that a hook is called for. */
export const directoryOfTest = (): Promise<string> => temporaryDirectory(onTestFinished);

async function temporaryDirectory(afterwards: (remove: () => Promise<void>) => void): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'alm-'));
  afterwards(() => rm(directory, { recursive: true, force: true }));
  return directory;
}
