/** What the programs here share when they start: their Redis, and the reason of a failed start. */
import { CuratedError } from '../../data/curated/table.ts';
import { PrivateRedisError, startPrivateRedis } from '../../data/runtime/private-redis.ts';
import { type Settings, SettingsError } from '../../data/runtime/settings.ts';
import { type ShutdownHook, unlessStopped } from '../../data/runtime/stop-signals.ts';

/** The Redis of the settings, or a private one that this program starts, and stops after everything else. */
export async function resolveRedisUrl(
  settings: Settings,
  shutdownHooks: ShutdownHook[],
  stopping: AbortSignal,
): Promise<string> {
  if (settings.REDIS_URL !== undefined) return settings.REDIS_URL;
  const server = await unlessStopped(startPrivateRedis(settings.REDIS_DIR), stopping);
  shutdownHooks.unshift(() => server.stop());
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
