/** `sparklines.json`: compared with a plain recomputation from the figures that were ingested. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SPARKLINES, type Sparklines } from '../../../data/schema/snapshot.ts';
import { SEED } from '../../environment.ts';
import { type Cell, cells, World } from '../world.ts';

const YEARS = 25;
const [figures = []] = fc.sample(
  fc.array(fc.option(fc.double({ min: -1e6, max: 1e6, noNaN: true }), { freq: 4 }), {
    minLength: 10 * YEARS,
    maxLength: 10 * YEARS,
  }),
  { seed: SEED ?? 19, numRuns: 1 },
);
/** A few missing figures, and one place without a change. `cells` counts years from 0. */
const published: Cell[] = cells(YEARS, (place, year) =>
  place === 0 ? 7 : (figures[place * YEARS + year] ?? Number.NaN),
).filter(([, , value]) => !Number.isNaN(value));
const codeOf = (place: string): string => (place === 'kos' ? 'XKX' : place.trim().toUpperCase());

const world = await World.use({ atlas: {} });
await world.write('data/overlay/atlas.csv', 'slug,featured\nuse,true\n');
await world.publish('atlas', {
  use: { name: 'Energy use', unit: 'kWh', cells: published },
  other: { name: 'Other', cells: cells(3) },
});
await world.ingest('atlas');
await world.build();
const { directory } = await world.served();
const sparklines: Sparklines = JSON.parse(await readFile(join(directory, SPARKLINES), 'utf8'));

describe('sparklines', () => {
  it('are of featured series only', () => {
    const ids = new Set(Object.values(sparklines).flatMap((country) => Object.keys(country)));
    expect([...ids]).toEqual(['atlas.use']);
  });

  it('hold each observed value between the least and the greatest one, and a gap for each missing one', () => {
    const histories = Map.groupBy(published, ([place]) => codeOf(place));
    expect(histories.size).toBe(10);
    for (const [place, cellsOfPlace] of histories) {
      const values = new Map(cellsOfPlace.map(([, year, value]) => [Number(year), Number(value)]));
      const least = Math.min(...values.values());
      const span = Math.max(...values.values()) - least;
      const from = Math.min(...values.keys());
      const to = Math.max(...values.keys());
      const heights = Array.from({ length: to - from + 1 }, (_, at) => {
        const value = values.get(from + at);
        if (value === undefined) return null;
        return span === 0 ? 50 : Math.round(99 * ((value - least) / span));
      });
      expect([place, sparklines[place]?.['atlas.use']]).toEqual([place, { from, heights }]);
    }
  });
});
