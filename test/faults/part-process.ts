/**
 * Runs one part in a child process with a time limit, a temporary directory and a mark in its environment that all
 * descendants inherit. Processes and files left afterwards are removed and count as a broken promise.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Part } from './parts.ts';
import type { Finding } from './table.ts';

const ENTRY = join(import.meta.dirname, 'run-part.ts');
/** Grace period for ending processes. */
const GRACE_MS = 10_000;
const LOOK_EVERY_MS = 100;

/** What the child process tells: a finding, or what it threw. */
export type Told = { promise: string; figure: string; ok: boolean } | { thrown: string };

export interface PartRun {
  /** Called for every finding as it is made. */
  found: (finding: Finding) => void;
  /** Ends the part. */
  signal: AbortSignal;
  entry?: string;
  grace_ms?: number;
}

/** Tells the findings of the part, plus a broken promise when it crashed, timed out or left something behind. */
export async function runPart(
  { name, fault, limit_s }: Part,
  { found, signal, entry = ENTRY, grace_ms = GRACE_MS }: PartRun,
): Promise<void> {
  let findings = 0;
  const tell = (promise: string, figure: string, kept: boolean): void => {
    findings += 1;
    found({ part: name, fault, promise, figure, kept });
  };
  const dir = await mkdtemp(join(tmpdir(), 'almanac-faults-'));
  const mark = `ALMANAC_FAULTS_PART=${dir}`;
  const child = spawn('env', [`TMPDIR=${dir}`, mark, process.execPath, entry, name], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const end = (): void => {
    child.kill('SIGKILL');
  };
  try {
    let thrown: string | undefined;
    child.on('message', (told: Told) => {
      if ('thrown' in told) thrown = told.thrown;
      else tell(told.promise, told.figure, told.ok);
    });
    // A timer takes whole milliseconds.
    const timeout = AbortSignal.timeout(Math.ceil(limit_s * 1000));
    const isOver = AbortSignal.any([signal, timeout]);
    isOver.addEventListener('abort', end, { once: true });
    if (isOver.aborted) end();
    const [code, killedBy] = await once(child, 'close');
    if (signal.aborted) tell('ends by itself', 'interrupted', false);
    else if (timeout.aborted) tell('ends by itself', `ended after ${limit_s} s`, false);
    else if (code !== 0) tell('runs to its end', thrown ?? `exit code ${code ?? killedBy}`, false);
    else if (findings === 0) tell('puts a promise to the test', 'none', false);
    const files = await readdir(dir);
    const processes = await endLeftovers(mark, grace_ms);
    const left = [
      ...processes.map((command) => `process ${command}`),
      ...files.map((file) => `file ${file}`),
    ];
    if (left.length > 0) tell('leaves nothing behind', left.join(', '), false);
  } finally {
    end();
    await rm(dir, { recursive: true, force: true });
  }
}

/** Kills every process that carries the mark after a grace period. @returns the commands of the killed */
async function endLeftovers(mark: string, grace_ms: number): Promise<string[]> {
  const deadline = performance.now() + grace_ms;
  let left = await marked(mark);
  while (left.size > 0 && performance.now() < deadline) {
    await pause(LOOK_EVERY_MS);
    left = await marked(mark);
  }
  for (const pid of left.keys()) kill(pid);
  while ((await marked(mark)).size > 0) await pause(LOOK_EVERY_MS);
  return [...left.values()];
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {} // already ended
}

/** Commands of marked processes by id; empty without /proc. */
async function marked(mark: string): Promise<Map<number, string>> {
  const found = new Map<number, string>();
  const names = await readdir('/proc').catch(() => []);
  for (const name of names.filter((each) => /^\d+$/.test(each))) {
    const environment = await readFile(`/proc/${name}/environ`, 'latin1').catch(() => '');
    if (!environment.split('\0').includes(mark)) continue;
    const command = await readFile(`/proc/${name}/cmdline`, 'latin1').catch(() => '');
    if (command !== '') found.set(Number(name), command.replaceAll('\0', ' ').trim().slice(0, 80));
  }
  return found;
}
