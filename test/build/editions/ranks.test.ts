/** Ranks and rank changes as SQL computes them, compared with an independent count; and batches. */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type BatchIndicator,
  batchIndicators,
  prepareTables,
  writeBatch,
} from '../../../build/editions/tables/materialise.ts';
import { DuckSession } from '../../../build/runtime/duckdb.ts';
import { observationsFile } from '../../../data/schema/snapshot.ts';
import { query, readObservations } from '../parquet-readers.ts';

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
    // SQL text has no negative zero.
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

/** 1 + the number of countries with a better value. */
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

/** One series twice in one lake, ranked descending and ascending, and one that is not requested. */
const SERIES = [true, false].map(
  (higherIsBetter, number): BatchIndicator => ({
    id: `p.s${number}`,
    number,
    slug: `s${number}`,
    lake: '',
    lakeRows: 0,
    projectedFrom: 3000,
    ciLevel: null,
    record: { higher_is_better: higherIsBetter, no_rank: false },
  }),
);

describe('ranks', () => {
  let directory: string;
  let duck: DuckSession;
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'almanac-ranks-'));
    duck = await DuckSession.open({ scratch: join(directory, 'scratch') });
    await mkdir(join(directory, 'observations'));
    await prepareTables(duck, PLACES, SERIES);
  });
  afterAll(async () => {
    await duck.close();
    await rm(directory, { recursive: true });
  });

  let runs = 0;

  async function publish(cells: readonly Cell[]) {
    runs += 1;
    const lake = join(directory, `${runs}.lake.parquet`);
    // Quoted: a bare number is parsed as a decimal and loses its last bits.
    const literal = (value: number | null): string => (value === null ? 'NULL' : `'${value}'`);
    const rows = ['s', 's0', 's1', 't'].flatMap((slug) =>
      cells.map(({ iso3, year, value }) => `('${slug}', '${iso3}', ${year}, ${literal(value)}::DOUBLE)`),
    );
    await query(`COPY (
      SELECT *, NULL::DOUBLE AS ci_lo, NULL::DOUBLE AS ci_hi, NULL::BOOLEAN AS projected, NULL::VARCHAR AS status
      FROM (VALUES ${rows.join()}) AS rows(indicator, iso3, year, value)
    ) TO '${lake}' (FORMAT parquet)`);
    const indicators = SERIES.map((one) => ({ ...one, lake }));
    for (const batch of batchIndicators(indicators)) await writeBatch(duck, directory, batch);
    return Promise.all(
      indicators.map(async ({ id }) =>
        (await readObservations(join(directory, observationsFile(id)))).map(
          ({ iso3, year, value, rank, rank_delta_1y }) => ({ iso3, year, value, rank, rank_delta_1y }),
        ),
      ),
    );
  }

  it('equal an independent count for any values, highest or lowest first', async () => {
    await fc.assert(
      fc.asyncProperty(anyCells, async (cells) => {
        expect(await publish(cells)).toEqual([expected(cells, 1), expected(cells, -1)]);
      }),
      { numRuns: 50 },
    );
  });
});

describe('batches', () => {
  const anySeries = fc.array(fc.record({ lake: fc.constantFrom('a', 'b'), rows: fc.nat(12) })).map((given) =>
    given
      .toSorted((a, b) => (a.lake < b.lake ? -1 : a.lake > b.lake ? 1 : 0))
      .map(({ lake, rows }, number): BatchIndicator => {
        const [first] = SERIES;
        if (!first) throw new RangeError('no series');
        return { ...first, number, lake, lakeRows: rows };
      }),
  );

  it('contain every indicator once, in order, from one lake file, within the row limit unless alone', () => {
    fc.assert(
      fc.property(anySeries, (series) => {
        const batches = batchIndicators(series.toReversed(), 20);
        expect(batches.flat()).toEqual(series);
        for (const indicators of batches) {
          expect(new Set(indicators.map(({ lake }) => lake)).size).toBe(1);
          const rows = indicators.reduce((sum, { lakeRows }) => sum + lakeRows, 0);
          expect(indicators.length === 1 || rows <= 20).toBe(true);
        }
      }),
    );
  });
});
