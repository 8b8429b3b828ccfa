/** What the API gives beyond the page, and at which price. */
import type { CountryRecord, IndicatorRecord } from '../../../../data/schema/records.ts';
import { data } from '../../../operations/data.ts';
import { indicatorFile } from '../../../operations/files.ts';
import { rankings } from '../../../operations/rankings.ts';
import type { Edition } from '../../../snapshot/edition.ts';
import { type CallCost, callCost, callPath, type PlannedCall } from '../call-price.ts';

/** A call with what it costs. */
interface Offer extends CallCost {
  /** Below the address of the service. */
  path: string;
}

export interface Offers {
  /** All countries and years; null where one answer cannot hold them. */
  whole: Offer | null;
  /** The histories that are drawn; null without any. */
  drawn: Offer | null;
  /** The latest ranking; null for what is not ranked. */
  ranking: Offer | null;
  /** The published file, which may be read again and in parts; null where it is not there. */
  file: Offer | null;
}

/** Of an indicator that may be exported. @throws {QueryTimeout} {QueueFull} {SnapshotUnreadable} */
export async function offersOf(
  edition: Edition,
  { id, no_rank }: IndicatorRecord,
  countries: readonly CountryRecord[],
): Promise<Offers> {
  const query = `indicator=${encodeURIComponent(id)}`;
  const codes = countries.map(({ iso3 }) => iso3).join(',');
  const drawn = { operation: data, query: `${query}&countries=${codes}` };
  const ranking = { operation: rankings, path: { indicator: id } };
  return {
    whole: await offer(edition, { operation: data, query }),
    drawn: codes === '' ? null : await offer(edition, drawn),
    ranking: no_rank ? null : await offer(edition, ranking),
    file: await offer(edition, { operation: indicatorFile, path: { indicator_id: id } }),
  };
}

async function offer(edition: Edition, call: PlannedCall): Promise<Offer | null> {
  const cost = await callCost(edition, call);
  return cost && { path: callPath(call), ...cost };
}
