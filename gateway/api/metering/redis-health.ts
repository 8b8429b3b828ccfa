/**
 * Whether Redis takes the writes of metering. Every master is asked, with a script that changes nothing but is refused
 * whenever a write would be: memory full, read-only, too few replicas, disk errors, busy, denied.
 */
import { Cluster } from 'ioredis';
import { isReady, type RedisClient } from '../../../data/runtime/redis.ts';
import { storeFault } from '../../../data/runtime/store-version.ts';

/** A script with a shebang and no flags counts as one that writes. */
const PROBE = '#!lua\nreturn 1';

/** By the error code of Redis. */
const CAUSES: ReadonlyMap<string, string> = new Map([
  ['OOM', 'Redis is full and refuses writes.'],
  ['READONLY', 'Redis is a read-only replica.'],
  ['NOREPLICAS', 'Redis has too few replicas to accept writes.'],
  ['MISCONF', 'Redis cannot save its data and refuses writes.'],
  ['BUSY', 'Redis is busy with a script.'],
  ['LOADING', 'Redis is loading its data.'],
  ['NOPERM', 'Redis denies access.'],
  ['NOAUTH', 'Redis denies access.'],
]);

/** Why Redis takes no writes of this program, as a sentence; null when every master takes them. Never rejects. */
export async function redisFault(redis: RedisClient): Promise<string | null> {
  if (!isReady(redis)) return 'Redis is unreachable.';
  const masters = redis instanceof Cluster ? redis.nodes('master') : [redis];
  const faults = await Promise.all(masters.map((master) => master.eval(PROBE, 0).then(() => null, explain)));
  return faults.find((fault) => fault !== null) ?? (await storeFault(redis).catch(explain));
}

function explain(error: unknown): string {
  if (!(error instanceof Error) || error.name !== 'ReplyError') return 'Redis does not answer.';
  const [code = ''] = error.message.split(' ', 1);
  return CAUSES.get(code) ?? `Redis refuses writes (${code}).`;
}
