/** Lists, rankings and profiles of countries as CSV and NDJSON, held against their JSON. */
import { parse } from 'csv-parse/sync';
import { describe, expect, test } from 'vitest';
import { FIXTURE_ID } from '../fixture-snapshot.ts';
import { codeOf, useService } from '../service.ts';

const service = await useService();
const owner = await service.account({ credits: 100_000 });

const LISTS = [
  '/v1/countries',
  '/v1/countries?region=South%20Asia',
  '/v1/groups',
  '/v1/indicators',
  '/v1/indicators?q=life&limit=1',
  '/v1/indicators?include=sources',
  '/v1/topics',
  '/v1/meta/freshness',
  '/v1/meta/coverage',
  '/v1/editions',
  '/v1/changes',
  '/v1/countries?region=Nowhere',
];
const withFormat = (path: string, format: string): string =>
  `${path}${path.includes('?') ? '&' : '?'}format=${format}`;
const inFormat = (path: string, format: string) => service.get(withFormat(path, format));
const get = (path: string, format?: string) =>
  service.get(format === undefined ? path : withFormat(path, format), { key: owner.key });
const linesOf = (text: string): unknown[] =>
  text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line));
const RANKING = '/v1/rankings/alpha.life_expectancy?year=2021';

/** A record with dotted names for nested fields, as text. */
function flat(record: object, prefix = ''): Record<string, string> {
  const entries = Object.entries(record).flatMap(([name, value]) => {
    if (Array.isArray(value)) {
      const isPlain = value.every((one) => typeof one !== 'object');
      return [[prefix + name, isPlain ? value.join(';') : JSON.stringify(value)]];
    }
    if (name === 'changed') return [[name, JSON.stringify(value)]];
    if (typeof value === 'object' && value !== null) return Object.entries(flat(value, `${prefix}${name}.`));
    return [[prefix + name, String(value ?? '')]];
  });
  return Object.fromEntries(entries);
}

describe.each(LISTS)('%s', (path) => {
  test('NDJSON has the records', async () => {
    const { data } = (await service.get(path)).json;
    const { text, headers } = await inFormat(path, 'ndjson');
    expect(headers['content-type']).toBe('application/x-ndjson');
    expect(headers['content-disposition']).toMatch(/^attachment; filename="almanac-[a-z]+\.ndjson"$/);
    expect(linesOf(text)).toEqual(data);
  });

  test('CSV has the records, nested fields dotted', async () => {
    const { data } = (await service.get(path)).json;
    const { text, headers } = await inFormat(path, 'csv');
    expect(headers['content-type']).toBe('text/csv; charset=utf-8');
    expect(headers['content-disposition']).toMatch(/^attachment; filename="almanac-[a-z]+\.csv"$/);
    const rows = parse(text, { columns: true, record_delimiter: '\r\n' });
    expect(rows).toHaveLength(data.length);
    // A nested record that is null has only empty cells.
    for (const [at, record] of data.entries())
      for (const [name, cell] of Object.entries(flat(record)))
        expect((rows[at] as Record<string, string>)[name] ?? '').toBe(cell);
  });
});

test('another format is 422', async () => {
  const answer = await inFormat('/v1/topics', 'xml');
  expect(answer.status).toBe(422);
  expect(answer.json.detail[0]).toMatchObject({ loc: ['query', 'format'], type: 'literal_error' });
});

/** A cell as CSV writes it. */
const written = (cell: unknown): string => String(cell ?? '');

describe('a ranking', () => {
  test('as NDJSON has the rows of the JSON', async () => {
    const { data } = (await get(RANKING)).json;
    expect(linesOf((await get(RANKING, 'ndjson')).text)).toEqual(data);
  });

  test('of a display-only indicator comes as JSON only', async () => {
    expect((await get('/v1/rankings/gamma.reserves')).status).toBe(200);
    const refused = await get('/v1/rankings/gamma.reserves?format=csv');
    expect([refused.status, codeOf(refused)]).toEqual([403, 'export_restricted']);
    expect(refused.headers['x-credits-charged']).toBe('0');
  });
});

type Item = { indicator: string } & Record<string, unknown>;

/** The rows that follow from the JSON form: without indicators that are for display only. */
async function expectedRows({
  data,
}: {
  data: { iso3: string; name: string; topics: Record<string, Item[]> };
}) {
  const { data: listed } = (await service.get('/v1/indicators')).json;
  const records = new Map<string, Record<string, unknown>>(
    listed.map((record: { id: string }) => [record.id, record]),
  );
  return Object.entries(data.topics).flatMap(([topic, items]) =>
    items.flatMap((item) => {
      const { access_tier, licence, licence_url, attribution } = records.get(item.indicator) ?? {};
      const about = { iso3: data.iso3, country: data.name, topic };
      return access_tier === 'display' ? [] : [{ ...about, ...item, licence, licence_url, attribution }];
    }),
  );
}

const PROFILES = [
  '/v1/countries/KEN',
  '/v1/countries/deu',
  '/v1/countries/AFG?topic=trade',
  '/v1/countries/KEN?featured=true',
  `/v1/countries/KEN?as_of=${FIXTURE_ID}`,
  '/v1/countries/KEN?topic=none',
];

test.each(PROFILES)('%s', async (path) => {
  const expected = await expectedRows((await get(path)).json);
  expect(linesOf((await get(path, 'ndjson')).text)).toEqual(expected);
  const csv = await get(path, 'csv');
  const rows = parse(csv.text, { columns: true, record_delimiter: '\r\n' });
  const asText = (row: object) =>
    Object.fromEntries(Object.entries(row).map(([name, cell]) => [name, written(cell)]));
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
