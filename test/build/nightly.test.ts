/** The nightly run: due providers, failing providers and exit codes. */
import { beforeEach, describe, expect, it } from 'vitest';
import { cadenceMs, type NightlySummary, nightly, nightlyExitCode } from '../../build/nightly.ts';
import { acquireLock } from '../../data/runtime/file-lock.ts';
import { World } from './world.ts';

const DAY_MS = 86_400_000;
const figures = (value: number, year = 2020) => ({
  one: { cells: ['AFG', 'ALB', 'BRA'].map((place): [string, number, number] => [place, year, value]) },
});

let world: World;
beforeEach(async () => {
  world = await World.ofTest({
    atlas: { cadence: 'daily' },
    globe: { cadence: 'yearly' },
    off: { enabled: false },
  });
  await world.publish('atlas', figures(1));
  await world.publish('globe', figures(2));
});

const night = async (options: Parameters<typeof nightly>[1] = {}): Promise<NightlySummary> =>
  nightly(await world.dependencies(), options);
const outcomes = ({ providers }: NightlySummary): Record<string, string> =>
  Object.fromEntries(providers.map(({ provider, outcome }) => [provider, outcome]));

describe('a nightly run', () => {
  it('ingests providers that are due by their cadence, then publishes once', async () => {
    expect(outcomes(await night())).toEqual({ atlas: 'succeeded', globe: 'succeeded' });
    expect(await world.snapshots.ids()).toHaveLength(1);
    world.clock += DAY_MS;
    const second = await night();
    expect(outcomes(second)).toEqual({ atlas: 'unchanged', globe: 'not_due' });
    expect(second.build?.snapshot).toBe(await world.snapshots.currentId());
    world.clock += 7 * DAY_MS;
    expect(outcomes(await night())).toEqual({ atlas: 'unchanged', globe: 'unchanged' });
    expect(outcomes(await night({ providers: ['globe'] }))).toEqual({ globe: 'unchanged' });
    expect(outcomes(await night({ all: true }))).toEqual({ atlas: 'unchanged', globe: 'unchanged' });
  });

  it('ingests a failed provider again, whatever its cadence', async () => {
    await world.write('mirror/globe/datapackage.json', 'no JSON');
    const first = await night();
    expect(outcomes(first)).toEqual({ atlas: 'succeeded', globe: 'failed' });
    await world.publish('globe', figures(2));
    world.clock += DAY_MS;
    expect(outcomes(await night())).toMatchObject({ globe: 'succeeded' });
  });

  it('publishes the others when one provider fails, and exits 3', async () => {
    await world.write('mirror/globe/datapackage.json', 'no JSON');
    const summary = await night();
    expect(nightlyExitCode(summary)).toBe(3);
    expect(summary.build?.counts.indicators).toBe(1);
    const bad = summary.providers.find(({ provider }) => provider === 'globe');
    expect(bad?.reason).toBeTruthy();
    expect(JSON.parse(JSON.stringify(summary))).toEqual(summary);
  });

  it('publishes the last good run of a held provider', async () => {
    await night();
    world.clock += DAY_MS;
    await world.publish('atlas', figures(1000));
    const summary = await night();
    expect(outcomes(summary)).toMatchObject({ atlas: 'suspicious' });
    expect(nightlyExitCode(summary)).toBe(3);
    expect((await world.lake('atlas').current())?.record.status).toBe('succeeded');
  });

  it('only archives where an origin is followed', async () => {
    await night();
    const id = await world.snapshots.currentId();
    world.clock += 30 * DAY_MS;
    await world.publish('atlas', figures(1.1));
    const { settings, ...rest } = await world.dependencies();
    const mirror = { ...settings, SNAPSHOT_ORIGIN: 'https://storage.example' };
    const summary = await nightly({ ...rest, settings: mirror });
    expect(summary).toMatchObject({ providers: [], build: null, build_error: null });
    expect(nightlyExitCode(summary)).toBe(0);
    expect(await world.snapshots.currentId()).toBe(id);
  });

  it('skips a provider that another process is ingesting', async () => {
    const lock = await acquireLock(world.lake('globe').lockFile, 'provider globe');
    const summary = await night();
    expect(outcomes(summary)).toEqual({ atlas: 'succeeded', globe: 'busy' });
    expect(nightlyExitCode(summary)).toBe(0);
    await lock.release();
  });

  it('waits for a running rebuild', async () => {
    const lock = await acquireLock(world.snapshots.lockFile, 'the snapshot');
    const waiting = night();
    await lock.release();
    expect((await waiting).build).not.toBeNull();
  });

  it('exits 1 when nothing could be published', async () => {
    for (const id of ['atlas', 'globe']) await world.write(`mirror/${id}/datapackage.json`, 'no JSON');
    const summary = await night();
    expect(summary).toMatchObject({ build: null, build_error: expect.any(String) });
    expect(nightlyExitCode(summary)).toBe(1);
  });

  it('continues after one provider is cancelled', async () => {
    const cancelled = new AbortController();
    cancelled.abort(new Error('enough'));
    const summary = await nightly({
      ...(await world.dependencies()),
      signalFor: (subject) => (subject === 'globe' ? cancelled.signal : new AbortController().signal),
    });
    expect(outcomes(summary)).toEqual({ atlas: 'succeeded', globe: 'cancelled' });
    expect(summary.build?.counts.indicators).toBe(1);
  });
});

it.each([
  ['daily', 1],
  ['hourly', 1],
  ['every quarter', 7],
  ['irregular', 7],
  ['fixed', 365],
  [null, 1],
])('a provider with cadence %s is due every %i days', (cadence, days) => {
  expect(cadenceMs(cadence)).toBe(days * DAY_MS);
});
