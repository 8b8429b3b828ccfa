/** A directory of published snapshots as a gateway opens it, which looks at the pointer when a test says so. */
import { SnapshotStore, type StoreOptions } from '../../gateway/api/snapshot/editions/store.ts';
import { silentLog } from '../redis-server.ts';

export const openSnapshots = (directory: string, more: Partial<StoreOptions> = {}): Promise<SnapshotStore> =>
  SnapshotStore.open({
    directory,
    pollMs: 100_000_000,
    hotCacheMb: 16,
    queryTimeoutMs: 60_000,
    log: silentLog,
    ...more,
  });
