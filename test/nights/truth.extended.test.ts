/** Thirty nights of the starter data. `npm run nights` simulates them over a whole provider mirror. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Simulation } from './simulation.ts';
import { starterSite } from './sites.ts';

const WITHIN_MS = 1_800_000;

describe('thirty nights of the starter data', () => {
  let simulation: Simulation;
  beforeAll(async () => {
    simulation = new Simulation(await starterSite(), { seed: 2026, extent: { files: 6, figures: 12 } });
    await simulation.run(30);
  }, WITHIN_MS);
  afterAll(() => simulation.remove());

  it('publish an edition each, but for quiet ones and those rolled back', () => {
    const editions = simulation.nights.map(({ edition }) => edition);
    expect(new Set(editions).size).toBe(23);
  });

  it(
    'are answered as they were served, after a restart',
    async () => {
      await simulation.startGateway();
      expect(await simulation.differences()).toEqual([]);
    },
    WITHIN_MS,
  );
});
