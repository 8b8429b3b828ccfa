/** The tables of the catalogue database. Only what is listed today is in them. */
import { DuckDBDateValue, DuckDBTimestampValue, type DuckDBValue, listValue } from '@duckdb/node-api';
import type { TopicRecord } from '../../../../data/schema/records.ts';
import { ROUTE_FILES } from '../../../../data/schema/snapshot.ts';
import type { DatabaseTable } from '../../encoders/encoders.ts';
import type { CatalogueEntry, Edition } from '../../snapshot/snapshot.ts';
import { GROUPS, servedMembers } from '../parameters/places.ts';

type Rows = DuckDBValue[][];

/** @param url where callers reach the service, without a slash at its end. */
export async function catalogueTables(snapshot: Edition, url: string): Promise<DatabaseTable[]> {
  const { indicators } = await snapshot.wholeCatalogue();
  const entries = [...indicators.values()].sort(byId);
  const rowCounts = await snapshot.editions.servedRowCounts();
  const asOf = `as_of=${snapshot.id}`;
  return [
    { name: 'edition', rows: [[snapshot.id, timestampOf(snapshot.generatedAt), url]] },
    {
      name: 'indicators',
      rows: entries.map((entry) => {
        const isOpen = entry.record.access_tier === 'open';
        const file = isOpen ? `${url}/v1/files/${entry.record.id}.parquet?${asOf}` : null;
        return indicatorRow(entry, rowCounts.get(entry.record.id) ?? null, file);
      }),
    },
    { name: 'providers', rows: providerRows(entries, (id) => `${url}/v1/bundles/${id}.parquet?${asOf}`) },
    { name: 'topics', rows: await topicRows(snapshot) },
    { name: 'countries', rows: countryRows(snapshot) },
    { name: 'groups', rows: groupRows(snapshot) },
  ];
}

const byId = (a: CatalogueEntry, b: CatalogueEntry): number => (a.record.id < b.record.id ? -1 : 1);

const DAY_MS = 86_400_000;
const timestampOf = (text: string) => new DuckDBTimestampValue(BigInt(Date.parse(text)) * 1000n);
const dateOf = (text: string) => new DuckDBDateValue(Date.parse(text) / DAY_MS);

/** In the order of the columns in sql/catalogue-database.sql, as below. */
function indicatorRow({ record }: CatalogueEntry, rows: number | null, url: string | null): DuckDBValue[] {
  const { id, name, description, unit, topic, provider, access_tier, licence, licence_url } = record;
  const { attribution, higher_is_better, preferred, featured, no_rank, coverage } = record;
  return [
    ...[id, name, description, unit, topic, provider.id],
    ...[access_tier, licence, licence_url, attribution],
    ...[higher_is_better, preferred, featured, no_rank],
    ...[rows, coverage?.n_countries ?? null, coverage?.yr_min ?? null, coverage?.yr_max ?? null],
    ...[coverage?.latest_year ?? null, url],
  ];
}

function providerRows(entries: readonly CatalogueEntry[], urlOf: (id: string) => string): Rows {
  const own = Map.groupBy(entries, ({ record }) => record.provider.id);
  return [...own].map(([id, listed]) => {
    const [first] = listed;
    const { name, licence, licence_url, attribution } = (first as CatalogueEntry).record.provider;
    const hasOpen = listed.some(({ record }) => record.access_tier === 'open');
    return [id, name, licence, licence_url, attribution, listed.length, hasOpen ? urlOf(id) : null];
  });
}

async function topicRows({ editions }: Edition): Promise<Rows> {
  const body = await editions.servedBody(ROUTE_FILES.topics);
  const { data }: { data: TopicRecord[] } = JSON.parse(body.toString());
  return data.map(({ slug, name, description, n_indicators, n_featured, n_countries }) => [
    ...[slug, name, description, n_indicators, n_featured, n_countries],
  ]);
}

const countryRows = ({ countries }: Edition): Rows =>
  countries.map(({ record }) => [
    ...[record.iso3, record.iso2, record.m49, record.name, record.official_name],
    ...[record.region, record.subregion, record.income_group, record.wb_code],
    ...[record.capital, record.wikidata_id, record.flag_emoji],
  ]);

const groupRows = (snapshot: Edition): Rows =>
  [...GROUPS.values()].map((group) => [
    ...[group.id, group.name, listValue(servedMembers(group, snapshot)), group.source],
    dateOf(group.as_of),
  ]);
