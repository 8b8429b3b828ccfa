/**
 * Runs a second program beside the gateway: `npm start` runs the worker of `build/` this way. It ends with the gateway,
 * even when the gateway is killed (the IPC channel closes), and is restarted with exponential backoff when it exits.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Logger } from 'pino';

const BACKOFF = { first_ms: 1_000, longest_ms: 60_000, steady_ms: 60_000 };
const STOP_TIMEOUT_MS = 8_000;
const READY_WITHIN_MS = 15_000;

/** @returns how long to wait before the next start, for the uptime of the process that exited; doubles with each. */
export type RestartBackoff = (uptime_ms: number) => number;

/** @param options `steady_ms`: a process that ran longer resets the backoff */
export function restartBackoff({ first_ms, longest_ms, steady_ms }: typeof BACKOFF): RestartBackoff {
  let next_ms = first_ms;
  return (uptime_ms) => {
    const delay_ms = uptime_ms > steady_ms ? first_ms : next_ms;
    next_ms = Math.min(2 * delay_ms, longest_ms);
    return delay_ms;
  };
}

export interface SupervisedProcess {
  /** Settles when the program sends its first message, when it exits before that, or after `READY_WITHIN_MS`. */
  ready: Promise<unknown>;
  stop(): Promise<void>;
}

/** @param program path of a script for this Node. */
export function startChildProcess(program: string, log: Logger): SupervisedProcess {
  const backoff = restartBackoff(BACKOFF);
  let restartTimer: NodeJS.Timeout | undefined;
  let isStopping = false;
  const start = (): ChildProcess => {
    const started_ms = performance.now();
    const spawned = spawn(process.execPath, [program], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
    spawned.once('error', (error) => log.error({ err: error, program }, 'child process failed'));
    spawned.once('exit', (code, signal) => {
      if (isStopping) return;
      const restart_in_ms = backoff(performance.now() - started_ms);
      log.error({ program, code, signal, restart_in_ms }, 'child process exited');
      restartTimer = setTimeout(() => {
        child = start();
      }, restart_in_ms);
    });
    return spawned;
  };
  let child = start();
  return {
    ready: firstSign(child),
    async stop() {
      isStopping = true;
      clearTimeout(restartTimer);
      await stop(child);
    },
  };
}

function firstSign(child: ChildProcess): Promise<unknown> {
  const { promise, resolve } = Promise.withResolvers<unknown>();
  for (const event of ['message', 'exit', 'error']) child.once(event, resolve);
  const timeout = setTimeout(resolve, READY_WITHIN_MS);
  return promise.finally(() => clearTimeout(timeout));
}

/** Sends SIGTERM, then SIGKILL after the timeout. */
async function stop(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  const timeout = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS);
  child.kill('SIGTERM');
  await exited;
  clearTimeout(timeout);
}
