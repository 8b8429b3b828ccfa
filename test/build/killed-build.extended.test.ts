/** A build killed at any point leaves the old snapshot serving, and the next build works. */
import { readdir } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Kill, runBuild } from './build-child.ts';
import { checkStoredState } from './stored-state.ts';
import { makeSeries, type Series, World } from './world.ts';

const series = (edition: number): Record<string, Series> => ({
  one: makeSeries(['FRA', 2000, edition], ['DEU', 2000, 2]),
  two: makeSeries(['FRA', 2000, 1], ['USA', 2001, edition]),
});

describe('a killed build', () => {
  let world: World;
  let edition = 1;
  beforeAll(async () => {
    world = await World.create({ atlas: { gates: { max_row_drop: 1, max_country_drop: 1 } } });
    await publishEdition();
    await run();
  });
  afterAll(() => world.remove());

  async function publishEdition(): Promise<void> {
    edition += 1;
    world.tomorrow();
    await world.publish('atlas', series(edition));
  }

  const run = (kill: Kill = {}) => runBuild(world, 'build', kill);

  /** Everything that the log names is there, and the served snapshot stands in it. */
  async function expectIntact(): Promise<void> {
    await checkStoredState(world.settings.LAKE_DIR, world.settings.SNAPSHOT_DIR);
  }

  async function expectNextBuildWorks(): Promise<void> {
    await publishEdition();
    expect(await run()).toMatchObject({ code: 0, signal: null });
    await expectIntact();
    const names = await readdir(world.settings.SNAPSHOT_DIR);
    expect(names.filter((name) => name.startsWith('.'))).toEqual([]);
    const lake = await readdir(world.lake('atlas').directory);
    expect(lake.filter((name) => name.startsWith('.'))).toEqual([]);
    expect((await world.body('routes/countries/FRA.json')).data).toMatchObject({
      topics: { economy: [{ indicator: 'atlas.one', value: edition }, { indicator: 'atlas.two' }] },
    });
  }

  it('at every third output line, leaves the old snapshot serving and the next build working', async () => {
    await publishEdition();
    const { lines: printed } = await run();
    expect(printed.at(-1)).toMatch(/done$/);
    // Every third line and the last ones; the next test kills at other times.
    const lines = printed
      .map((_, index) => index + 1)
      .filter((line) => line % 3 === 1 || line >= printed.length - 2);
    let kills = 0;
    for (const line of lines) {
      await publishEdition();
      const before = await world.snapshots.currentId();
      const killed = await run({ line });
      // The number of progress lines depends on timing: a run with fewer lines ends by itself.
      if (killed.signal === 'SIGKILL') kills += 1;
      else expect(killed, `line ${line}`).toMatchObject({ code: 0, signal: null });
      if (killed.signal === null) expect(killed.lines.length).toBeLessThan(line);
      await expectIntact();
      const isPublished = killed.lines.some((line) => line.includes('snapshot published'));
      if (!isPublished && line < printed.length - 2) expect(await world.snapshots.currentId()).toBe(before);
    }
    expect(kills).toBeGreaterThanOrEqual(lines.length - 3);
    await expectNextBuildWorks();
  });

  it.each([
    ['the first object', 'snapshots/objects/'],
    ['the manifest', 'snapshots/editions/'],
    ['the log', 'snapshots/log.json'],
    ['the pointer', 'snapshots/current'],
  ])('just before %s, leaves the old snapshot serving and the next build working', async (_, before) => {
    await publishEdition();
    const served = await world.snapshots.currentId();
    const { editions: earlier } = await world.snapshots.log();
    expect(await run({ before })).toMatchObject({ code: null, signal: 'SIGKILL' });
    await expectIntact();
    expect(await world.snapshots.currentId()).toBe(served);
    const { editions: left } = await world.snapshots.log();
    expect(left.slice(0, earlier.length)).toEqual(earlier);
    expect(left.length - earlier.length).toBe(before === 'snapshots/current' ? 1 : 0);
    // The same night again: what was never served is not the base of what follows.
    world.clock += 60_000;
    expect(await run()).toMatchObject({ code: 0, signal: null });
    await expectIntact();
    const { editions } = await world.snapshots.log();
    expect(editions.at(-1)).toMatchObject({ edition: await world.snapshots.currentId(), base: served });
    await expectNextBuildWorks();
  });

  it('at arbitrary times, leaves the old snapshot serving and the next build working', async () => {
    for (const after_ms of [150, 250, 350, 450, 550, 650, 750, 850]) {
      await publishEdition();
      await run({ after_ms });
      await expectIntact();
    }
    await expectNextBuildWorks();
  });
});
