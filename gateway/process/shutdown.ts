/** How a program of the gateway ends: its parts one after the other, in the reverse order of their start. */
import type { Logger } from 'pino';

/** A stop does not wait longer than this for slow readers. */
export const STOP_WITHIN_MS = 20_000;
/** npm hands on a Ctrl-C that the terminal has sent already: two signals this close together are one. */
const SAME_SIGNAL_MS = 1_000;

/** Ends one part of the service. */
export type Stop = () => Promise<unknown>;

/** Ends all parts in turn, each once; after too long a wait the process ends at once. */
export async function stopAll(stops: Stop[], log: Logger): Promise<void> {
  setTimeout(() => process.exit(1), STOP_WITHIN_MS).unref();
  for (const end of stops.splice(0).toReversed()) {
    await end().catch((error: unknown) => log.error({ err: error }, 'stopping failed'));
  }
}

/** Ends the program on SIGINT and SIGTERM; a second signal ends it at once. */
export function stopOnSignal(stops: Stop[], log: Logger): void {
  let stopping_since_ms: number | null = null;
  const onSignal = (): void => {
    if (stopping_since_ms !== null) {
      if (performance.now() - stopping_since_ms > SAME_SIGNAL_MS) process.exit(1);
      return;
    }
    stopping_since_ms = performance.now();
    void stopAll(stops, log).then(() => process.exit(0));
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
}
