/** Child processes of bench and fault runs: started, awaited, measured from /proc, ended. */
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
/** Longer than a gateway waits before it renders them. */
const IDLE_FOR_MS = 1_500;
/** Timers, and the look at the pointer. */
const IDLE_CPU_MS = 30;
const IDLE_LOOKS_MAX = 60;

export interface Gateway extends AsyncDisposable {
  port: number;
  /** The main process; workers are its children. */
  pid: number | undefined;
  /** From spawn to the first 200 of `/readyz`. */
  ready_ms: number;
  /** Resident memory of all its processes in MB; null without /proc. */
  memory(): Promise<number | null>;
  /** CPU time of all its processes in ms; null without /proc. */
  cpu(): Promise<number | null>;
  /** Waits until it used hardly any CPU time for a while: what a start puts off is done. */
  idle(): Promise<void>;
  /** Open file handles of all its processes; null without /proc. */
  handles(): Promise<number | null>;
  /** Sends a signal and waits for the exit. @returns the exit code, null when the signal ended it */
  end(signal: NodeJS.Signals): Promise<number | null>;
}

export type Environment = Record<string, string>;

/**
 * Node flags of `npm start` and the image. With 8 MB of semi-space a call in a queue of a thousand survived several
 * collections and cost twice as much CPU; with 64 MB it costs half as much more, and other calls a tenth less.
 */
export const GATEWAY_FLAGS: readonly string[] = ['--max-semi-space-size=64'];

/** Starts a program through `env`, which adds settings to the inherited environment. */
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

/** Ends a process with SIGTERM, and with SIGKILL after a timeout. */
export async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), ENDING_AT_MOST_MS);
  await exited;
  clearTimeout(timer);
}

const ADDRESS = /listens on http:\/\/[^\s/]+:(\d+)/;

/** Starts a gateway on a free port and waits until it is ready. */
export async function startGateway(settings: Environment): Promise<Gateway> {
  const started = performance.now();
  const child = spawnNode(
    'gateway/main.ts',
    [],
    {
      // Floors are single processes.
      WORKERS: '1',
      MALLOC_ARENA_MAX: '2',
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
        idle: () => untilIdle(child.pid),
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

async function untilIdle(pid: number | undefined): Promise<void> {
  let before = await cpuTime(pid);
  for (let looks = 0; looks < IDLE_LOOKS_MAX && before !== null; looks++) {
    await delay(IDLE_FOR_MS);
    const now = await cpuTime(pid);
    if (now === null || now - before <= IDLE_CPU_MS) return;
    before = now;
  }
  if (before !== null) throw new Error('the gateway does not come to rest');
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
  /** Sampled peak memory of the process in MB; null without /proc. */
  peak_mb: number | null;
}

/** Runs a program of this repository. @throws with the end of its output when it fails */
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
  /** Sends one message and resolves to the reply. */
  ask<Question extends object, Answer>(question: Question): Promise<Answer>;
  /** CPU time in ms; null without /proc. */
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
