/** Following the published pointer: switching, refusing what is damaged, going without, and never mixing two. */
import { existsSync } from 'node:fs';
import { appendFile, mkdtemp, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { catalogueFile, manifestPath, OBJECTS, objectPath, ROUTE_FILES } from '../../data/schema/snapshot.ts';
import { useDirectory } from '../after-tests.ts';
import { movedBy } from './fixture-data.ts';
import { readManifest } from './fixture-log.ts';
import {
  FIXTURE_ID,
  fixturePath,
  publishFixture,
  setCurrentSnapshot,
  writeFixture,
} from './fixture-snapshot.ts';
import { PUBLIC_ROUTES } from './public-routes.ts';
import { codeOf, Service } from './service.ts';

const root = await useDirectory();
const emptyDirectory = () => mkdtemp(join(root, 'snapshots-'));

const FIRST = '20261120T020000Z-00000001';
const SECOND = '20261121T020000Z-00000002';
const SECOND_TIME = '2026-11-21T02:00:00+00:00';

/** The second snapshot: every value of the first, plus 1,000, and another catalogue. */
const shifted = movedBy(1000).map((one) => ({ ...one, description: `${one.description ?? ''} Revised.` }));
const publishSecond = (directory: string) =>
  writeFixture(directory, { id: SECOND, generatedAt: SECOND_TIME, indicators: shifted });

/** Starts on a directory; the pointer is looked at when a test says so. */
async function startOn(directory: string, pollMs = '1000000'): Promise<Service> {
  const service = await Service.start({ snapshots: directory, settings: { SNAPSHOT_POLL_MS: pollMs } });
  onTestFinished(() => service.stop());
  return service;
}

describe('switching', () => {
  test.each([
    '/v1/topics',
    '/v1/indicators',
    '/v1/indicators?q=life',
    '/v1/indicators/alpha.life_expectancy',
  ])('a new snapshot is served from the next request on, and a rollback likewise: %s', async (path) => {
    const directory = await emptyDirectory();
    await publishFixture(directory);
    await publishSecond(directory);
    const { get, snapshots } = await startOn(directory);
    const told = async () => {
      const { headers, json } = await get(path);
      return [headers['x-snapshot'], json.meta.generated_at === SECOND_TIME];
    };
    for (const id of [FIRST, SECOND, FIRST]) {
      await setCurrentSnapshot(directory, id);
      await snapshots.check();
      for (let time = 0; time < 3; time++) expect(await told()).toEqual([id, id === SECOND]);
    }
  });

  test('follows the pointer by polling', async () => {
    const directory = await emptyDirectory();
    await publishFixture(directory);
    const { get } = await startOn(directory, '5');
    await publishSecond(directory);
    await setCurrentSnapshot(directory, SECOND);
    await expect.poll(async () => (await get('/v1/topics')).headers['x-snapshot']).toBe(SECOND);
  });

  test('under load, no request fails and no answer mixes two snapshots', async () => {
    const directory = await emptyDirectory();
    await publishFixture(directory);
    await publishSecond(directory);
    const running = await startOn(directory);
    const { key } = await running.account({ credits: 10_000_000 });
    const paths = [
      '/v1/data?indicator=beta.long_series',
      '/v1/data?indicator=alpha.life_expectancy&countries=KEN',
      '/v1/rankings/alpha.life_expectancy',
      '/v1/countries/KEN?topic=health',
      '/v1/indicators?q=life',
      '/v1/indicators/alpha.life_expectancy',
    ];
    const whole = new Set<string>();
    for (const id of [SECOND, FIRST]) {
      await setCurrentSnapshot(directory, id);
      await running.snapshots.check();
      for (const path of paths) whole.add(`${id} ${path} ${(await running.get(path, { key })).text}`);
    }
    const seen = new Set<string>();
    let switching = true;
    const client = async (path: string): Promise<void> => {
      while (switching) {
        const answer = await running.get(path, { key });
        const id = String(answer.headers['x-snapshot']);
        seen.add(id);
        expect(whole.has(`${id} ${path} ${answer.text}`)).toBe(true);
      }
    };
    const load = Promise.all([...paths, ...paths].map(client));
    for (let turn = 0; turn < 12; turn += 1) {
      await setCurrentSnapshot(directory, turn % 2 === 0 ? SECOND : FIRST);
      await running.snapshots.check();
      for (let call = 0; call < 5; call += 1) await running.get('/v1/topics');
    }
    switching = false;
    await load;
    expect(seen).toEqual(new Set([FIRST, SECOND]));
  });
});

/** Where a file of the second snapshot is stored. */
const second = (directory: string, name: string) => fixturePath(directory, name, SECOND);
const manifestOf = (directory: string): string => join(directory, manifestPath(SECOND));

describe('a damaged snapshot is refused, and the old one stays', () => {
  const damages: [string, (directory: string) => Promise<void>][] = [
    ['a byte changed', async (at) => flipByte(await second(at, `${ROUTE_FILES.indicators}.zst`))],
    ['a file cut short', async (at) => truncate(await second(at, ROUTE_FILES.topics), 100)],
    ['a file grown', async (at) => appendFile(await second(at, `${ROUTE_FILES.indicators}.br`), 'x')],
    ['a file missing', async (at) => rm(await second(at, `${ROUTE_FILES.countries}.gz`))],
    ['the catalogue changed', async (at) => flipByte(await second(at, catalogueFile('alpha')))],
    ['a list of files missing', async (at) => rm(await prerenderedList(at))],
    ['no manifest', (at) => rm(manifestOf(at))],
    ['a manifest that is no JSON', (at) => writeFile(manifestOf(at), '{')],
    ['a manifest of another snapshot', (at) => editManifest(at, new RegExp(SECOND), FIRST)],
    ['a manifest of another format', (at) => editManifest(at, /"format":2/, '"format":3')],
    [
      'a manifest that is not the one in the log',
      (at) => editManifest(at, /"countries":\d+/, '"countries":1'),
    ],
    ['none of its files', (at) => rm(join(at, OBJECTS), { recursive: true })],
  ];
  test.each(damages)('%s', async (_name, damage) => {
    const directory = await emptyDirectory();
    await publishFixture(directory);
    const running = await startOn(directory);
    const { key } = await running.account();
    for (const { path } of PUBLIC_ROUTES) await running.get(path, { key });
    await publishSecond(directory);
    await damage(directory);
    await setCurrentSnapshot(directory, SECOND);
    await running.snapshots.check();
    expect(running.snapshots.current()?.id).toBe(FIXTURE_ID);
    if (!existsSync(join(directory, OBJECTS))) return;
    for (const { path } of PUBLIC_ROUTES) expect((await running.get(path, { key })).status).toBe(200);
  });

  test.each(['', '../../etc', 'x'.repeat(5_000), '20261121T020000Z-0000000g'])(
    'a pointer that holds %.20j',
    async (text) => {
      const directory = await emptyDirectory();
      await publishFixture(directory);
      const running = await startOn(directory);
      await writeFile(join(directory, 'current'), text);
      await running.snapshots.check();
      expect(running.snapshots.current()?.id).toBe(FIXTURE_ID);
    },
  );

  test('is served once it has been repaired', async () => {
    const directory = await emptyDirectory();
    await publishFixture(directory);
    const running = await startOn(directory);
    await publishSecond(directory);
    const file = await second(directory, ROUTE_FILES.topics);
    const whole = await readFile(file);
    await truncate(file, 10);
    await setCurrentSnapshot(directory, SECOND);
    await running.snapshots.check();
    await writeFile(file, whole);
    for (let look = 0; look < 60; look += 1) await running.snapshots.check();
    expect(running.snapshots.current()?.id).toBe(SECOND);
  });
});

async function flipByte(file: string): Promise<void> {
  const bytes = await readFile(file);
  const middle = bytes.length >> 1;
  bytes[middle] = (bytes[middle] ?? 0) ^ 1;
  await writeFile(file, bytes);
}

async function editManifest(directory: string, from: RegExp, to: string): Promise<void> {
  const file = manifestOf(directory);
  await writeFile(file, (await readFile(file, 'utf8')).replace(from, to));
}

async function prerenderedList(directory: string): Promise<string> {
  const { prerendered } = await readManifest(directory, SECOND);
  return join(directory, objectPath(prerendered.sha256));
}

describe('without a snapshot', () => {
  test('503 unavailable with Retry-After on every public route, keyed or not; health says so', async () => {
    const running = await startOn(await emptyDirectory());
    const owner = await running.account();
    for (const { path } of PUBLIC_ROUTES) {
      for (const options of [{}, { key: owner.key }]) {
        const answer = await running.get(path, options);
        expect(answer.status).toBe(503);
        expect(codeOf(answer)).toBe('unavailable');
        expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
        expect(answer.headers['cache-control']).toBe('no-store');
      }
    }
    expect((await running.get('/healthz')).status).toBe(200);
    const ready = await running.get('/readyz');
    expect(ready.status).toBe(503);
    expect(ready.json).toEqual({
      status: 'not ready',
      snapshot: null,
      redis: true,
      causes: ['No snapshot is open.'],
    });
    expect(await running.balance(owner)).toBe(1000);
  });

  test('serves the first snapshot that is published', async () => {
    const directory = await emptyDirectory();
    const running = await startOn(directory);
    await publishFixture(directory);
    await running.snapshots.check();
    expect((await running.get('/v1/topics')).status).toBe(200);
    expect((await running.get('/readyz')).json).toEqual({ status: 'ready', snapshot: FIRST, redis: true });
  });
});
