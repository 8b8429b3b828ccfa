import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { takeLock } from '../../build/file-lock.ts';
import { cadenceMs, nightly, nightlyExitCode } from '../../build/nightly.ts';
import { type Series, World } from './world.ts';

const one: Series = {
  cells: [
    ['FRA', 2000, 1],
    ['DEU', 2000, 2],
  ],
};
const HOUR = 3_600_000;

let world: World;
beforeEach(async () => {
  world = await World.create({ atlas: {}, gazette: { cadence: 'annual' }, sample: { sample: true } });
  for (const id of ['atlas', 'gazette', 'sample']) await world.publish(id, { one });
});
afterEach(() => world.remove());

const night = async (options = {}) => {
  const summary = await nightly(await world.dependencies(), options);
  return {
    summary,
    outcomes: Object.fromEntries(summary.providers.map((one) => [one.provider, one.outcome])),
    code: nightlyExitCode(summary),
  };
};

describe('a night', () => {
  it('ingests what is due, builds and publishes once, and leaves samples alone', async () => {
    const { summary, outcomes, code } = await night();
    expect(outcomes).toEqual({ atlas: 'succeeded', gazette: 'succeeded' });
    expect(code).toBe(0);
    expect(await world.shelf.ids()).toEqual([summary.build?.snapshot]);
    expect(summary.build?.counts).toMatchObject({ providers: 2, indicators: 2 });
  });

  it('asks a daily provider every night and a yearly one every week', async () => {
    await night();
    world.clock += 24 * HOUR - 600_000;
    expect((await night()).outcomes).toEqual({ atlas: 'unchanged', gazette: 'not_due' });
    world.clock += 6 * 24 * HOUR;
    expect((await night()).outcomes).toEqual({ atlas: 'unchanged', gazette: 'unchanged' });
    world.clock += HOUR;
    expect((await night()).outcomes).toEqual({ atlas: 'not_due', gazette: 'not_due' });
    expect((await night({ all: true })).outcomes).toEqual({ atlas: 'unchanged', gazette: 'unchanged' });
    expect((await night({ providers: ['gazette'] })).outcomes).toEqual({ gazette: 'unchanged' });
  });

  it('asks a provider whose last run failed again', async () => {
    await night();
    await world.write('mirror/gazette/datapackage.json', 'broken');
    expect((await night({ providers: ['gazette'] })).outcomes).toEqual({ gazette: 'failed' });
    await world.publish('gazette', { one });
    world.clock += 8 * 24 * HOUR;
    expect((await night()).outcomes).toMatchObject({ gazette: 'unchanged' });
  });

  it('is not held up by one bad provider, whose last good figures stay published', async () => {
    await night();
    await world.write('mirror/atlas/datapackage.json', 'broken');
    world.tomorrow();
    const { summary, outcomes, code } = await night();
    expect(outcomes).toMatchObject({ atlas: 'failed' });
    expect(summary.build?.counts).toMatchObject({ providers: 2, indicators: 2 });
    expect(code).toBe(3);
  });

  it('leaves a provider to whoever ingests it at the moment', async () => {
    const lock = await takeLock(world.lake('atlas').lockFile, 'provider atlas');
    const { outcomes, code } = await night();
    expect(outcomes).toEqual({ atlas: 'busy', gazette: 'succeeded' });
    expect(code).toBe(0);
    await lock.release();
  });

  it('says so when nothing could be published', async () => {
    for (const id of ['atlas', 'gazette']) await world.write(`mirror/${id}/datapackage.json`, 'broken');
    const { summary, code } = await night();
    expect(summary).toMatchObject({
      build: null,
      build_error: 'no provider has anything that may be published',
    });
    expect(code).toBe(1);
  });
});

it.each([
  ['daily', 1],
  ['monthly', 7],
  ['several times a year', 7],
  ['annual', 7],
  ['fixed edition', 365],
  [null, 1],
  ['whenever', 1],
])('cadence %j is asked every %d days', (cadence, days) => {
  expect(cadenceMs(cadence)).toBe(days * 24 * HOUR);
});
