/** What the API gives beyond the page, and at which price. */
import type { CountryRecord, IndicatorRecord } from '../../../data/schema/records.ts';
import { data, priceOfRows } from '../../api/operations/observations/data.ts';
import { indicatorFile } from '../../api/operations/observations/files.ts';
import { RANKING_PRICE, rankings } from '../../api/operations/observations/rankings.ts';
import type { Edition } from '../../api/snapshot/editions/edition.ts';
import { type CallCost, callPath, type PlannedCall } from '../call-price.ts';
import { countRowsOf, latestYear } from '../series.ts';

/** A call with what it costs. */
interface Offer extends CallCost {
  /** Below the address of the service. */
  path: string;
}

export interface Offers {
  /** All countries and years. */
  whole: Offer | null;
  /** The histories that are drawn; null without any. */
  drawn: Offer | null;
  /** The latest ranking; null for what is not ranked. */
  ranking: Offer | null;
  /** The published file, which may be read again and in parts; null where it is not there. */
  file: Offer | null;
}

/**
 * Of an indicator that may be exported. Prices follow the rules of the operations; their plans would read the whole series.
 * @throws {QueryTimeout} {QueueFull} {SnapshotUnreadable}
 */
export async function offersOf(
  edition: Edition,
  record: IndicatorRecord,
  countries: readonly CountryRecord[],
): Promise<Offers> {
  const { id, no_rank } = record;
  const query = `indicator=${encodeURIComponent(id)}`;
  const codes = countries.map(({ iso3 }) => iso3).join(',');
  const whole = await edition.wholeFile(id);
  const drawnRows = await countRowsOf(edition, record, countries);
  const ranked = latestYear(record) === null ? 0 : edition.countries.length;
  return {
    whole: whole && rowsOffer({ operation: data, query }, whole.rows),
    drawn:
      codes === '' ? null : rowsOffer({ operation: data, query: `${query}&countries=${codes}` }, drawnRows),
    ranking: no_rank
      ? null
      : {
          path: callPath({ operation: rankings, path: { indicator: id } }),
          price: RANKING_PRICE,
          rows: ranked,
        },
    file: whole && rowsOffer({ operation: indicatorFile, path: { indicator_id: id } }, whole.rows),
  };
}

const rowsOffer = (call: PlannedCall, rows: number): Offer => ({
  path: callPath(call),
  price: priceOfRows(rows),
  rows,
});
