/**
 * GET /almanac.duckdb: the catalogue as a DuckDB database, with macros that read the files of its edition. Only what is listed
 * today is in its tables.
 */
import { hash } from 'node:crypto';
import { DuckDBDateValue, DuckDBTimestampValue, type DuckDBValue, listValue } from '@duckdb/node-api';
import { z } from 'zod';
import { readSql } from '../../../../data/runtime/sql-files.ts';
import { countryRecord, type TopicRecord, topicRecord } from '../../../../data/schema/records.ts';
import { ROUTE_FILES } from '../../../../data/schema/snapshot.ts';
import { type DatabaseTable, DUCKDB_TYPE, databaseFile } from '../../encoders/encoders.ts';
import type { CatalogueEntry, Edition } from '../../snapshot/snapshot.ts';
import { defineOperation, free, type Planned, type WholeFile } from '../operation.ts';
import { GROUPS, servedMembers } from '../parameters/place-names.ts';

const STATEMENTS = readSql(import.meta.url, 'sql/catalogue-database.sql');

export const database = defineOperation({
  name: 'getDatabase',
  path: '/almanac.duckdb',
  tag: 'Catalogue',
  summary: 'The catalogue as a DuckDB database',
  description:
    'For `ATTACH`: tables `indicators`, `providers`, `topics`, `countries`, `groups` and `edition`, and the macros ' +
    '`observations(id)` and `bundle(id)`, which read the file of an indicator or of a provider, as of this snapshot. ' +
    'Reading those needs a key.',
  needsKey: false,
  priceText: 'free',
  // No whole answer is kept: most ask for a part.
  isFile: true,
  query: z.object({}),
  answer: z.string().describe('A DuckDB database, for DuckDB 1.2 and later'),
  mediaType: DUCKDB_TYPE,
  async plan({ snapshot, publicUrl }): Promise<Planned> {
    const file = await keptDatabase(snapshot, publicUrl);
    const name = 'almanac.duckdb';
    return { ...free({ kind: 'whole', file, mediaType: DUCKDB_TYPE, name, credits: [] }), file };
  },
});

/** Kept with the edition, because a client reads it part by part. A process has one address. */
const kept = new WeakMap<Edition, Promise<WholeFile>>();

function keptDatabase(snapshot: Edition, url: string): Promise<WholeFile> {
  const made = kept.get(snapshot) ?? makeDatabase(snapshot, url);
  kept.set(snapshot, made);
  made.catch(() => kept.delete(snapshot));
  return made;
}

async function makeDatabase(snapshot: Edition, url: string): Promise<WholeFile> {
  const literal = url.replaceAll("'", "''");
  const statements = STATEMENTS.replaceAll('{url}', () => literal).replaceAll('{edition}', snapshot.id);
  const held = await databaseFile(statements, await catalogueTables(snapshot, url));
  return { sha256: hash('sha256', held), bytes: held.length, held };
}

type Rows = DuckDBValue[][];

/** @param url where callers reach the service, without a slash at its end. */
async function catalogueTables(snapshot: Edition, url: string): Promise<DatabaseTable[]> {
  const { indicators } = await snapshot.wholeCatalogue();
  const entries = [...indicators.values()].sort(byId);
  const rowCounts = await snapshot.editions.servedRowCounts();
  const asOf = `as_of=${snapshot.id}`;
  return [
    { name: 'edition', rows: [[snapshot.id, toTimestamp(snapshot.generatedAt), url]] },
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
const toTimestamp = (text: string) => new DuckDBTimestampValue(BigInt(Date.parse(text)) * 1000n);
const toDate = (text: string) => new DuckDBDateValue(Date.parse(text) / DAY_MS);

/** In the order of the columns in sql/catalogue-database.sql, as below; tables of public records have their members. */
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
  return data.map((record) => topicRecord.keyof().options.map((column) => record[column]));
}

const countryRows = ({ countries }: Edition): Rows =>
  countries.map(({ record }) => countryRecord.keyof().options.map((column) => record[column]));

const groupRows = (snapshot: Edition): Rows =>
  [...GROUPS.values()].map((group) => [
    ...[group.id, group.name, listValue(servedMembers(group, snapshot)), group.source],
    toDate(group.as_of),
  ]);
