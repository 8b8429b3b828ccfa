/** Runs a second program beside the gateway and restarts it with exponential backoff. */
import { type ChildProcess, spawn } from 'node:child_process';
import type { Logger } from 'pino';

export interface BackoffOptions {
  first_ms: number;
  longest_ms: number;
  /** One that lived so long has shown that it can: the next pause is the first one again. */
  steady_ms: number;
}

export class RestartBackoff {
  readonly #options: BackoffOptions;
  #next_ms: number;

  constructor(options: BackoffOptions) {
    this.#options = options;
    this.#next_ms = options.first_ms;
  }

  /** Milliseconds to wait now. @param lived_ms how long the one that ended had been running. */
  after(lived_ms: number): number {
    const { first_ms, longest_ms, steady_ms } = this.#options;
    const pause_ms = lived_ms > steady_ms ? first_ms : this.#next_ms;
    this.#next_ms = Math.min(2 * pause_ms, longest_ms);
    return pause_ms;
  }
}

const PAUSES = { first_ms: 1_000, longest_ms: 60_000, steady_ms: 60_000 };
const STOP_WITHIN_MS = 8_000;

/** @param program path of a script for this Node. Returns what ends it. */
export function startChildProcess(program: string, log: Logger): () => Promise<void> {
  let child: ChildProcess;
  const pause = new RestartBackoff(PAUSES);
  let again: NodeJS.Timeout | undefined;
  let isStopping = false;
  const start = (): void => {
    const since = performance.now();
    child = spawn(process.execPath, [program], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
    child.once('error', (error) => log.error({ err: error, program }, 'companion'));
    child.once('exit', (code, signal) => {
      if (isStopping) return;
      const pause_ms = pause.after(performance.now() - since);
      log.error({ program, code, signal, again_in_ms: pause_ms }, 'companion ended by itself');
      again = setTimeout(start, pause_ms);
    });
  };
  start();
  return async () => {
    isStopping = true;
    clearTimeout(again);
    await ended(child);
  };
}

/** Asks it to end, and ends it when it does not. */
function ended(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null)
    return Promise.resolve();
  return new Promise((settle) => {
    const kill = setTimeout(() => child.kill('SIGKILL'), STOP_WITHIN_MS);
    child.once('exit', () => {
      clearTimeout(kill);
      settle();
    });
    child.kill('SIGTERM');
  });
}
