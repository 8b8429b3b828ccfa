/** How a program starts and stops: shutdown hooks, its Redis, and the reason of a failed start. */
import type { Logger } from 'pino';
import { CuratedError } from '../../data/curated/problems.ts';
import { PrivateRedisError, startPrivateRedis } from '../../data/runtime/private-redis.ts';
import { type Settings, SettingsError } from '../../data/runtime/settings.ts';

/** Shutdown does not wait longer than this for slow clients. */
const SHUTDOWN_TIMEOUT_MS = 20_000;
/** npm forwards a Ctrl-C that the terminal has already sent: two signals this close together count as one. */
const SAME_SIGNAL_MS = 1_000;

/** Stops one part of the service. */
export type ShutdownHook = () => Promise<unknown>;

/** Runs all hooks once, last added first. Exits the process after the timeout. */
export async function runShutdownHooks(shutdownHooks: ShutdownHook[], log: Logger): Promise<void> {
  setTimeout(() => process.exit(1), SHUTDOWN_TIMEOUT_MS).unref();
  for (const hook of shutdownHooks.splice(0).toReversed()) {
    await hook().catch((error: unknown) => log.error({ err: error }, 'shutdown hook failed'));
  }
}

/** Shuts the program down on SIGINT and SIGTERM; a second signal exits at once. */
export function shutDownOnSignal(shutdownHooks: ShutdownHook[], log: Logger): void {
  let started_ms: number | null = null;
  const onSignal = (): void => {
    if (started_ms !== null) {
      if (performance.now() - started_ms > SAME_SIGNAL_MS) process.exit(1);
      return;
    }
    started_ms = performance.now();
    void runShutdownHooks(shutdownHooks, log).then(() => process.exit(0));
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
}

/** The Redis of the settings, or a private one that this program starts and stops. */
export async function resolveRedisUrl(settings: Settings, shutdownHooks: ShutdownHook[]): Promise<string> {
  if (settings.REDIS_URL !== undefined) return settings.REDIS_URL;
  const server = await startPrivateRedis(settings.REDIS_DIR);
  shutdownHooks.push(() => server.stop());
  return server.url;
}

/** A worker did not start; the message is its reason. */
export class WorkerFailure extends Error {
  override name = 'WorkerFailure';
}

/** The reason of a failed start that the operator can correct; null for a fault of ours. */
export function startFailureReason(error: unknown): string | null {
  if (!(error instanceof Error)) return null;
  const isKnown = [SettingsError, CuratedError, PrivateRedisError, WorkerFailure].some(
    (known) => error instanceof known,
  );
  const code = 'code' in error ? error.code : undefined;
  return isKnown || code === 'EADDRINUSE' || code === 'EACCES' ? error.message : null;
}
