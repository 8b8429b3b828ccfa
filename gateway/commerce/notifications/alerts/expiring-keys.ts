/** Keys that are about to expire, told 7 days and 1 day before. */
import { DAY_MS, redisKeys } from '../../../../data/schema/redis-keys.ts';
import type { AccountStore, KeyRecord } from '../../accounts/accounts.ts';
import { readBatches, type StoreDependencies } from '../../store/store.ts';
import type { Outbox } from '../outbox.ts';

const DAYS_BEFORE = [1, 7] as const;

/**
 * Which warning is due for a key: 7 or 1 days before its end, or null. No warning is due if the end was set later than that:
 * a key for two days, or the grace period after a rotation.
 * @param keys all of the account
 */
export function daysToTell(key: KeyRecord, keys: readonly KeyRecord[], now_ms: number): number | null {
  const { state, expires_at_ms, created_at_ms, replaced_by } = key;
  if (state !== 'active' || expires_at_ms === null || expires_at_ms <= now_ms) return null;
  const successor = keys.find(({ key_id }) => key_id === replaced_by);
  const set_at_ms = successor?.created_at_ms ?? created_at_ms;
  const days = DAYS_BEFORE.find((some) => expires_at_ms - now_ms <= some * DAY_MS);
  return days !== undefined && expires_at_ms - set_at_ms > days * DAY_MS ? days : null;
}

/** Looks through the keys of all accounts, and writes the events that are due: once for each key and number of days. */
export async function findExpiringKeys(
  { redis, now }: Pick<StoreDependencies, 'redis' | 'now'>,
  { keys }: Pick<AccountStore, 'keys'>,
  outbox: Outbox,
): Promise<void> {
  for await (const ids of readBatches(redis, redisKeys.accounts))
    await Promise.all(
      ids.map(async (account_id) => {
        const all = await keys.list(account_id);
        for (const key of all) {
          const { key_id } = key;
          const days = daysToTell(key, all, now());
          if (days !== null)
            await outbox.emit(account_id, 'key.expires', `${key_id}-${days}`, { key_id, days });
        }
      }),
    );
}
