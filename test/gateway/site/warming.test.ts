/** Featured pages are rendered before anyone asks: once for each snapshot, at nobody's expense, and no longer than it is served. */
import { EventEmitter, on } from 'node:events';
import { mkdtemp, rm, truncate } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { IndicatorRecord } from '../../../data/schema/records.ts';
import { observationsFile } from '../../../data/schema/snapshot.ts';
import type { WarmingClock } from '../../../gateway/api/http/api/page-warming.ts';
import { Catalogue } from '../../../gateway/api/snapshot/editions/catalogue.ts';
import type { Snapshot } from '../../../gateway/api/snapshot/editions/snapshot.ts';
import { featuredIndicators } from '../../../gateway/site/featured.ts';
import { INDICATORS } from '../fixture-data.ts';
import { FIXTURE_ID, fixturePath, publishFixture } from '../fixture-snapshot.ts';
import { Service, type ServiceOptions } from '../service.ts';

const NEXT_ID = '20261121T020000Z-00000002';
/** Fewer than are rendered at most. */
const IDS = INDICATORS.map(({ id }) => id);
const PATHS = ['/', ...IDS.map((id) => `/indicators/${id}`)];
const NOT_RENDERED = '/indicators/alpha.child_mortality?year=2015';
const RENDERED_MAX = 60;
const PAGE_MS = 7;
const START_REST_MS = 1_000;

/** A rest lasts until the test ends it, and a page takes `PAGE_MS`. */
class HeldClock implements WarmingClock {
  readonly rests: number[] = [];
  /** Ends the last rest. */
  signal: AbortSignal | undefined;
  readonly #events = new EventEmitter();
  readonly #begun = on(this.#events, 'rest');
  #ms = 0;
  #end = (): void => {};

  now(): number {
    this.#ms += PAGE_MS;
    return this.#ms;
  }

  rest(ms: number, signal: AbortSignal): Promise<void> {
    this.rests.push(ms);
    this.signal = signal;
    const { promise, resolve } = Promise.withResolvers<void>();
    signal.addEventListener('abort', () => resolve());
    this.#events.emit('rest', resolve);
    return promise;
  }

  /** Ends the rest that lasts and those after it, until so many more have begun. */
  async pass(rests: number): Promise<void> {
    for (let rest = 0; rest < rests; rest++) {
      this.#end();
      [this.#end] = (await this.#begun.next()).value ?? [];
    }
  }
}

const restsAfter = (pages: number): number[] => new Array<number>(pages).fill(3 * PAGE_MS);

let directory: string;
let clock: HeldClock;
let service: Service | undefined;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'alm-warming-'));
  await publishFixture(directory);
  clock = new HeldClock();
});
afterEach(async () => {
  await service?.stop();
  service = undefined;
  await rm(directory, { recursive: true });
});

async function start(options: ServiceOptions = {}): Promise<Service> {
  const settings = { SNAPSHOT_POLL_MS: '1000000' };
  service = await Service.start({ snapshots: directory, settings, warmingClock: clock, ...options });
  return service;
}

/** Every page with figures asks for an excerpt when it is rendered. */
const watchRendering = ({ snapshots }: Service) => vi.spyOn(snapshots.current() as Snapshot, 'excerpt');
const visit = async (to: Service, path: string) => {
  const { status, headers } = await to.get(path, { headers: { 'accept-encoding': 'gzip, br' } });
  return [path, status, headers['content-encoding'], headers['x-snapshot']];
};

test('they are cached as browsers ask for them, and count in no rate window and no metric', async () => {
  const started = await start();
  await clock.pass(1 + PATHS.length);
  expect(await started.client.keys('*ip*')).toEqual([]);
  expect(await started.metrics.text()).not.toMatch(/route=/);
  const rendering = watchRendering(started);
  for (const path of PATHS) expect(await visit(started, path)).toEqual([path, 200, 'br', FIXTURE_ID]);
  expect(rendering).not.toHaveBeenCalled();
  await visit(started, NOT_RENDERED);
  expect(rendering).toHaveBeenCalled();
  expect(await started.client.keys('*ip*')).not.toEqual([]);
});

test('featured and preferred indicators come first, and there are not too many', async () => {
  const started = await start();
  const { catalogue } = started.snapshots.current() as Snapshot;
  const entries = [...catalogue.indicators.values()].flatMap((entry) =>
    Array.from({ length: RENDERED_MAX }, (_, copy) => {
      const { record } = entry;
      return {
        ...entry,
        record: { ...record, id: `${record.id}.${copy}`, preferred: false, featured: copy === 7 },
      };
    }),
  );
  const many = featuredIndicators(new Catalogue('', [], entries));
  expect(many).toHaveLength(RENDERED_MAX);
  expect(many.findIndex(({ featured }) => !featured)).toBe(INDICATORS.length);
  const isChosen = ({ featured, preferred }: IndicatorRecord) => featured || preferred;
  const few = featuredIndicators(catalogue).map(isChosen);
  expect(few).toEqual(few.toSorted((a, b) => Number(b) - Number(a)));
  expect(few).toHaveLength(INDICATORS.length);
});

test('a switch ends the round, and the pages of the new snapshot follow', async () => {
  const started = await start();
  await clock.pass(2);
  await publishFixture(directory, { id: NEXT_ID });
  await started.snapshots.check();
  await clock.pass(1 + PATHS.length);
  const rendering = watchRendering(started);
  for (const path of PATHS) expect((await visit(started, path))[3]).toBe(NEXT_ID);
  expect(rendering).not.toHaveBeenCalled();
  expect(clock.rests).toEqual([START_REST_MS, ...restsAfter(1), 0, ...restsAfter(PATHS.length)]);
});

test('a page that fails is logged, and the others are rendered', async () => {
  const lines = new PassThrough();
  const [lost = '', ...kept] = IDS;
  await truncate(await fixturePath(directory, observationsFile(lost)), 10);
  const started = await start({ log: pino({ level: 'warn' }, lines) });
  await clock.pass(1 + PATHS.length);
  const rendering = watchRendering(started);
  for (const id of kept) expect((await visit(started, `/indicators/${id}`))[1]).toBe(200);
  expect(rendering).not.toHaveBeenCalled();
  lines.end();
  const logged = (await text(lines))
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  const failed = logged.filter(({ msg }) => msg === 'featured page was not rendered');
  expect(failed.map(({ page }) => page.parameters.indicator_id ?? '/')).toContain(lost);
});

test('a gateway that closes ends the round', async () => {
  const started = await start();
  await clock.pass(2);
  await started.stop();
  service = undefined;
  expect([clock.rests, clock.signal?.aborted]).toEqual([[START_REST_MS, ...restsAfter(1)], true]);
});
