/** The DCAT catalogue. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { FIXTURE_ID } from './fixture-snapshot.ts';
import { codeOf, Service, type TestKey } from './service.ts';

let service: Service;
let owner: TestKey;
beforeAll(async () => {
  service = await Service.start({ settings: { PUBLIC_URL: 'https://almanac.example/' } });
  owner = await service.account({ credits: 1_000 });
});
afterAll(() => service.stop());

interface Node {
  '@id': string;
  '@type': string;
  [member: string]: unknown;
}
interface Dataset extends Node {
  identifier: string;
  license: string;
  creator: string;
  temporal?: { startDate: string; endDate: string };
  distribution?: { accessURL: string; license: string; mediaType: string }[];
}

async function read(of: Service, query = '') {
  const { json, headers } = await of.get(`/v1/catalog.jsonld${query}`);
  const nodes: Node[] = json['@graph'];
  const catalogue = nodes.find((node) => node['@type'] === 'dcat:Catalog') ?? expect.fail('no catalogue');
  const datasets = catalogue.dataset as Dataset[];
  const dataset = (id: string) =>
    datasets.find(({ identifier }) => identifier === id) ?? expect.fail(`no ${id}`);
  const node = (id: string) => nodes.find((one) => one['@id'] === id) ?? expect.fail(`no ${id}`);
  return { headers, catalogue, datasets, dataset, node };
}

test('has a data set for each indicator', async () => {
  const { catalogue, datasets, headers } = await read(service);
  const listed = (await service.get('/v1/indicators')).json.data;
  expect(datasets.map(({ identifier }) => identifier)).toEqual(listed.map(({ id }: { id: string }) => id));
  expect(catalogue).toMatchObject({ version: FIXTURE_ID, modified: '2026-11-20T02:00:00+00:00' });
  expect(headers['content-type']).toBe('application/ld+json; charset=utf-8');
});

test('a data set has provider, licence, years and a download that works', async () => {
  const { dataset, node } = await read(service);
  const found = dataset('alpha.life_expectancy');
  expect(found).toMatchObject({
    '@id': 'https://almanac.example/v1/indicators/alpha.life_expectancy',
    title: 'Life expectancy',
    rights: { label: 'Alpha Institute, CC BY 4.0' },
    license: 'https://creativecommons.org/licenses/by/4.0/',
  });
  expect(found.description).toContain('Unit: years.');
  expect(node(found.creator)).toMatchObject({ '@type': 'foaf:Agent', name: 'Alpha Institute' });
  expect(node(found.license)).toMatchObject({ '@type': 'dct:LicenseDocument', title: 'CC BY 4.0' });
  const { coverage } = (await service.get('/v1/indicators/alpha.life_expectancy')).json.data;
  expect([found.temporal?.startDate, found.temporal?.endDate]).toEqual(
    [coverage.yr_min, coverage.yr_max].map(String),
  );
  for (const { accessURL, license, mediaType } of found.distribution ?? expect.fail('no download')) {
    expect(license).toBe(found.license);
    const { pathname, search } = new URL(accessURL);
    const { status, headers } = await service.get(pathname + search, { key: owner.key });
    expect(status).toBe(200);
    const type = String(headers['content-type']).split(';')[0];
    expect(mediaType).toBe(`https://www.iana.org/assignments/media-types/${type}`);
    expect(node(mediaType)['@type']).toBe('dct:MediaType');
  }
});

test('a display-only indicator has no download, a licence without an address a name', async () => {
  const { dataset, node } = await read(service);
  expect(dataset('gamma.reserves')).not.toHaveProperty('distribution');
  const { license } = dataset('beta.life_expectancy');
  expect(license).toMatch(/^https:\/\/almanac\.example\/v1\/catalog\.jsonld#licence-\d+$/);
  expect(node(license)).toMatchObject({ title: 'Beta terms' });
});

test('an indicator without figures has no years', async () => {
  const { dataset } = await read(service);
  expect(dataset('beta.empty_series')).not.toHaveProperty('temporal');
});

test('without PUBLIC_URL, addresses are on this machine', async () => {
  const local = await Service.start({ settings: { PUBLIC_URL: '', PORT: '8123' } });
  try {
    const { catalogue, dataset } = await read(local);
    expect(catalogue['@id']).toBe('http://localhost:8123/v1/catalog.jsonld');
    const [first] = dataset('alpha.life_expectancy').distribution ?? [];
    expect(first?.accessURL).toMatch(/^http:\/\/localhost:8123\/v1\//);
  } finally {
    await local.stop();
  }
});

test('of an earlier time', async () => {
  expect((await read(service, `?as_of=${FIXTURE_ID}`)).catalogue.version).toBe(FIXTURE_ID);
  const before = await service.get('/v1/catalog.jsonld?as_of=1999-12-31');
  expect([before.status, codeOf(before)]).toEqual([404, 'edition_not_found']);
});

describe('is linked from', () => {
  const link = (query = '') => `</v1/catalog.jsonld${query}>; rel="describedby"; type="application/ld+json"`;

  test.each([
    ...['/v1/indicators', '/v1/indicators?limit=1', '/v1/indicators?limit=1&include=sources'],
    ...['/v1/indicators?format=csv', '/v1/indicators?format=ndjson', '/v1/indicators/alpha.life_expectancy'],
    ...['/v1/topics', '/v1/meta/freshness', '/v1/meta/coverage', '/v1/editions'],
  ])('%s', async (path) => {
    expect((await service.get(path)).headers.link).toContain(link());
  });

  test('lists of an earlier time, as of then', async () => {
    const { headers } = await service.get(`/v1/indicators?as_of=${FIXTURE_ID}`);
    expect(headers.link).toBe(link(`?as_of=${FIXTURE_ID}`));
  });
});
