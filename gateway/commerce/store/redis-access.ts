/** Access to Redis that the stores of this folder share: scripts that may be repeated, errors as `AccountError`. */
import type { RedisClient } from '../../../data/runtime/redis.ts';
import { type Script, ScriptRunner } from '../../../data/runtime/redis-scripts.ts';
import type { RandomBytes } from '../../api/metering/metering.ts';
import { AccountError } from './records.ts';

export interface StoreDependencies {
  redis: RedisClient;
  /** Unix milliseconds. */
  now: () => number;
  random: RandomBytes;
}

/** Runs an idempotent script. A single reply comes as a list of one. @throws {AccountError} `unavailable` */
export type RunScript = (script: Script, values: readonly (string | number)[]) => Promise<unknown[]>;

export function createRunScript(redis: RedisClient): RunScript {
  const runner = new ScriptRunner(redis);
  return async (script, values) => {
    const reply = await runner.runIdempotent(script, values).catch(throwUnavailable);
    return Array.isArray(reply) ? reply : [reply];
  };
}

export function throwUnavailable(cause: unknown): never {
  throw new AccountError('unavailable', 'Redis did not answer; try again.', { cause });
}
