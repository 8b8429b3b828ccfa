/**
 * Pins the load generator to one core and the service to the others, so that excess load does not slow the service. Child
 * processes inherit the affinity.
 */
import { execFile } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { promisify } from 'node:util';

const run = promisify(execFile);
const last = availableParallelism() - 1;

async function moveTo(cores: string): Promise<boolean> {
  return run('taskset', ['-acp', cores, String(process.pid)]).then(
    () => true,
    () => false,
  );
}

/** Processes started by `start` get all cores but the last; this process and later children get the last. */
export async function withSeparateCores<Started>(
  start: () => Promise<Started>,
): Promise<{ started: Started } & AsyncDisposable> {
  const areApart = last > 0 && (await moveTo(`0-${last - 1}`));
  const started = await start();
  if (areApart) await moveTo(`${last}`);
  return {
    started,
    async [Symbol.asyncDispose]() {
      if (areApart) await moveTo(`0-${last}`);
    },
  };
}
