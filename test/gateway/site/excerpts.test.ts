/** What a page shows first comes from a small file that the build made: it has the rows of the series, and says the same. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { excerptFile } from '../../../data/schema/snapshot.ts';
import type { Snapshot } from '../../../gateway/api/snapshot/editions/snapshot.ts';
import { type Cell, SERVED, World } from '../../build/world.ts';
import { SEED } from '../../environment.ts';
import { useService } from '../service.ts';
import { sectionOf, valuesOf } from './page-text.ts';

const FROM = 2005;
/** Some of them after the year of the build. */
const YEARS = 26;
const COUNT = SERVED.length * YEARS;
const [figures = []] = fc.sample(
  fc.array(fc.option(fc.double({ min: -1e9, max: 1e9, noNaN: true }), { freq: 5 }), {
    minLength: COUNT,
    maxLength: COUNT,
  }),
  { seed: SEED ?? 23, numRuns: 1 },
);

const cellsOf = (value: (place: number, year: number) => number | null, places = SERVED): Cell[] =>
  places.flatMap((iso3, place) =>
    Array.from(
      { length: YEARS },
      (_, at): Cell => [iso3.toLowerCase(), FROM + at, value(place, at) ?? ''],
    ).filter(([, , text]) => text !== ''),
  );
const random = (seed: number) => (place: number, at: number) =>
  figures[(place * YEARS + at + seed) % COUNT] ?? null;
const notWellKnown = SERVED.filter((iso3) => !['KEN', 'BRA', 'IND'].includes(iso3));

const ALL = ['atlas.free', 'atlas.tied', 'atlas.small', 'atlas.forecast', 'globe.shown'];

const served = (): Snapshot => service.snapshots.current() as Snapshot;

async function night(revision: number): Promise<void> {
  await world.publish('atlas', {
    free: { cells: cellsOf((place, at) => (random(0)(place, at) ?? 0) + revision) },
    tied: { cells: cellsOf((place, at) => (at % 3 === 0 ? place % 2 : 5), notWellKnown) },
    small: { cells: cellsOf((place, at) => random(77)(place, at) ?? 1, ['KEN', 'FRA']) },
    forecast: { cells: cellsOf(random(5)).filter(([, year]) => Number(year) > 2027) },
  });
  await world.publish('globe', { shown: { cells: cellsOf(random(9)) } });
  await world.publish('hidden', { secret: { cells: cellsOf(random(3)) } });
  for (const provider of ['atlas', 'globe', 'hidden'])
    expect(await world.ingest(provider)).toMatchObject({ status: 'succeeded', reason: null });
  await world.build();
}

const projected_from = 2027;
const world = await World.use({
  atlas: { projected_from },
  globe: { projected_from, access_tier: 'display' },
  hidden: { projected_from, redistributable: false },
});
await night(0);
const service = await useService({ snapshots: world.settings.SNAPSHOT_DIR });
const owner = await service.account({ credits: 1_000_000 });

let pages = 0;
/** Rendered anew: an answer is kept when its URL is asked for again. */
async function page(path: string): Promise<string> {
  pages += 1;
  const { status, text } = await service.get(`${path}${path.includes('?') ? '&' : '?'}surplus=${pages}`);
  expect([path, status]).toEqual([path, 200]);
  return text;
}

const rankingOf = (html: string): number[] =>
  valuesOf(/<tbody>.*<\/tbody>/s.exec(sectionOf(html, 'ranking'))?.[0] ?? '');

test('there is an excerpt of each published series, and of no other', () => {
  const names = Object.keys(served().files.prerendered).filter((name) => name.startsWith('excerpts/'));
  expect(names.sort()).toEqual(ALL.map(excerptFile).sort());
});

/** Whether reading a page reads a series. */
async function readsSeries(path: string): Promise<boolean> {
  const { counts } = served().observations;
  const before = counts.hits + counts.misses;
  await page(path);
  return counts.hits + counts.misses > before;
}

describe('the page of an indicator', () => {
  test('reads no series for what it shows first, and neither do its pictures', async () => {
    for (const id of ALL)
      for (const part of ['', '/map.svg', '/lines.svg', '/bars.svg'])
        expect([id, part, await readsSeries(`/indicators/${id}${part}`)]).toEqual([id, part, false]);
    expect(await readsSeries('/indicators/atlas.free?year=2015')).toBe(true);
    expect(await readsSeries('/indicators/atlas.free?countries=FRA,DEU')).toBe(true);
  });

  test('says the same as without an excerpt', async () => {
    const paths = ALL.flatMap((id) =>
      ['', '/map.svg', '/lines.svg', '/bars.svg'].map((part) => `/indicators/${id}${part}`),
    );
    const texts = () => Promise.all(paths.map(page));
    const first = await texts();
    const store = served();
    const read = store.excerpt;
    store.excerpt = async () => null;
    try {
      expect(await readsSeries('/indicators/atlas.free')).toBe(true);
      expect(await texts()).toEqual(first);
    } finally {
      store.excerpt = read;
    }
  });

  test('has the figures of the new edition after a night that revised it', async () => {
    const shown = async () => rankingOf(await page('/indicators/atlas.free'));
    const excerpts = () => ALL.map((id) => served().files.prerendered[excerptFile(id)]?.sha256);
    const [before, files] = [await shown(), excerpts()];
    world.tomorrow();
    await night(1000);
    await service.snapshots.check();
    const after = await shown();
    expect(after).toHaveLength(before.length);
    expect(after).not.toEqual(before);
    const { json } = await service.get('/v1/rankings/atlas.free', { key: owner.key });
    const api: (number | null)[] = json.data.map(({ value }: { value: number | null }) => value);
    expect(after).toEqual(api.filter((value) => value !== null));
    // What did not change is taken over.
    expect(excerpts().map((sha256, at) => sha256 === files[at])).toEqual(
      ALL.map((id) => id !== 'atlas.free'),
    );
  });
});
