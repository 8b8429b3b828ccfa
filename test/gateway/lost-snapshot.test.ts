/** Files of the open snapshot that disappear while it is served: 503 and a cause, nothing charged, recovery by itself. */
import { mkdtemp, readFile, rename, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { OBJECTS, observationsFile } from '../../data/schema/snapshot.ts';
import { SnapshotFiles, SnapshotUnreadable } from '../../gateway/api/snapshot/files/snapshot-files.ts';
import { QueryRunner, readAllColumns } from '../../gateway/api/snapshot/rows/query-runner.ts';
import { useDirectory } from '../after-tests.ts';
import { readManifest } from './fixture-log.ts';
import { FIXTURE_ID, fixturePath, publishFixture } from './fixture-snapshot.ts';
import { objectSource } from './object-source.ts';
import { PUBLIC_ROUTES } from './public-routes.ts';
import { codeOf, Service, type TestKey } from './service.ts';

let directory: string;
let service: Service;
let owner: TestKey;
const root = await useDirectory();
beforeEach(async () => {
  directory = await mkdtemp(join(root, 'snapshots-'));
  await publishFixture(directory);
  service = await Service.start({ snapshots: directory, settings: { SNAPSHOT_POLL_MS: '1000000' } });
  owner = await service.account();
  return () => service.stop();
});

const DATA = '/v1/data?indicator=alpha.life_expectancy';
const ready = () => service.get('/readyz');
const ask = (path: string) => service.get(path, { key: owner.key });

async function expectUnavailable(path: string): Promise<void> {
  const before = await service.balance(owner);
  const answer = await ask(path);
  expect(answer.status).toBe(503);
  expect(codeOf(answer)).toBe('unavailable');
  expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
  expect(await service.balance(owner)).toBe(before);
}

/** Moves something away; the result brings it back. */
async function moveAway(path: string): Promise<() => Promise<void>> {
  await rename(path, `${path}-gone`);
  return () => rename(`${path}-gone`, path);
}

const LOSSES: [string, () => string][] = [
  ['the stored files', () => join(directory, OBJECTS)],
  ['the directory of all snapshots', () => directory],
];

describe.each(LOSSES)('without %s', (_name, path) => {
  test('a call that needs a file gets 503 and pays nothing, no call gets 500', async () => {
    const restore = await moveAway(path());
    await expectUnavailable(DATA);
    await expectUnavailable('/v1/countries/KEN');
    await expectUnavailable('/v1/rankings/alpha.life_expectancy');
    for (const { path: route } of PUBLIC_ROUTES)
      for (const answer of [await ask(route), await service.get(route)]) expect(answer.status).not.toBe(500);
    await restore();
  });

  test('/readyz is 503 and tells the cause at once, before any call has failed', async () => {
    const restore = await moveAway(path());
    const { status, json } = await ready();
    expect(status).toBe(503);
    expect(json).toEqual({
      status: 'not ready',
      snapshot: FIXTURE_ID,
      redis: true,
      causes: [`The files of snapshot ${FIXTURE_ID} are missing.`],
    });
    expect((await service.get('/healthz')).status).toBe(200);
    await restore();
  });

  test('what is in memory is still served', async () => {
    expect((await ask('/v1/countries/KEN')).status).toBe(200);
    const restore = await moveAway(path());
    for (const route of ['/v1/topics', '/v1/indicators?q=life', '/v1/countries/KEN'])
      expect((await ask(route)).status).toBe(200);
    await restore();
  });

  test('once it is back, calls are served at once and /readyz says so after the next look', async () => {
    const restore = await moveAway(path());
    await service.snapshots.check();
    await expectUnavailable(DATA);
    await service.snapshots.check();
    await restore();
    expect((await ask(DATA)).status).toBe(200);
    await service.snapshots.check();
    expect((await ready()).json).toEqual({ status: 'ready', snapshot: FIXTURE_ID, redis: true });
    expect((await ask(DATA)).status).toBe(200);
  });
});

describe.each([
  ['missing', (file: string) => rm(file)],
  ['cut short', (file: string) => truncate(file, 10)],
  ['replaced by a directory', (file: string) => rm(file).then(() => publishFixture(file))],
])('one file that is %s', (_name, damage) => {
  test('makes its calls 503, all others go on, and /readyz names it', async () => {
    const file = observationsFile('alpha.life_expectancy');
    await damage(await fixturePath(directory, file));
    await expectUnavailable(DATA);
    expect((await ask('/v1/data?indicator=beta.long_series&countries=KEN&from=2000&to=2001')).status).toBe(
      200,
    );
    const { status, json } = await ready();
    expect(status).toBe(503);
    expect(json.causes).toEqual([`The file ${file} of snapshot ${FIXTURE_ID} cannot be read.`]);
  });
});

describe('a read that failed while its file was away is unavailable, even when the file is back', () => {
  const FILE = observationsFile('alpha.life_expectancy');
  const READS: [string, (path: string, queries: QueryRunner) => Promise<unknown>][] = [
    ['of bytes', (path) => readFile(path)],
    ['by a query', (path, queries) => readAllColumns(queries, path)],
  ];
  test.each(READS)('%s', async (_name, read) => {
    const home = join(directory, OBJECTS);
    const queries = await QueryRunner.open(10_000);
    const files = new SnapshotFiles(await readManifest(directory, FIXTURE_ID), objectSource(directory));
    await files.loadLists();
    const reading = files.use([FILE], async ([path = '']) => {
      const restore = await moveAway(home);
      const [outcome] = await Promise.allSettled([read(path, queries)]);
      await restore();
      if (outcome.status === 'rejected') throw outcome.reason;
    });
    await expect(reading).rejects.toThrow(SnapshotUnreadable);
    expect(files.unreadable).toBe(FILE);
    await files.use([FILE], ([path = '']) => read(path, queries));
    queries.close();
  });
});

test('files that come back altered are found before any call asks for them', async () => {
  const file = await fixturePath(directory, observationsFile('beta.long_series'));
  const restore = await moveAway(join(directory, OBJECTS));
  await ready();
  await restore();
  await writeFile(file, 'altered');
  await service.snapshots.check();
  expect((await ready()).status).toBe(503);
  await expectUnavailable('/v1/data?indicator=beta.long_series');
});
