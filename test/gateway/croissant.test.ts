/** Croissant of an indicator, a provider and a snapshot. */
import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { FIXTURE_ID } from './fixture-snapshot.ts';
import { codeOf, Service, type TestKey } from './service.ts';

let service: Service;
let owner: TestKey;
beforeAll(async () => {
  service = await Service.start({ settings: { PUBLIC_URL: 'https://almanac.example/' } });
  owner = await service.account({ credits: 10_000 });
});
afterAll(() => service.stop());

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

const read = async (path: string, of = service) => (await of.get(`/v1/${path}/croissant.json`)).json;

/** The file is what its description says. */
async function expectDownload({ contentUrl, contentSize, sha256 }: FileObject): Promise<void> {
  const { pathname, search } = new URL(contentUrl);
  const { status, bytes } = await service.get(pathname + search, { key: owner.key });
  expect(status).toBe(200);
  expect(contentSize).toBe(`${bytes.length} B`);
  expect(createHash('sha256').update(bytes).digest('hex')).toBe(sha256);
}

describe('an indicator', () => {
  test('has terms, authors, years, unit and how to cite it', async () => {
    const { headers } = await service.get('/v1/indicators/alpha.life_expectancy/croissant.json');
    expect(headers['content-type']).toBe('application/ld+json; profile="http://mlcommons.org/croissant/1.1"');
    const json = await read('indicators/alpha.life_expectancy');
    const { coverage } = (await service.get('/v1/indicators/alpha.life_expectancy')).json.data;
    expect(json).toMatchObject({
      '@type': 'sc:Dataset',
      conformsTo: 'http://mlcommons.org/croissant/1.1',
      name: 'Life expectancy',
      url: `https://almanac.example/v1/indicators/alpha.life_expectancy?as_of=${FIXTURE_ID}`,
      license: ['https://creativecommons.org/licenses/by/4.0/'],
      publisher: { name: 'Almanac' },
      version: FIXTURE_ID,
      temporalCoverage: `${coverage.yr_min}/${coverage.yr_max}`,
      variableMeasured: [{ propertyID: 'alpha.life_expectancy', unitText: 'years' }],
    });
    expect(json.creator[0]).toMatchObject({ '@type': 'sc:Organization', name: 'Alpha Institute' });
    expect(json.citeAs).toBe((await service.get('/v1/indicators/alpha.life_expectancy/citation.bib')).text);
  });

  test('has its file with hash and columns', async () => {
    const { distribution, recordSet } = await read('indicators/alpha.life_expectancy');
    expect(distribution).toHaveLength(1);
    await expectDownload(distribution[0]);
    const [{ key, field }] = recordSet as [RecordSet];
    const fields = new Set(field.map((one) => one['@id']));
    for (const part of key) expect(fields).toContain(part['@id']);
    for (const { source } of field) expect(source.fileObject['@id']).toBe(distribution[0]['@id']);
    expect(field.find(({ name }) => name === 'value')?.description).toContain('(years)');
  });

  test('for display only has no file', async () => {
    const json = await read('indicators/gamma.reserves');
    expect(json.name).toBe('Foreign reserves');
    expect(json).not.toHaveProperty('distribution');
    expect(json).not.toHaveProperty('recordSet');
  });

  test('that is not there is 404', async () => {
    const answer = await service.get('/v1/indicators/none.such/croissant.json');
    expect([answer.status, codeOf(answer)]).toEqual([404, 'indicator_not_found']);
  });
});

test('a provider has its bundle', async () => {
  const { distribution, variableMeasured } = await read('providers/alpha');
  expect(distribution.map((file: FileObject) => file['@id'])).toEqual(['alpha.parquet']);
  await expectDownload(distribution[0]);
  const { meta } = (await service.get('/v1/indicators?provider=alpha')).json;
  expect(variableMeasured).toHaveLength(meta.count);
});

test('a snapshot has the bundles of its providers', async () => {
  const { distribution, recordSet } = await read(`editions/${FIXTURE_ID}`);
  const ids = distribution.map((file: FileObject) => file['@id']);
  expect(ids).toContain('alpha.parquet');
  expect(recordSet.map(({ name }: RecordSet) => `${name}.parquet`)).toEqual(ids);
  for (const file of distribution) await expectDownload(file);
});

test('a licence without an address is named', async () => {
  expect((await read('providers/beta')).license).toEqual(['Beta terms']);
});

test('without PUBLIC_URL, files are on this machine', async () => {
  const local = await Service.start({ settings: { PUBLIC_URL: '', PORT: '8123' } });
  try {
    const { url, distribution } = await read('indicators/alpha.life_expectancy', local);
    for (const address of [url, distribution?.[0]?.contentUrl])
      expect(address).toMatch(/^http:\/\/localhost:8123\/v1\//);
  } finally {
    await local.stop();
  }
});
