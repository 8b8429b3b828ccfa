/** Descriptions of indicators, providers and snapshots: data packages, Croissant, and the DCAT catalogue. */
import { createHash } from 'node:crypto';
import { parse } from 'csv-parse/sync';
import { describe, expect, test } from 'vitest';
import { FIXTURE_ID } from './fixture-snapshot.ts';
import { codeOf, Service, useService } from './service.ts';

const PUBLIC_URL = 'https://almanac.example/';
const LIFE = 'indicators/alpha.life_expectancy';

const service = await useService({ settings: { PUBLIC_URL } });
const owner = await service.account({ credits: 10_000 });

/** What an address of a description gives. */
async function download(address: string) {
  expect(address.startsWith(PUBLIC_URL)).toBe(true);
  const { pathname, search } = new URL(address);
  const answer = await service.get(pathname + search, { key: owner.key });
  expect(answer.status).toBe(200);
  return answer;
}

test.each([
  ['/v1/indicators/none.such/datapackage.json', 'indicator_not_found'],
  ['/v1/providers/none/datapackage.json', 'not_found'],
  ['/v1/editions/20260101T000000Z-00000001/datapackage.json', 'edition_not_found'],
  ['/v1/indicators/alpha.life_expectancy/datapackage.json?as_of=1999-12-31', 'edition_not_found'],
  ['/v1/indicators/none.such/croissant.json', 'indicator_not_found'],
  ['/v1/catalog.jsonld?as_of=1999-12-31', 'edition_not_found'],
])('%s is 404', async (path, code) => {
  const answer = await service.get(path);
  expect([answer.status, codeOf(answer)]).toEqual([404, code]);
});

