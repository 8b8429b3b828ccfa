/** Some nights of two small providers: figures revised, series that come, go and get other ids, a night taken back. */
import { type Cell, type Series, World } from '../build/world.ts';
import { FIXTURE_KEY_TEXT } from './fixture-log.ts';

/** Like enough to others that no run is held. */
export const herd = (...values: number[]): Series => ({
  name: 'Herd',
  unit: 'head',
  cells: [
    ...values.map((value, at): Cell => ['FRA', 2000 + at, value]),
    ['DEU', 2000, 55],
    ['FRA', 2010, 60],
  ],
});

const GATES = { gates: { max_row_drop: 1, max_country_drop: 1 } };

export interface Story {
  world: World;
  /** The served editions, oldest first. */
  served: string[];
  rolledBack: string;
}

export async function tellStory(): Promise<Story> {
  const world = await World.create({ atlas: GATES, globe: { access_tier: 'display' } });
  world.settings.SIGNING_KEY = FIXTURE_KEY_TEXT;
  await world.publish('globe', { shown: herd(51) });
  await world.ingest('globe');
  const night = async (series: Record<string, Series>): Promise<string> => {
    await world.publish('atlas', series);
    const { status } = await world.ingest('atlas');
    if (status === 'suspicious') throw new Error('a run of the story is held');
    const { snapshot } = await world.build();
    world.tomorrow();
    return snapshot;
  };
  const secret = herd(59);
  const first = await night({ cows: herd(51, 52, 53), goats: herd(54), sheep: herd(56), secret });
  const second = await night({
    cows: herd(51, 52.5),
    lamas: herd(57),
    sheep: herd(56),
    secret: herd(59, 60),
  });
  const rolledBack = await night({ cows: herd(51), lamas: herd(57, 58), sheep: herd(56), secret });
  await world.rollback(second, 'A column was read twice.');
  const third = await night({
    cows: herd(51, 52.5, 53, 54),
    goats: herd(54, 55),
    lamas: herd(57),
    sheep: herd(56),
    secret,
  });
  await world.list('aliases', 'atlas.cows,atlas.cattle,2026-11-24,2027-11-24');
  const fourth = await night({
    cattle: herd(51, 52.5, 53, 54.5),
    goats: herd(54, 55),
    lamas: herd(57),
    ewes: herd(56, 57),
    secret,
  });
  await world.list(
    'aliases',
    'atlas.cows,atlas.cattle,2026-11-24,2027-11-24',
    'atlas.sheep,atlas.ewes,2026-11-24,',
    'atlas.kids,atlas.goats,2020-01-01,2020-12-31',
  );
  await world.define('atlas', { ...GATES, indicators: { secret: { enabled: false } } });
  const fifth = await night({
    cattle: herd(51, 52.5, 53, 54.5),
    goats: herd(54, 55),
    ewes: herd(56, 57, 58),
    secret,
  });
  return { world, served: [first, second, third, fourth, fifth], rolledBack };
}
