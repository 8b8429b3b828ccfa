/** What `as_of` answers of past nights is what was served on them, byte for byte. */
import { rm } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { backfill } from '../../build/editions/backfill.ts';
import { buildSnapshot } from '../../build/editions/build-snapshot.ts';
import { SEED } from '../environment.ts';
import { ELEVEN_NIGHTS } from './events.ts';
import { figuresOf, replay } from './replay.ts';
import { Simulation } from './simulation.ts';
import { smallSite } from './sites.ts';

const EXTENT = { files: 3, figures: 6 };

describe('eleven nights of three providers', () => {
  let simulation: Simulation;
  beforeAll(async () => {
    simulation = new Simulation(await smallSite(), {
      seed: SEED ?? 17,
      extent: EXTENT,
      events: ELEVEN_NIGHTS,
    });
    await simulation.run(11);
  });
  afterAll(() => simulation.remove());

  it('publish an edition each, but for a night without changes and two that were rolled back', () => {
    const editions = simulation.nights.map(({ edition }) => edition);
    expect(editions[1]).toBe(editions[0]);
    expect(editions.slice(7, 9)).toEqual([editions[6], editions[6]]);
    expect(new Set(editions).size).toBe(8);
  });

  it('are answered as they were served, by date, moment and id', async () => {
    expect(await simulation.differences()).toEqual([]);
  });

  it('are answered so after a restart, too', async () => {
    await simulation.startGateway();
    expect(await simulation.differences({ kinds: ['date'] })).toEqual([]);
  });

  it('are answered so after gc', async () => {
    await simulation.collectGarbage();
    await simulation.startGateway();
    expect(await simulation.differences({ kinds: ['date'] })).toEqual([]);
  });

  it('are answered so from a backup that was restored elsewhere, to the same key', async () => {
    await simulation.restoreGateway();
    expect(await simulation.differences({ kinds: ['date'] })).toEqual([]);
  });

  it('are answered so by a gateway that follows an origin over HTTP', async () => {
    await simulation.followGateway();
    expect(await simulation.differences({ kinds: ['date'] })).toEqual([]);
  });

  it('lead from the first to the last by their revisions', async () => {
    const { caller, nights } = simulation;
    const first = nights[0]?.edition ?? '';
    const then = await caller.ids(`/v1/indicators?as_of=${first}`, 'id');
    const now = await caller.ids('/v1/indicators', 'id');
    for (const id of new Set([...then, ...now])) {
      const figures = await figuresOf(caller, id);
      expect(Object.keys(figures).length > 0, id).toBe(id !== 'atlas.leaving');
      expect(await replay(caller, id, first), id).toEqual(figures);
    }
  });

  it('begin with the first', async () => {
    const { status, bytes } = await simulation.caller.get('/v1/data?indicator=globe.one&as_of=2026-11-20');
    expect([status, JSON.parse(bytes.toString()).error.code]).toEqual([404, 'edition_not_found']);
    expect(bytes.toString()).toContain(simulation.nights[0]?.edition);
  });
});

describe('nights before the first publication', () => {
  let simulation: Simulation;
  beforeAll(async () => {
    const events = { 3: 'quiet', 5: 'withdraw' } as const;
    simulation = new Simulation(await smallSite(), { seed: SEED ?? 3, extent: EXTENT, events });
    // All runs stay whole: nothing else describes a series that was withdrawn.
    Object.assign(simulation.site.settings, { LAKE_KEEP: 100 });
    await simulation.run(5);
    await simulation.stopGateway();
    const { site } = simulation;
    await rm(site.settings.SNAPSHOT_DIR, { recursive: true });
    await rm(site.settings.SIGNING_DIR, { recursive: true });
    site.clock += 864_000_000;
    await buildSnapshot(await site.dependencies());
    await backfill(await site.dependencies());
    site.clock += 86_400_000;
    await buildSnapshot(await site.dependencies());
    await simulation.startGateway();
  });
  afterAll(() => simulation.remove());

  it('are answered as they were served once they are backfilled, withdrawn series included', async () => {
    const found: string[] = [];
    for (const { date, moment, answers } of simulation.nights)
      for (const asOf of [date, moment])
        found.push(...(await simulation.caller.differences(answers, asOf, null)));
    expect(found).toEqual([]);
  });
});