test('without PUBLIC_URL, addresses are on this machine', async () => {
  await using local = await Service.start({ settings: { PUBLIC_URL: '', PORT: '8123' } });
  const { id, resources } = (await local.get(`/v1/${LIFE}/datapackage.json`)).json;
  const downloads = resources.filter(({ path }: Resource) => path !== undefined);
  expect(downloads).not.toEqual([]);
  const { url, distribution } = await croissant(LIFE, local);
  const { catalogue, dataset } = await readCatalogue(local);
  expect(catalogue['@id']).toBe('http://localhost:8123/v1/catalog.jsonld');
  const [first] = dataset('alpha.life_expectancy').distribution ?? [];
  const addresses = [id, ...downloads.map(({ path }: Resource) => path), url, distribution?.[0]?.contentUrl];
  for (const address of [...addresses, first?.accessURL])
    expect(address).toMatch(/^http:\/\/localhost:8123\/(v1|indicators)\//);
});

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
const resourcesOf = async (path: string): Promise<Record<string, Resource>> => {
  const { json } = await service.get(`/v1/${path}/datapackage.json`);
  return Object.fromEntries(json.resources.map((resource: Resource) => [resource.name, resource]));
};

describe('a data package', () => {
  test('describes the columns of the CSV that it names', async () => {
    const resources = await resourcesOf('indicators/alpha.life_expectancy');
    const { path = '', schema } = resources['alpha.life_expectancy.csv'] ?? expect.fail('no CSV');
    const { text } = await download(path);
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
});

interface FileObject {
  '@id': string;
  contentUrl: string;
  contentSize: string;
  sha256: string;
}
interface RecordSet {
  name: string;
  key: { '@id': string }[];
  field: { '@id': string; name: string; description: string; source: { fileObject: { '@id': string } } }[];
}

const croissant = async (path: string, of = service) => (await of.get(`/v1/${path}/croissant.json`)).json;

/** The file is what its description says. */
async function expectDownload({ contentUrl, contentSize, sha256 }: FileObject): Promise<void> {
  const { bytes } = await download(contentUrl);
  expect(contentSize).toBe(`${bytes.length} B`);
  expect(createHash('sha256').update(bytes).digest('hex')).toBe(sha256);
}

describe('Croissant', () => {
  test('has its file with hash and columns', async () => {
    const { distribution, recordSet } = await croissant('indicators/alpha.life_expectancy');
    expect(distribution).toHaveLength(1);
    await expectDownload(distribution[0]);
    const [{ key, field }] = recordSet as [RecordSet];
    const fields = new Set(field.map((one) => one['@id']));
    for (const part of key) expect(fields).toContain(part['@id']);
    for (const { source } of field) expect(source.fileObject['@id']).toBe(distribution[0]['@id']);
    expect(field.find(({ name }) => name === 'value')?.description).toContain('(years)');
  });

  test('for display only has no file', async () => {
    const json = await croissant('indicators/gamma.reserves');
    expect(json.name).toBe('Foreign reserves');
    expect(json).not.toHaveProperty('distribution');
    expect(json).not.toHaveProperty('recordSet');
  });

  test('a provider has its bundle', async () => {
    const { distribution, variableMeasured } = await croissant('providers/alpha');
    expect(distribution.map((file: FileObject) => file['@id'])).toEqual(['alpha.parquet']);
    await expectDownload(distribution[0]);
    const { meta } = (await service.get('/v1/indicators?provider=alpha')).json;
    expect(variableMeasured).toHaveLength(meta.count);
  });

  test('a snapshot has the bundles of its providers', async () => {
    const { distribution, recordSet } = await croissant(`editions/${FIXTURE_ID}`);
    const ids = distribution.map((file: FileObject) => file['@id']);
    expect(ids).toContain('alpha.parquet');
    expect(recordSet.map(({ name }: RecordSet) => `${name}.parquet`)).toEqual(ids);
    for (const file of distribution) await expectDownload(file);
  });

  test('a licence without an address is named', async () => {
    expect((await croissant('providers/beta')).license).toEqual(['Beta terms']);
  });
});

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

async function readCatalogue(of: Service, query = '') {
  const { json, headers } = await of.get(`/v1/catalog.jsonld${query}`);
  const nodes: Node[] = json['@graph'];
  const catalogue = nodes.find((node) => node['@type'] === 'dcat:Catalog') ?? expect.fail('no catalogue');
  const datasets = catalogue.dataset as Dataset[];
  const dataset = (id: string) =>
    datasets.find(({ identifier }) => identifier === id) ?? expect.fail(`no ${id}`);
  const node = (id: string) => nodes.find((one) => one['@id'] === id) ?? expect.fail(`no ${id}`);
  return { headers, catalogue, datasets, dataset, node };
}

describe('the catalogue', () => {
  test('has a data set for each indicator', async () => {
    const { catalogue, datasets, headers } = await readCatalogue(service);
    const listed = (await service.get('/v1/indicators')).json.data;
    expect(datasets.map(({ identifier }) => identifier)).toEqual(listed.map(({ id }: { id: string }) => id));
    expect(catalogue).toMatchObject({ version: FIXTURE_ID, modified: '2026-11-20T02:00:00+00:00' });
    expect(headers['content-type']).toBe('application/ld+json; charset=utf-8');
  });

  test('a data set has provider, licence, years and a download that works', async () => {
    const { dataset, node } = await readCatalogue(service);
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
      const { headers } = await download(accessURL);
      const type = String(headers['content-type']).split(';')[0];
      expect(mediaType).toBe(`https://www.iana.org/assignments/media-types/${type}`);
      expect(node(mediaType)['@type']).toBe('dct:MediaType');
    }
  });

  test('a display-only indicator has no download, a licence without an address a name', async () => {
    const { dataset, node } = await readCatalogue(service);
    expect(dataset('gamma.reserves')).not.toHaveProperty('distribution');
    const { license } = dataset('beta.life_expectancy');
    expect(license).toMatch(/^https:\/\/almanac\.example\/v1\/catalog\.jsonld#licence-\d+$/);
    expect(node(license)).toMatchObject({ title: 'Beta terms' });
  });

  test('an indicator without figures has no years', async () => {
    const { dataset } = await readCatalogue(service);
    expect(dataset('beta.empty_series')).not.toHaveProperty('temporal');
  });

  test('of an earlier time', async () => {
    expect((await readCatalogue(service, `?as_of=${FIXTURE_ID}`)).catalogue.version).toBe(FIXTURE_ID);
  });
});
