/**
 * The disk fills up at every point of an ingestion and of a build: the served snapshot stays, the record has the
 * reason, nothing half-written is visible, and work goes on when there is space again.
 */
import { readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { machineFault } from '../../build/runtime/errors.ts';
import type { BuildRun } from '../../data/schema/jobs.ts';
import { Service } from '../gateway/service.ts';
import { mountSmallDisk, type SmallDisk } from './small-disk.ts';
import { checkStoredState } from './stored-state.ts';
import { SHORT, startFaultyUpstream } from './upstream/faulty-upstream.ts';
import { cells, World } from './world.ts';

const SIZE_BYTES = 8_000_000;
const PAGE = 4_096;
/** From none to more than enough: in small steps where records and pointers are written, then in growing ones. */
const FREE = [0, 1, 2, 4, 8, 16, 18, 20, 22, 24, 28, 32, 40, 56, 80, 120, 200, 400, 800].map(
  (pages) => pages * PAGE,
);
/** Values that do not compress, so that the files are larger than the reserve. */
const figures = (edition: number) => ({
  one: { cells: cells(600, (place, year) => Math.sin(place * 1_000 + year + edition)) },
  two: { cells: cells(600, (place, year) => Math.cos(place * 1_000 + year)) },
});
const ROUTES = ['/v1/indicators', '/v1/countries/FRA', '/v1/data?indicator=atlas.one'];

/** Six hundred years of figures from 2000. */
const DEFINITION = { gates: { max_row_drop: 1, max_country_drop: 1 }, future_years: 'observed' };

const probe = mountSmallDisk(join(tmpdir(), `almanac-probe-${process.pid}`), SIZE_BYTES);
probe?.unmount();

describe.skipIf(probe === null)('a disk that fills up (skipped where tmpfs cannot be mounted)', () => {
  let world: World;
  let lake: SmallDisk;
  let snapshots: SmallDisk;
  let service: Service;
  let key: string;
  let before: string[];
  const builds: BuildRun[] = [];

  const answers = () =>
    Promise.all(ROUTES.map(async (route) => (await service.get(route, { key })).bytes.toString('base64')));
  const mount = (directory: string): SmallDisk => {
    const disk = mountSmallDisk(directory, SIZE_BYTES);
    if (!disk) throw new Error('cannot be mounted any more');
    return disk;
  };
  /** Files left by work that ended. */
  const garbage = async (directory: string): Promise<string[]> =>
    (await readdir(directory)).filter((name) => /^\.(building|running|scratch|lock)|\.tmp$/.test(name));
  const checkState = () => checkStoredState(world.settings.LAKE_DIR, world.settings.SNAPSHOT_DIR);

  beforeAll(async () => {
    world = await World.create({ atlas: DEFINITION });
    lake = mount(world.settings.LAKE_DIR);
    snapshots = mount(world.settings.SNAPSHOT_DIR);
    await world.publish('atlas', figures(1));
    await world.ingest('atlas');
    await world.build();
    service = await Service.start({ snapshots: world.settings.SNAPSHOT_DIR });
    ({ key } = await service.account({ credits: 1_000_000 }));
    before = await answers();
  });
  afterAll(async () => {
    await service?.stop();
    lake?.unmount();
    snapshots?.unmount();
    await world?.remove();
  });

  /** Changes what the next build publishes. */
  async function prepareNews(): Promise<void> {
    world.tomorrow();
    await world.define('atlas', { ...DEFINITION, attribution: `Figures of ${new Date(world.clock)}` });
  }

  it('fails the ingestion of a provider', async () => {
    const outcomes: string[] = [];
    for (const [index, free] of FREE.entries()) {
      world.tomorrow();
      await world.publish('atlas', figures(index + 2));
      const current = (await world.lake('atlas').current())?.record.run_id;
      lake.fill(free);
      const ended = await world.ingest('atlas').catch((error: unknown) => error);
      lake.empty();
      const record = ended instanceof Error ? null : (ended as Awaited<ReturnType<World['ingest']>>);
      outcomes.push(record?.status ?? 'none');
      if (record?.status !== 'succeeded') {
        expect(await garbage(world.lake('atlas').directory)).toEqual([]);
        expect(record?.reason ?? machineFault(ended)).toMatch(/^The disk is full: /);
        expect((await world.lake('atlas').current())?.record.run_id).toBe(current);
      }
      await checkState();
    }
    expect(await answers()).toEqual(before);
    expect(new Set(outcomes)).toEqual(new Set(['none', 'failed', 'succeeded']));
    expect(outcomes.filter((outcome) => outcome === 'failed').length).toBeGreaterThan(3);
    world.tomorrow();
    expect(await world.ingest('atlas')).toMatchObject({ status: 'unchanged' });
  });

  it('fails a run whose disk another process fills', async () => {
    const current = (await world.lake('atlas').current())?.record.run_id;
    world.tomorrow();
    await world.publish('atlas', figures(100));
    const log = pino({ level: 'info' }, { write: () => lake.fill(0) });
    const record = await world.ingest('atlas', { log });
    lake.empty();
    expect(record).toMatchObject({ status: 'failed', reason: expect.stringMatching(/^The disk is full: /) });
    expect(await world.lake('atlas').record(record.run_id)).toEqual(record);
    expect((await world.lake('atlas').current())?.record.run_id).toBe(current);
    await checkState();
  });

  it('fails the whole run, not one series, while a file is fetched', async () => {
    const upstream = await startFaultyUpstream();
    upstream.publish(1);
    let asked = 0;
    upstream.setFault({
      name: 'fills the disk',
      status: 'failed',
      reason: /^/,
      respond: (request, response, body) => {
        if (request.url?.includes('two')) {
          asked += 1;
          lake.fill(0);
        }
        response.end(body);
      },
    });
    const mirror = world.settings.PROVIDER_MIRROR;
    world.settings.PROVIDER_MIRROR = upstream.url;
    // If only the series failed, the rest of the run would find space again and succeed.
    const log = pino({ level: 'warn' }, { write: (line) => line.includes('part failed') && lake.empty() });
    const record = await world.ingest('atlas', { upstream: SHORT, log });
    world.settings.PROVIDER_MIRROR = mirror;
    lake.empty();
    await upstream.stop();
    expect(record).toMatchObject({ status: 'failed', reason: expect.stringMatching(/^The disk is full: /) });
    expect(asked).toBe(1);
  });

  /** Builds. @returns the step at which it failed, or null when it published. */
  async function buildOnFullDisk(onStep: (step: string) => void = () => {}): Promise<string | null> {
    const current = await world.snapshots.currentId();
    let at = 'begin';
    const write = (line: string): void => {
      const { step } = JSON.parse(line);
      if (step !== undefined) onStep(step);
      at = step ?? at;
    };
    builds.length = 0;
    const observer = { onBuild: (build: BuildRun) => void builds.push(build) };
    const ended = await world
      .build({ observer, log: pino({ level: 'debug' }, { write }) })
      .catch((error: unknown) => error);
    snapshots.empty();
    await checkState();
    if (!(ended instanceof Error)) return null;
    const reason = expect.stringMatching(/^The disk is full: /);
    expect(machineFault(ended)).toEqual(reason);
    if (builds.length > 0) expect(builds.at(-1)).toMatchObject({ status: 'failed', reason });
    expect(await world.snapshots.currentId()).toBe(current);
    expect(await answers()).toEqual(before);
    expect(await garbage(world.settings.SNAPSHOT_DIR)).toEqual([]);
    return at;
  }

  it('fails a build at any step and keeps the served snapshot', async () => {
    const failedAt: (string | null)[] = [];
    for (const free of FREE) {
      await prepareNews();
      snapshots.fill(free);
      failedAt.push(await buildOnFullDisk());
      if (failedAt.at(-1) === null) break;
    }
    expect(failedAt.at(-1)).toBeNull();
    expect(failedAt).toEqual(expect.arrayContaining(['materialise', 'prerender']));
    await service.snapshots.check();
    before = await answers();
    // Objects, manifest, log and pointer: the disk fills up just before they are written, and between them.
    const PAGE = 4096;
    for (let pages = 0; ; pages += 1) {
      await prepareNews();
      const step = await buildOnFullDisk((name) => name === 'publish' && snapshots.fill(pages * PAGE));
      if (step === null) break;
      expect(step).toBe('publish');
      expect(pages).toBeLessThan(100);
    }
  });
});
