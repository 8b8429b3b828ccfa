/** How recent the data of each provider is. */
import type { FreshnessRecord } from '../../../../data/schema/records.ts';
import { ROUTE_FILES } from '../../../../data/schema/snapshot.ts';
import type { Edition } from './edition.ts';

/** By provider id. @throws {SnapshotUnreadable} */
export async function freshnessOf({ editions }: Edition): Promise<readonly FreshnessRecord[]> {
  const body = await editions.servedBody(ROUTE_FILES.freshness);
  return (JSON.parse(body.toString()) as { data: FreshnessRecord[] }).data;
}
