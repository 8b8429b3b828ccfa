/** Findings on renames: vanished series whose figures stand under another id, and aliases that cannot work. */
import { beforeEach, expect, it } from 'vitest';
import type { QualityFinding } from '../../../data/schema/quality.ts';
import { type Cell, type Series, World } from '../world.ts';

const TEN = 'AFG ALB BRA CHN DEU FRA IND JPN KEN USA'.split(' ');

let world: World;
beforeEach(async () => {
  world = await World.ofTest({ atlas: { gates: { max_row_drop: 1, max_country_drop: 1 } }, globe: {} });
});

const series = (first: number): Series => ({
  name: `Herd ${first}`,
  unit: 'head',
  cells: TEN.map((place, at): Cell => [place, 2000, first + at]),
});

async function build(kind: string): Promise<Partial<QualityFinding>[]> {
  await world.build();
  const found = (await world.findings()).filter((one) => one.kind === kind);
  world.tomorrow();
  return found.map(({ indicator, other, extent, message }) => ({ indicator, other, extent, message }));
}

/** Publishes what the providers have, and returns what is found on a kind. */
async function night(
  files: Record<string, Record<string, Series>>,
  kind = 'series_renamed',
): Promise<Partial<QualityFinding>[]> {
  for (const [provider, own] of Object.entries(files)) {
    await world.ingestSeries(own, provider);
  }
  return build(kind);
}

it('a series that vanishes is found under its new id until the rename is entered', async () => {
  await night({ atlas: { cows: series(1), goats: series(50) }, globe: { herds: series(1) } });
  const revised = {
    ...series(1),
    cells: series(1).cells.map((cell, at): Cell => (at === 0 ? ['AFG', 2000, 99] : cell)),
  };
  const found = {
    indicator: 'atlas.cattle',
    other: 'atlas.cows',
    extent: 90,
    message:
      '9 of 10 figures of atlas.cows, which vanished, stand under atlas.cattle: a rename for data/aliases.csv?',
  };
  const names = { atlas: { cattle: revised, sheep: series(500), goats: series(50) } };
  expect(await night(names)).toEqual([found]);
  // The snapshot before has no such series any more.
  expect(await night(names)).toEqual([found]);
  await world.list('aliases', 'atlas.cows,atlas.cattle,2026-11-21,');
  expect(await night(names)).toEqual([]);
});

it('a series is not renamed when a person took it away, or when others had its figures before', async () => {
  await night({ atlas: { cows: series(1), goats: series(50) }, globe: { herds: series(1) } });
  await world.define('atlas', {
    gates: { max_row_drop: 1, max_country_drop: 1 },
    indicators: { cows: { enabled: false } },
  });
  expect(await night({ atlas: { cows: series(1), goats: series(50), cattle: series(1) } })).toEqual([]);
  expect(await night({ atlas: { cows: series(1), cattle: series(1) } })).toEqual([]);
});

it('an alias needs a series to lead to, and an id that is free', async () => {
  await world.list(
    'aliases',
    'atlas.cows,atlas.goats,2026-11-20,',
    'atlas.kine,atlas.oxen,2026-11-20,',
    'atlas.kids,atlas.goats,2026-11-20,',
  );
  const found = await night({ atlas: { cows: series(1), goats: series(50) } }, 'alias_unfit');
  expect(found.map(({ other, message }) => [other, message])).toEqual([
    [
      'atlas.cows',
      'atlas.cows is a former id of atlas.goats by data/aliases.csv, and is the id of a series today.',
    ],
    ['atlas.kine', 'data/aliases.csv leads from atlas.kine to atlas.oxen, which is not there.'],
  ]);
});

it('an alias needs an id that a snapshot had, unless the rename is older than all of them', async () => {
  await night({ atlas: { cows: series(1), goats: series(50) } });
  await night({ atlas: { goats: series(50) } });
  await world.list(
    'aliases',
    'atlas.cows,atlas.goats,2026-11-21,',
    'atlas.coms,atlas.goats,2026-11-21,',
    'atlas.kine,atlas.goats,2026-11-20,',
  );
  const found = await night({ atlas: { goats: series(50) } }, 'alias_unfit');
  expect(found.map(({ other, message }) => [other, message])).toEqual([
    [
      'atlas.coms',
      'data/aliases.csv leads from atlas.coms to atlas.goats, but no snapshot had atlas.coms: is it misspelt?',
    ],
  ]);
});
