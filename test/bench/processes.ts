/** Child processes of the bench: started, watched until ready, measured from /proc, ended with their group. */
import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { cpuTime, familyOf, memoryLine, openHandles } from './process-stats.ts';

const ROOT = join(import.meta.dirname, '../..');
const MEMORY_EVERY_MS = 50;
const READY_EVERY_MS = 5;
const READY_AT_MOST_MS = 120_000;
const ENDING_AT_MOST_MS = 10_000;

export interface Gateway extends AsyncDisposable {
  port: number;
  /** Its first process; the others are that one's children. */
  pid: number | undefined;
  /** From spawn to the first 200 of /readyz. */
  ready_ms: number;
  /** Resident memory now, of all its processes, in MB; null where /proc does not exist. */
  memory(): Promise<number | null>;
  /** CPU time used so far by all its processes, in milliseconds; null where /proc does not exist. */
  cpu(): Promise<number | null>;
  /** Open file handles now, of all its processes; null where /proc does not exist. */
  handles(): Promise<number | null>;
  /** Sends it a signal and waits for its end. Gives the exit code; null when the signal itself ended it. */
  end(signal: NodeJS.Signals): Promise<number | null>;
}

export type Environment = Record<string, string>;

/**
 * What `npm start` and the image give Node for the gateway. Young objects get at most this room, in MB. Measured with 8, a
 * call that waits in a line of a thousand lives through several collections and costs twice as much as one that does not,
 * so a line made itself longer; with 64 it costs a half more, and one that does not wait a tenth less.
 */
export const GATEWAY_FLAGS: readonly string[] = ['--max-semi-space-size=64'];

/** A program under `env`, so that the bench hands on settings without reading the environment itself. */
function spawnNode(
  script: string,
  args: string[],
  settings: Environment,
  flags: readonly string[] = [],
): ChildProcess {
  const pairs = Object.entries(settings).map(([name, value]) => `${name}=${value}`);
  return spawn('env', [...pairs, process.execPath, ...flags, script, ...args], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

/** Ends a process, politely first. */
export async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), ENDING_AT_MOST_MS);
  await exited;
  clearTimeout(timer);
}

const ADDRESS = /listens on http:\/\/[^\s/]+:(\d+)/;

/** Starts a gateway on a port that the system picks, and waits until it is ready. */
export async function startGateway(settings: Environment): Promise<Gateway> {
  const started = performance.now();
  const child = spawnNode(
    'gateway/main.ts',
    [],
    {
      // One process against one process, and its memory is all there is, unless more are asked for.
      WORKERS: '1',
      ...settings,
      PORT: '0',
      HOST: '127.0.0.1',
    },
    GATEWAY_FLAGS,
  );
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (bytes) => {
      output = (output + bytes).slice(-4000);
    });
  }
  let isWanted = true;
  child.once('exit', (code, signal) => {
    if (isWanted) console.error(`bench: the gateway ended by itself (${signal ?? code}): ${output}`);
  });
  const stop = (): Promise<void> => {
    isWanted = false;
    return end(child);
  };
  for (;;) {
    const port = Number(ADDRESS.exec(output)?.[1]);
    if (port > 0 && (await isReady(port))) {
      return {
        port,
        pid: child.pid,
        ready_ms: performance.now() - started,
        memory: () => residentMemory(child.pid),
        cpu: () => cpuTime(child.pid),
        handles: () => openHandles(child.pid),
        end: async (signal) => {
          isWanted = false;
          const exited = once(child, 'exit');
          child.kill(signal);
          return (await exited)[0];
        },
        [Symbol.asyncDispose]: stop,
      };
    }
    if (performance.now() - started > READY_AT_MOST_MS || child.exitCode !== null) {
      await stop();
      throw new Error(`the gateway did not get ready: ${output}`);
    }
    await delay(READY_EVERY_MS);
  }
}

async function residentMemory(pid: number | undefined): Promise<number | null> {
  const family = await familyOf(pid);
  const each = await Promise.all(family.map((member) => memoryLine(member, 'VmRSS')));
  return each.reduce((sum, megabytes) => (sum === null || megabytes === null ? null : sum + megabytes), 0);
}

const isReady = (port: number): Promise<boolean> =>
  fetch(`http://127.0.0.1:${port}/readyz`).then(
    (answer) => answer.status === 200,
    () => false,
  );

export interface Run {
  stdout: string;
  duration_ms: number;
  /** Highest resident memory of the process, in MB, sampled; null where /proc does not exist. */
  peak_mb: number | null;
}

/** Runs one of the repository's own programs to its end. @throws with its last words when it fails. */
export async function runNode(script: string, args: string[], settings: Environment): Promise<Run> {
  const started = performance.now();
  const child = spawnNode(script, args, settings);
  const texts = { stdout: '', stderr: '' };
  child.stdout?.on('data', (bytes) => {
    texts.stdout += bytes;
  });
  child.stderr?.on('data', (bytes) => {
    texts.stderr = (texts.stderr + bytes).slice(-2000);
  });
  let peak_mb: number | null = null;
  const watch = setInterval(async () => {
    peak_mb = (await memoryLine(child.pid, 'VmHWM')) ?? peak_mb;
  }, MEMORY_EVERY_MS);
  const [code] = await once(child, 'close');
  clearInterval(watch);
  if (code !== 0) throw new Error(`${script} ${args.join(' ')} ended with ${code}: ${texts.stderr}`);
  return { stdout: texts.stdout, duration_ms: performance.now() - started, peak_mb };
}

export interface ForkedTask extends AsyncDisposable {
  /** Sends one message and resolves to the answer. */
  ask<Question extends object, Answer>(question: Question): Promise<Answer>;
  /** CPU time used so far, in milliseconds; null where /proc does not exist. */
  cpu(): Promise<number | null>;
}

/** Forks a script that answers one message at a time. */
export function forkTask(script: URL): ForkedTask {
  const child = fork(script, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  return {
    async ask<Question extends object, Answer>(question: Question): Promise<Answer> {
      const listening = new AbortController();
      const settled = Promise.race([
        once(child, 'message', listening).then(([message]) => message as Answer),
        once(child, 'exit', listening).then(([code]) => {
          throw new Error(`${script.pathname} ended with ${code}`);
        }),
      ]);
      child.send(question);
      return settled.finally(() => listening.abort());
    },
    cpu: () => cpuTime(child.pid),
    [Symbol.asyncDispose]: () => end(child),
  };
}
