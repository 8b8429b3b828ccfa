/** Programs in a process table of their own, as in a container: each sees itself as process 1 and no other. */
import { type ChildProcessByStdio, execFileSync, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';

const ROOT = ['unshare', '--pid', '--fork', '--mount-proc', '--kill-child'];
const USER = ['unshare', '--user', '--map-root-user', ...ROOT.slice(1)];

/** Where neither works, the program only claims to be process 1. */
function isolation(): readonly string[] {
  for (const command of [ROOT, USER]) {
    try {
      execFileSync('env', [...command, 'true'], { stdio: 'ignore' });
      return command;
    } catch {
      // Not permitted here.
    }
  }
  return [];
}

const ISOLATION = isolation();
const CLAIM = "Object.defineProperty(process, 'pid', { value: 1 });";

/** Runs a module's text under Node. Killing the child kills all of its process table. */
export function inOwnProcessTable(source: string): ChildProcessByStdio<Writable, Readable, null> {
  const text = ISOLATION.length > 0 ? source : `${CLAIM}${source}`;
  return spawn('env', [...ISOLATION, process.execPath, '--input-type=module', '-e', text], {
    stdio: ['pipe', 'pipe', 'ignore'],
  });
}
