/** Rankings as CSV and NDJSON, held against their JSON. */
import { parse } from 'csv-parse/sync';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { codeOf, Service, type TestKey } from '../service.ts';

let service: Service;
let owner: TestKey;
beforeAll(async () => {
  service = await Service.start();
  owner = await service.account({ credits: 100_000 });
});
afterAll(() => service.stop());

const get = (path: string) => service.get(path, { key: owner.key });

/** A cell as CSV writes it. */
const written = (cell: unknown): string => String(cell ?? '');

describe('a ranking', () => {
  const path = '/v1/rankings/alpha.life_expectancy?year=2021';

  test('as CSV names its indicator and year in each row', async () => {
    const { data } = (await get(path)).json;
    const answer = await get(`${path}&format=csv`);
    const [header = [], ...rows] = parse(answer.text, { record_delimiter: '\r\n' });
    expect(header.slice(0, 4)).toEqual(['indicator', 'year', 'rank', 'iso3']);
    expect(rows).toEqual(
      data.map((row: object) => ['alpha.life_expectancy', '2021', ...Object.values(row).map(written)]),
    );
    expect(answer.headers['x-credits-charged']).toBe('1');
    expect(answer.headers['content-disposition']).toBe(
      'attachment; filename="alpha.life_expectancy.2021.csv"',
    );
    expect(answer.headers['x-attribution']).toBe('Alpha Institute, CC BY 4.0');
  });

  test('as NDJSON has the rows of the JSON', async () => {
    const { data } = (await get(path)).json;
    const { text } = await get(`${path}&format=ndjson`);
    const lines = text.trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line))).toEqual(data);
  });

  test('as JSON echoes the format that was sent', async () => {
    const plain = (await get(path)).json;
    const { json } = await get(`${path}&format=json`);
    expect(json).toEqual({ ...plain, meta: { ...plain.meta, format: 'json' } });
  });

  test('without rows is the header', async () => {
    const { text } = await get('/v1/rankings/alpha.life_expectancy?year=1700&format=csv');
    expect(text.split('\r\n')).toHaveLength(2);
  });

  test('of a display-only indicator comes as JSON only', async () => {
    expect((await get('/v1/rankings/gamma.reserves')).status).toBe(200);
    const refused = await get('/v1/rankings/gamma.reserves?format=csv');
    expect([refused.status, codeOf(refused)]).toEqual([403, 'export_restricted']);
    expect(refused.headers['x-credits-charged']).toBe('0');
  });
});
