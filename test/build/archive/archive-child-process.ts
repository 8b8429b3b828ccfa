/**
 * One archive run in its own process, for tests that kill it. It prints a line at the start and after every durable step.
 * With `kill_at` it kills itself right after that step.
 */
import { runArchive } from '../../../build/archive/run-archive.ts';
import { connected, silentLog } from '../../redis-server.ts';

/** Given as JSON on the command line. */
export interface ChildTask {
  url: string;
  directory: string;
  now_ms: number;
  part_entries: number;
  kill_at: number | null;
}

const task = JSON.parse(process.argv[2] ?? '') as ChildTask;
const redis = await connected(task.url);
let step = 0;
process.stdout.write('began\n');
const { ledger, audit } = await runArchive({
  redis,
  settings: { ARCHIVE_DIR: task.directory, LEDGER_LIVE_DAYS: 1, AUDIT_LIVE_DAYS: 1 },
  now: () => task.now_ms,
  log: silentLog,
  partEntries: task.part_entries,
  onStep: (what) => {
    step += 1;
    process.stdout.write(`${what}\n`);
    if (step === task.kill_at) process.kill(process.pid, 'SIGKILL');
  },
});
redis.disconnect();
for (const { what, why } of [...ledger.left, ...audit.left]) process.stdout.write(`left ${what}: ${why}\n`);
process.stdout.write('done\n');
