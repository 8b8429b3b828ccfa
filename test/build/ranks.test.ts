/** Ranks and their changes as the statement computes them, against a count that shares nothing with it. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Duck } from '../../build/duckdb.ts';
import { prepareTables } from '../../build/snapshot/materialise.ts';
import { query, readObservations } from './parquet.ts';

const PLACES = ['BRA', 'CHN', 'DEU', 'FRA', 'IND', 'JPN', 'USA'];

interface Cell {
  iso3: string;
  year: number;
  value: number | null;
}

const anyValue = fc.option(
  fc
    .oneof(
      { weight: 3, arbitrary: fc.integer({ min: -2, max: 2 }) },
      { weight: 1, arbitrary: fc.double({ noNaN: true, noDefaultInfinity: true }) },
    )
    // SQL text knows no negative zero.
    .map((value) => value + 0),
);
const anyCells = fc.uniqueArray(
  fc.record({
    iso3: fc.constantFrom(...PLACES),
    year: fc.integer({ min: 2000, max: 2004 }),
    value: anyValue,
  }),
  { selector: ({ iso3, year }) => `${iso3} ${year}`, minLength: 1, maxLength: 35 },
);

/** One more than the countries that are strictly better. */
function rankOf(cells: readonly Cell[], iso3: string, year: number, better: 1 | -1): number | null {
  const own = cells.find((cell) => cell.iso3 === iso3 && cell.year === year)?.value ?? null;
  if (own === null) return null;
  const rivals = cells.filter((cell) => cell.year === year).map((cell) => cell.value);
  return 1 + rivals.filter((value) => value !== null && better * value > better * own).length;
}

function expected(cells: readonly Cell[], better: 1 | -1) {
  return cells
    .map(({ iso3, year, value }) => {
      const rank = rankOf(cells, iso3, year, better);
      const before = rankOf(cells, iso3, year - 1, better);
      return {
        iso3,
        year,
        value,
        rank,
        rank_delta_1y: rank === null || before === null ? null : before - rank,
      };
    })
    .sort((a, b) => (a.iso3 < b.iso3 ? -1 : a.iso3 > b.iso3 ? 1 : a.year - b.year));
}

describe('ranks', () => {
  let directory: string;
  let duck: Duck;
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'almanac-ranks-'));
    duck = await Duck.open({ scratch: join(directory, 'scratch') });
    await prepareTables(duck, PLACES);
  });
  afterAll(async () => {
    await duck.close();
    await rm(directory, { recursive: true });
  });

  let runs = 0;

  async function publish(cells: readonly Cell[], ascending: boolean) {
    runs += 1;
    const [lake, file] = [join(directory, `${runs}.lake.parquet`), join(directory, `${runs}.parquet`)];
    // Quoted, because a bare number would be read as a decimal first and lose its last bits.
    const literal = (value: number | null): string => (value === null ? 'NULL' : `'${value}'`);
    const rows = cells.map(
      ({ iso3, year, value }) => `('one', '${iso3}', ${year}, ${literal(value)}::DOUBLE)`,
    );
    await query(`COPY (
      SELECT *, NULL::DOUBLE AS ci_lo, NULL::DOUBLE AS ci_hi, NULL::BOOLEAN AS projected
      FROM (VALUES ${rows.join()}) AS rows(indicator, iso3, year, value)
    ) TO '${lake}' (FORMAT parquet)`);
    await duck.run('observations', {
      lake,
      slug: 'one',
      projected_from: 3000,
      ascending,
      no_rank: false,
      file,
    });
    const published = await readObservations(file);
    return published.map(({ iso3, year, value, rank, rank_delta_1y }) => ({
      iso3,
      year,
      value,
      rank,
      rank_delta_1y,
    }));
  }

  it.each([
    ['the highest first', 1],
    ['the lowest first', -1],
  ] as const)('equal an independent count on any figures, %s', async (_, better) => {
    await fc.assert(
      fc.asyncProperty(anyCells, async (cells) => {
        expect(await publish(cells, better === -1)).toEqual(expected(cells, better));
      }),
      { numRuns: 50 },
    );
  });
});
