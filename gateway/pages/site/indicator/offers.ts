/** What the API gives beyond the page, and at which price. */
import type { CountryRecord, IndicatorRecord } from '../../../../data/schema/records.ts';
import { data } from '../../../operations/data.ts';
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
}

const seriesQuery = ({ id }: IndicatorRecord): string => `indicator=${encodeURIComponent(id)}`;

/** Of an indicator that may be exported. @throws {QueryTimeout} {QueueFull} {SnapshotUnreadable} */
export const wholeOffer = (edition: Edition, record: IndicatorRecord): Promise<Offer | null> =>
  offer(edition, { operation: data, query: seriesQuery(record) });

/** Of an indicator that may be exported. @throws {QueryTimeout} {QueueFull} {SnapshotUnreadable} */
export async function partOffers(
  edition: Edition,
  record: IndicatorRecord,
  countries: readonly CountryRecord[],
): Promise<Omit<Offers, 'whole'>> {
  const codes = countries.map(({ iso3 }) => iso3).join(',');
  const drawn = { operation: data, query: `${seriesQuery(record)}&countries=${codes}` };
  const ranking = { operation: rankings, path: { indicator: record.id } };
  return {
    drawn: codes === '' ? null : await offer(edition, drawn),
    ranking: record.no_rank ? null : await offer(edition, ranking),
  };
}

async function offer(edition: Edition, call: PlannedCall): Promise<Offer | null> {
  const cost = await callCost(edition, call);
  return cost && { path: callPath(call), ...cost };
}
