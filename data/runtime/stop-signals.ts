/** How a program ends on a signal, at any time of its start, too. What it started is stopped with it. */
import { constants } from 'node:os';
import type { Logger } from 'pino';

/** A stop does not wait longer than this for slow clients. */
const SHUTDOWN_TIMEOUT_MS = 20_000;
/** npm forwards a Ctrl-C that the terminal has already sent: two signals this close together count as one. */
const SAME_SIGNAL_MS = 1_000;

/** SIGHUP comes when a terminal is closed. Node resets signals when it starts, so `nohup` never kept it from a program. */
export const STOP_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
export type StopEvent = (typeof STOP_SIGNALS)[number] | 'disconnect';

/** Stops one part of a program. */
export type ShutdownHook = () => Promise<unknown>;

/**
 * Aborts on the first of the events; a second one ends the process at once. To be called before any child is started.
 * `disconnect`, the end of the parent process, may have come before.
 */
export function stopSignal(events: readonly StopEvent[] = STOP_SIGNALS): AbortSignal {
  const stopping = new AbortController();
  let first_ms: number | null = null;
  const stop = (event: StopEvent): void => {
    if (first_ms !== null && performance.now() - first_ms > SAME_SIGNAL_MS) process.exit(1);
    first_ms ??= performance.now();
    stopping.abort(new Error(`stopped by ${event}`));
  };
  for (const event of events) process.on(event, () => stop(event));
  if (events.includes('disconnect') && process.connected === false) stop('disconnect');
  return stopping.signal;
}

/** Has a short command end at once on a signal, as without it, but with the servers that it started. */
export function exitOnSignals(): void {
  for (const signal of STOP_SIGNALS) process.on(signal, () => process.exit(128 + constants.signals[signal]));
}

/** Runs all hooks once, last added first. Exits the process after the timeout. */
export async function runShutdownHooks(shutdownHooks: ShutdownHook[], log: Logger): Promise<void> {
  setTimeout(() => process.exit(1), SHUTDOWN_TIMEOUT_MS).unref();
  for (const hook of shutdownHooks.splice(0).toReversed()) {
    await hook().catch((error: unknown) => log.error({ err: error }, 'shutdown hook failed'));
  }
}

/** The result of a step of the start; rejects as soon as the program is told to stop. */
export function unlessStopped<T>(step: Promise<T>, stopping: AbortSignal): Promise<T> {
  const stopped = new Promise<never>((_, reject) => {
    if (stopping.aborted) reject(stopping.reason);
    else stopping.addEventListener('abort', () => reject(stopping.reason));
  });
  return Promise.race([step, stopped]);
}

/**
 * Starts a program, waits for an event that stops it, runs its hooks and exits. A program that is told to stop while it
 * starts goes on to the end of the step, and whatever the start throws from then on is no error.
 */
export async function runUntilStopped(
  log: Logger,
  start: (shutdownHooks: ShutdownHook[], stopping: AbortSignal) => Promise<void>,
  events?: readonly StopEvent[],
): Promise<never> {
  const shutdownHooks: ShutdownHook[] = [];
  const stopping = stopSignal(events);
  try {
    await start(shutdownHooks, stopping);
    await unlessStopped(new Promise(() => {}), stopping);
  } catch (error) {
    if (!stopping.aborted) throw error;
  } finally {
    await runShutdownHooks(shutdownHooks, log);
  }
  process.exit(0);
}
