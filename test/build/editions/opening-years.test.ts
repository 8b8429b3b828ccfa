/** The year that pages of a series open on, and the field of its ranks: compared with the rule written a second time. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { SEED } from '../../environment.ts';
import { type OpeningRow, openingOf } from '../../gateway/opening-year.ts';
import { readCatalogue } from '../../shown-snapshot.ts';
import { type Cell, SERVED, type Series, World } from '../world.ts';

const [FROM, YEARS, PROJECTED_FROM] = [2010, 14, 2021];
const years = Array.from({ length: YEARS }, (_, at) => FROM + at);

/** How many of ten places have a figure, by year. */
const coverages = fc.array(fc.integer({ min: 0, max: 10 }), { minLength: YEARS, maxLength: YEARS });
const [drawn = []] = fc.sample(
  fc.array(fc.tuple(coverages, fc.infiniteStream(fc.integer({ min: 0, max: 9 }))), {
    minLength: 20,
    maxLength: 20,
  }),
  { seed: SEED ?? 70, numRuns: 1 },
);

const series = Object.fromEntries(
  drawn.map(([coverage, chance], number): [string, Series] => {
    const cells = years.flatMap((year, at) =>
      SERVED.filter(() => (chance.next().value ?? 0) < (coverage[at] ?? 0)).map(
        (iso3, place): Cell => [iso3.toLowerCase(), year, place * 7 + at],
      ),
    );
    return [`sparse_${number}`, { cells }];
  }),
);
const lastYears: Cell[] = SERVED.map((iso3): Cell => [iso3.toLowerCase(), PROJECTED_FROM + 1, 5]);

const world = await World.use({ atlas: { projected_from: PROJECTED_FROM } });
await world.ingestSeries({ ...series, only_projected: { cells: lastYears } });
await world.build();

test('pages open on the newest year that most countries have', async () => {
  const { indicators } = await readCatalogue(await world.served());
  expect(indicators.length).toBeGreaterThan(15);
  for (const { record, opening } of indicators) {
    const rows = (await world.observations(record.id)) as unknown as OpeningRow[];
    expect([record.id, opening]).toEqual([record.id, openingOf(rows)]);
  }
  const isComparable = indicators.map(({ opening }) => opening?.is_comparable);
  expect(isComparable).toContain(true);
  expect(isComparable).toContain(false);
  const latest = indicators.filter(({ record, opening }) => opening?.year !== record.coverage?.latest_year);
  expect(latest.length).toBeGreaterThan(3);
});
