/** Thirty nights over the starter data: what `as_of` answers of each is what was served on it, byte for byte. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SEED } from '../environment.ts';
import { THIRTY_NIGHTS } from './events.ts';
import { figuresOf, replay } from './replay.ts';
import { Simulation } from './simulation.ts';
import { starterSite } from './sites.ts';

const NIGHTS = 30;
const EXTENT = { files: 6, figures: 25, oneFolder: true };
/** Limits only end what hangs. */
const WITHIN_MS = 7_200_000;

/** The rows of every indicator on every night. Which edition answers a date does not depend on what is asked for. */
const EVERY_ROW = { kinds: ['date'], othersOneIn: 8 } as const;

describe('thirty nights over the starter data', { timeout: WITHIN_MS }, () => {
  let simulation: Simulation;
  beforeAll(async () => {
    simulation = new Simulation(await starterSite(), {
      seed: SEED ?? 2026,
      extent: EXTENT,
      events: THIRTY_NIGHTS,
    });
    await simulation.run(NIGHTS);
  }, WITHIN_MS);
  afterAll(() => simulation.remove());

  it('publish editions, of which two are rolled back', () => {
    const { nights } = simulation;
    const served = new Set(nights.map(({ edition }) => edition));
    const taken = nights.flatMap(({ rolledBack }) => (rolledBack ? [rolledBack.edition] : []));
    expect([nights.length, taken.length]).toEqual([NIGHTS, 2]);
    expect(taken.filter((id) => served.has(id))).toEqual([]);
    expect(served.size).toBeGreaterThanOrEqual(NIGHTS / 3);
  });

  it('are answered as they were served, after gc and a restart', async () => {
    await simulation.collectGarbage();
    await simulation.startGateway();
    expect(await simulation.differences({ ...EVERY_ROW, othersOneIn: 2 })).toEqual([]);
  });

  it('are answered so from a backup that was restored elsewhere', async () => {
    await simulation.restoreGateway();
    expect(await simulation.differences(EVERY_ROW)).toEqual([]);
  });

  it('are answered so by a gateway that follows an origin over HTTP', async () => {
    await simulation.followGateway();
    expect(await simulation.differences(EVERY_ROW)).toEqual([]);
  });

  it('lead from the first to the last by their revisions', async () => {
    const { caller, nights } = simulation;
    const first = nights[0]?.edition ?? '';
    const then = await caller.ids(`/v1/indicators?as_of=${first}`, 'id');
    const now = await caller.ids('/v1/indicators', 'id');
    for (const id of new Set([...then, ...now]))
      expect(await replay(caller, id, first), id).toEqual(await figuresOf(caller, id));
  });
});
