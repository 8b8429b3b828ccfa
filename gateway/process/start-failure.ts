/** Why a program did not start, as a person needs it. */
import { PrivateRedisError } from '../../data/runtime/private-redis.ts';
import { SettingsError } from '../../data/runtime/settings.ts';

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
