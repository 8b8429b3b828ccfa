/** Data packages of an indicator, a provider and a snapshot. */
import { parse } from 'csv-parse/sync';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { FIXTURE_ID } from './fixture-snapshot.ts';
import { codeOf, Service, type TestKey } from './service.ts';

const PUBLIC_URL = 'https://almanac.example/';

let service: Service;
let owner: TestKey;
beforeAll(async () => {
  service = await Service.start({ settings: { PUBLIC_URL } });
  owner = await service.account({ credits: 1_000 });
});
afterAll(() => service.stop());

interface Field {
  name: string;
  type: string;
  unit?: string;
}
interface Resource {
  name: string;
  path?: string;
  data?: Record<string, unknown>[];
  schema: { fields: Field[]; primaryKey: string[] };
}
const resourcesOf = async (path: string, of = service): Promise<Record<string, Resource>> => {
  const { json } = await of.get(`/v1/${path}/datapackage.json`);
  return Object.fromEntries(json.resources.map((resource: Resource) => [resource.name, resource]));
};

describe('an indicator', () => {
  test('has its title, terms, authors, sources and version', async () => {
    const { json, headers } = await service.get('/v1/indicators/alpha.life_expectancy/datapackage.json');
    expect(headers['x-snapshot']).toBe(FIXTURE_ID);
    expect(json).toMatchObject({
      name: `alpha.life_expectancy-${FIXTURE_ID.toLowerCase()}`,
      title: 'Life expectancy',
      id: `https://almanac.example/v1/indicators/alpha.life_expectancy?as_of=${FIXTURE_ID}`,
      version: FIXTURE_ID,
      created: '2026-11-20T02:00:00+00:00',
      licenses: [
        {
          name: 'CC-BY-4.0',
          path: 'https://creativecommons.org/licenses/by/4.0/',
          title: 'CC BY 4.0',
        },
      ],
      sources: [{ title: 'Registers of 東京', path: 'https://example.org/a?b=ü' }, { title: 'Census' }],
    });
    expect(json.description).toContain('Unit: years.');
    expect(json.contributors[0]).toEqual({ title: 'Alpha Institute', roles: ['author'] });
    expect(json.contributors.at(-1)).toEqual({ title: 'Almanac', roles: ['publisher'] });
  });

  test('describes the columns of the CSV that it names', async () => {
    const resources = await resourcesOf('indicators/alpha.life_expectancy');
    const { path = '', schema } = resources['alpha.life_expectancy.csv'] ?? expect.fail('no CSV');
    expect(path.startsWith(PUBLIC_URL)).toBe(true);
    const { pathname, search } = new URL(path);
    const { text } = await service.get(pathname + search, { key: owner.key });
    const [header = [], first = []] = parse(text, { record_delimiter: '\r\n' });
    expect(schema.fields.map(({ name }) => name)).toEqual(header);
    expect(first[header.indexOf('value')]).toMatch(/^[0-9.]+$/);
    const value = schema.fields.find(({ name }) => name === 'value');
    expect(value).toMatchObject({ type: 'number', unit: 'years' });
  });

  test('for display only has its record and no download', async () => {
    const resources = await resourcesOf('indicators/gamma.reserves');
    expect(Object.keys(resources)).toEqual(['indicators']);
    expect(resources.indicators?.data).toMatchObject([
      { id: 'gamma.reserves', unit: 'US$', access_tier: 'display', 'coverage.yr_max': 2019 },
    ]);
  });

  test.each([
    ['/v1/indicators/none.such/datapackage.json', 'indicator_not_found'],
    ['/v1/providers/none/datapackage.json', 'not_found'],
    ['/v1/editions/20260101T000000Z-00000001/datapackage.json', 'edition_not_found'],
    ['/v1/indicators/alpha.life_expectancy/datapackage.json?as_of=1999-12-31', 'edition_not_found'],
  ])('%s is 404', async (path, code) => {
    const answer = await service.get(path);
    expect([answer.status, codeOf(answer)]).toEqual([404, code]);
  });
});

test('records are described by their columns', async () => {
  const { indicators } = await resourcesOf('providers/beta');
  const names = indicators?.schema.fields.map(({ name }) => name);
  for (const record of indicators?.data ?? []) expect(Object.keys(record)).toEqual(names);
});

test('a provider and a snapshot list their indicators', async () => {
  const listed = async (query: string): Promise<string[]> =>
    (await service.get(`/v1/indicators${query}`)).json.data.map(({ id }: { id: string }) => id);
  const packed = async (path: string) => {
    const { indicators } = await resourcesOf(path);
    return indicators?.data?.map(({ id }) => id);
  };
  expect(await packed('providers/alpha')).toEqual(await listed('?provider=alpha'));
  expect(await packed(`editions/${FIXTURE_ID}`)).toEqual(await listed(''));
});

test('a licence with neither identifier nor address is in the description', async () => {
  const { json } = await service.get('/v1/providers/beta/datapackage.json');
  expect(json).not.toHaveProperty('licenses');
  expect(json.description).toContain('Beta terms');
});

test('without PUBLIC_URL, downloads are on this machine', async () => {
  const local = await Service.start({ settings: { PUBLIC_URL: '', PORT: '8123' } });
  try {
    const { json } = await local.get('/v1/indicators/alpha.life_expectancy/datapackage.json');
    const downloads = json.resources.filter(({ path }: Resource) => path !== undefined);
    expect(downloads).not.toEqual([]);
    for (const address of [json.id, ...downloads.map(({ path }: Resource) => path)])
      expect(address).toMatch(/^http:\/\/localhost:8123\/v1\//);
  } finally {
    await local.stop();
  }
});
