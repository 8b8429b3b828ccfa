/** Which changes of indicators an account gets alerts about: all kinds that are not turned off. */
import type { RedisClient } from '../../../../data/runtime/redis.ts';
import { redisKeys } from '../../../../data/schema/redis-keys.ts';
import { throwUnavailable } from '../../store/store.ts';
import { CHANGE_KINDS, type ChangeKind } from './changed-indicators.ts';

/** @throws {AccountError} `unavailable` */
export async function readToldKinds(redis: RedisClient, account_id: string): Promise<ChangeKind[]> {
  const off = await redis.hgetall(redisKeys.changeAlerts(account_id)).catch(throwUnavailable);
  return CHANGE_KINDS.filter((kind) => off[kind] === undefined);
}

/** @throws {AccountError} `unavailable` */
export async function setToldKinds(
  redis: RedisClient,
  account_id: string,
  told: readonly ChangeKind[],
): Promise<void> {
  const name = redisKeys.changeAlerts(account_id);
  const off = CHANGE_KINDS.filter((kind) => !told.includes(kind));
  const change = redis.multi().del(name);
  if (off.length > 0) change.hset(name, Object.fromEntries(off.map((kind) => [kind, 'off'])));
  await change.exec().catch(throwUnavailable);
}
