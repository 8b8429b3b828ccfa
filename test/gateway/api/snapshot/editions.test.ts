/** What open editions read, share and hold, over many of them. */
import { readdir, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  COUNTRIES,
  catalogueFile,
  ENCODING_SUFFIX,
  type LogEntry,
  OBJECTS,
  ROUTE_FILES,
} from '../../../../data/schema/snapshot.ts';
import { QueueFull } from '../../../../gateway/api/core/errors.ts';
import { directoryOfTest } from '../../../after-tests.ts';
import { INDICATORS } from '../../fixture-data.ts';
import { readLog, readManifest, writeLog } from '../../fixture-log.ts';
import { fixturePath, publishFixture, setCurrentSnapshot } from '../../fixture-snapshot.ts';
import { Service } from '../../service.ts';

const idOf = (night: number): string => {
  const day = new Date(Date.UTC(2026, 0, night)).toISOString().slice(0, 10).replaceAll('-', '');
  return `${day}T020000Z-${String(night).padStart(8, '0')}`;
};
const timeOf = (night: number): string =>
  `${new Date(Date.UTC(2026, 0, night, 2)).toISOString().slice(0, 19)}+00:00`;
const CHANGED = 'alpha.life_expectancy';
/** Only one series differs from night to night. */
const seriesOf = (night: number) =>
  INDICATORS.map((indicator) =>
    indicator.id === CHANGED
      ? { ...indicator, rows: [{ iso3: 'KEN', year: 2020, value: night }] }
      : indicator,
  );
const publish = (night: number): Promise<string> =>
  publishFixture(directory, { id: idOf(night), generatedAt: timeOf(night), indicators: seriesOf(night) });

let directory: string;
let service: Service | undefined;
beforeEach(async () => {
  directory = await directoryOfTest();
});
afterEach(async () => {
  await service?.stop();
  service = undefined;
});

async function start(): Promise<Service> {
  service = await Service.start({ snapshots: directory, settings: { SNAPSHOT_POLL_MS: '1000000' } });
  return service;
}

describe('a start', () => {
  test('reads nothing but lists of files, the catalogue and the whole bodies', async () => {
    await publish(1);
    await publish(2);
    const manifest = await readManifest(directory, idOf(2));
    const needed = new Set(
      [...Object.values(manifest.providers), manifest.prerendered].map(({ sha256 }) => sha256),
    );
    const whole = Object.values(ROUTE_FILES).flatMap((name) =>
      ['', ...Object.values(ENCODING_SUFFIX)].map((suffix) => name + suffix),
    );
    const names = [COUNTRIES, ...Object.keys(manifest.providers).map(catalogueFile), ...whole];
    for (const name of names) needed.add(basename(await fixturePath(directory, name, idOf(2))));
    const all = await readdir(join(directory, OBJECTS), { recursive: true, withFileTypes: true });
    const others = all.filter((entry) => entry.isFile() && !needed.has(entry.name));
    expect(others.length).toBeGreaterThan(50);
    for (const { parentPath, name } of others) await rm(join(parentPath, name));
    const { snapshots, get } = bound(await start());
    expect(snapshots.current()?.id).toBe(idOf(2));
    expect((await get('/v1/indicators?q=life')).status).toBe(200);
  });

  test('with a hundred editions reads none of the earlier ones', async () => {
    await publish(100);
    const [served] = await readLog(directory);
    if (served === undefined) throw new Error('the log is empty');
    const earlier = Array.from({ length: 99 }, (_, at): LogEntry => {
      const night = at + 1;
      const base = night === 1 ? null : idOf(night - 1);
      return { ...served, edition: idOf(night), published_at: timeOf(night), base };
    });
    await writeLog(directory, [...earlier, { ...served, base: idOf(99) }]);
    const { snapshots, get } = bound(await start());
    const editions = snapshots.current()?.editions;
    expect(editions?.chain.map(({ edition }) => edition)).toEqual(
      Array.from({ length: 100 }, (_, at) => idOf(at + 1)),
    );
    expect((await get('/readyz')).status).toBe(200);
    // Their manifests are not there at all.
    expect((await get('/v1/indicators?as_of=2026-02-01')).status).toBe(503);
  });
});

const bound = (running: Service) => ({ snapshots: running.snapshots, get: running.get.bind(running) });

test('editions open one at a time, few stay open, and too many at once are refused', async () => {
  await publish(1);
  await publish(2);
  const [first, second] = await readLog(directory);
  if (first === undefined || second === undefined) throw new Error('the log is too short');
  // The same edition under many ids: opening fails late, at the id of its manifest.
  const ids = Array.from({ length: 80 }, (_, at) => idOf(200 + at));
  await writeLog(directory, [...ids.map((edition) => ({ ...first, edition })), first, second]);
  const { snapshots } = bound(await start());
  const editions = snapshots.current()?.editions;
  if (editions === undefined) throw new Error('no snapshot is open');
  const settled = await Promise.allSettled(ids.map(async (edition) => editions.open({ edition })));
  const refused = settled.filter((one) => one.status === 'rejected' && one.reason instanceof QueueFull);
  expect(refused).toHaveLength(80 - 64);
  expect((await editions.open(first)).id).toBe(idOf(1));
});

test('the editions that a rollback leaves behind answer by id, and dates pass over them', async () => {
  for (const night of [1, 2, 3]) await publish(night);
  await setCurrentSnapshot(directory, idOf(2));
  const { get } = bound(await start());
  const served = async (as_of: string) =>
    (await get(`/v1/indicators?limit=1&as_of=${as_of}`)).headers['x-snapshot'];
  expect(await served('2026-01-31')).toBe(idOf(2));
  expect(await served(idOf(3))).toBe(idOf(3));
});
