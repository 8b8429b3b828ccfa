/** A country's latest values as rows, for formats that are files. */
import { z } from 'zod';
import {
  countryRecord,
  indicatorRecord,
  type TopicItem,
  topicItem,
} from '../../../../data/schema/records.ts';
import { columnsOf, recordBatches } from '../../encoders/tables/record-table.ts';
import type { Table } from '../../encoders/tables/table.ts';
import type { Catalogue } from '../../snapshot/editions/catalogue.ts';
import type { SelectedItems } from '../../snapshot/editions/country-items.ts';
import type { Edition } from '../../snapshot/editions/edition.ts';

const { iso3, name } = countryRecord.shape;
const { licence, licence_url, attribution } = indicatorRecord.shape;

/** Figures of many providers: each row has its own terms, for which headers have no room. */
const profileRow = z.object({
  ...{ iso3, country: name, topic: z.string() },
  ...topicItem.shape,
  ...{ licence, licence_url, attribution },
});
type ProfileRow = z.infer<typeof profileRow>;

const COLUMNS = columnsOf(profileRow);

/** @param code of a country that the edition has. */
export async function profileTable(
  snapshot: Edition,
  code: string,
  { topics }: SelectedItems,
  echo: Record<string, unknown>,
): Promise<Table> {
  const catalogue = await snapshot.wholeCatalogue();
  const about = { iso3: code, country: snapshot.countriesByCode.get(code)?.name ?? code };
  const rows = topics.flatMap(({ slug, json }) =>
    json.flatMap((text) => exported(catalogue, { ...about, topic: slug }, JSON.parse(text))),
  );
  return {
    columns: COLUMNS,
    rows: rows.length,
    batches: () => recordBatches(COLUMNS, rows.length, (start, end) => rows.slice(start, end)),
    indicators: [],
    meta: { generated_at: snapshot.generatedAt, count: rows.length, ...echo },
    edition: snapshot.id,
    name: `${code}.profile`,
  };
}

/** None for a display-only indicator: its figures are shown, and not exported. */
function exported(
  { indicators }: Catalogue,
  about: Pick<ProfileRow, 'iso3' | 'country' | 'topic'>,
  item: TopicItem,
): ProfileRow[] {
  const record = indicators.get(item.indicator)?.record;
  if (record === undefined || record.access_tier === 'display') return [];
  return [
    {
      ...about,
      ...item,
      licence: record.licence,
      licence_url: record.licence_url,
      attribution: record.attribution,
    },
  ];
}
