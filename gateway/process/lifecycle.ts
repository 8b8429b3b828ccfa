/** How a program starts and ends: shutdown hooks, its Redis, and the reason of a failed start. */

import type { Logger } from 'pino';
import { PrivateRedisError, startPrivateRedis } from '../../data/runtime/private-redis.ts';
import { type Settings, SettingsError } from '../../data/runtime/settings.ts';

/** A stop does not wait longer than this for slow readers. */
export const STOP_WITHIN_MS = 20_000;
/** npm hands on a Ctrl-C that the terminal has sent already: two signals this close together are one. */
const SAME_SIGNAL_MS = 1_000;

/** Ends one part of the service. */
export type ShutdownHook = () => Promise<unknown>;

/** Ends all parts in turn, each once; after too long a wait the process ends at once. */
export async function runShutdownHooks(shutdownHooks: ShutdownHook[], log: Logger): Promise<void> {
  setTimeout(() => process.exit(1), STOP_WITHIN_MS).unref();
  for (const end of shutdownHooks.splice(0).toReversed()) {
    await end().catch((error: unknown) => log.error({ err: error }, 'stopping failed'));
  }
}

/** Ends the program on SIGINT and SIGTERM; a second signal ends it at once. */
export function shutDownOnSignal(shutdownHooks: ShutdownHook[], log: Logger): void {
  let stopping_since_ms: number | null = null;
  const onSignal = (): void => {
    if (stopping_since_ms !== null) {
      if (performance.now() - stopping_since_ms > SAME_SIGNAL_MS) process.exit(1);
      return;
    }
    stopping_since_ms = performance.now();
    void runShutdownHooks(shutdownHooks, log).then(() => process.exit(0));
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
}

export async function resolveRedisUrl(settings: Settings, shutdownHooks: ShutdownHook[]): Promise<string> {
  if (settings.REDIS_URL !== undefined) return settings.REDIS_URL;
  const server = await startPrivateRedis(settings.REDIS_DIR);
  shutdownHooks.push(() => server.stop());
  return server.url;
}

/** A worker did not start; the message is what it said. */
export class WorkerFailure extends Error {
  override name = 'WorkerFailure';
}

/** What a person must put right, and only that; null for a fault of ours. */
export function startFailureReason(error: unknown): string | null {
  if (!(error instanceof Error)) return null;
  const isKnown =
    error instanceof SettingsError || error instanceof PrivateRedisError || error instanceof WorkerFailure;
  const code = 'code' in error ? error.code : undefined;
  return isKnown || code === 'EADDRINUSE' || code === 'EACCES' ? error.message : null;
}
