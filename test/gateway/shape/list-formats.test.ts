/** Free lists as CSV and NDJSON, held against their JSON. */
import { parse } from 'csv-parse/sync';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Service } from '../service.ts';

let service: Service;
beforeAll(async () => {
  service = await Service.start();
});
afterAll(() => service.stop());

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
const inFormat = (path: string, format: string) =>
  service.get(`${path}${path.includes('?') ? '&' : '?'}format=${format}`);

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
    const lines = text.split('\n').slice(0, -1);
    expect(lines.map((line) => JSON.parse(line))).toEqual(data);
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

  test('JSON echoes the format', async () => {
    const plain = (await service.get(path)).json;
    const { json } = await inFormat(path, 'json');
    expect(json).toEqual({ ...plain, meta: { ...plain.meta, format: 'json' } });
  });
});

test('an answer is cached by its format', async () => {
  for (let time = 0; time < 3; time += 1) {
    expect((await inFormat('/v1/topics', 'csv')).text.startsWith('slug,name,')).toBe(true);
    expect((await service.get('/v1/topics')).json.data).toBeInstanceOf(Array);
  }
  const { headers } = await inFormat('/v1/topics', 'csv');
  const again = await service.get('/v1/topics?format=csv', {
    headers: { 'if-none-match': String(headers.etag) },
  });
  expect(again.status).toBe(304);
});

test('another format is 422', async () => {
  const answer = await inFormat('/v1/topics', 'xml');
  expect(answer.status).toBe(422);
  expect(answer.json.detail[0]).toMatchObject({ loc: ['query', 'format'], type: 'literal_error' });
});
