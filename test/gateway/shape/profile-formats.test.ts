/** A country profile as CSV and NDJSON, held against its JSON. */
import { parse } from 'csv-parse/sync';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { FIXTURE_ID } from '../fixture-snapshot.ts';
import { Service, type TestKey } from '../service.ts';

let service: Service;
let owner: TestKey;
let records: Map<string, Record<string, unknown>>;
beforeAll(async () => {
  service = await Service.start();
  owner = await service.account({ credits: 1_000 });
  const { data } = (await service.get('/v1/indicators')).json;
  records = new Map(data.map((record: { id: string }) => [record.id, record]));
});
afterAll(() => service.stop());

const get = (path: string) => service.get(path, { key: owner.key });

type Item = { indicator: string } & Record<string, unknown>;

/** The rows that follow from the JSON form: without indicators that are for display only. */
function expectedRows({ data }: { data: { iso3: string; name: string; topics: Record<string, Item[]> } }) {
  return Object.entries(data.topics).flatMap(([topic, items]) =>
    items.flatMap((item) => {
      const { access_tier, licence, licence_url, attribution } = records.get(item.indicator) ?? {};
      const about = { iso3: data.iso3, country: data.name, topic };
      return access_tier === 'display' ? [] : [{ ...about, ...item, licence, licence_url, attribution }];
    }),
  );
}

const PATHS = [
  '/v1/countries/KEN?',
  '/v1/countries/deu?',
  '/v1/countries/AFG?topic=trade&',
  '/v1/countries/KEN?featured=true&',
  `/v1/countries/KEN?as_of=${FIXTURE_ID}&`,
  '/v1/countries/KEN?topic=none&',
];

test.each(PATHS)('%s', async (path) => {
  const expected = expectedRows((await get(path)).json);
  const ndjson = await get(`${path}format=ndjson`);
  const lines = ndjson.text.split('\n').slice(0, -1);
  expect(lines.map((line) => JSON.parse(line))).toEqual(expected);

  const csv = await get(`${path}format=csv`);
  const rows = parse(csv.text, { columns: true, record_delimiter: '\r\n' });
  const asText = (row: object) =>
    Object.fromEntries(Object.entries(row).map(([name, cell]) => [name, String(cell ?? '')]));
  expect(rows).toEqual(expected.map(asText));
  expect(csv.headers['x-credits-charged']).toBe('1');
  expect(csv.headers['content-disposition']).toMatch(/^attachment; filename="(KEN|DEU|AFG)\.profile\.csv"$/);
});

test('an indicator for display only is in the JSON alone', async () => {
  const { json } = await get('/v1/countries/DEU');
  expect(JSON.stringify(json)).toContain('gamma.reserves');
  const { text } = await get('/v1/countries/DEU?format=csv');
  expect(text).toContain('alpha.life_expectancy');
  expect(text).not.toContain('gamma.reserves');
  const { rows } = (await get('/v1/countries/DEU?format=csv&dry_run=true')).json.data;
  expect(text.split('\r\n')).toHaveLength(rows + 2);
});

test('JSON echoes the format', async () => {
  for (const path of ['/v1/countries/KEN?', '/v1/countries/KEN?topic=health&']) {
    const plain = (await get(path)).json;
    const { json } = await get(`${path}format=json`);
    expect(json).toEqual({ ...plain, meta: { ...plain.meta, format: 'json' } });
  }
});
