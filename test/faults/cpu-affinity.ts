/**
 * Cores for those who answer and one for those who call, so that callers who ask for more than can be answered take
 * nothing away from what is measured. What a process starts runs where the process itself does.
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

/** What is started during `start` has all cores but the last; this process and what it starts then have that one. */
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
