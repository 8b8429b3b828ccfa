/** Builds the observation files of series that a test makes, for what it says of their ranks. */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type BatchIndicator,
  batchIndicators,
  prepareTables,
  writeBatch,
} from '../../../build/editions/tables/materialise.ts';
import { DuckSession } from '../../../build/runtime/duckdb.ts';
import { observationsFile } from '../../../data/schema/snapshot.ts';
import { query, readObservations } from '../parquet-readers.ts';

export interface Figure {
  iso3: string;
  year?: number;
  value: number | null;
  low: number | null;
  high: number | null;
}

export interface Series {
  /** Declared confidence level. */
  level: number | null;
  higherIsBetter?: boolean;
  noRank?: boolean;
  figures: readonly Figure[];
}

export interface Ranked {
  iso3: string;
  year: number;
  value: number | null;
  rank: number | null;
  rank_delta_1y: number | null;
  rank_lo: number | null;
  rank_hi: number | null;
}

/** Builds the observation files of some series, and reads their ranks by country and year. */
export const publish = (series: readonly Series[]): Promise<Ranked[][]> =>
  build(series, (out, indicators) =>
    Promise.all(
      indicators.map(
        async ({ id }) => (await readObservations(join(out, observationsFile(id)))) as unknown as Ranked[],
      ),
    ),
  );

/** Builds the observation files of some series in a new session, for use in it. */
export async function build<Result>(
  series: readonly Series[],
  use: (out: string, indicators: BatchIndicator[], duck: DuckSession) => Promise<Result>,
): Promise<Result> {
  const out = await mkdtemp(join(tmpdir(), 'almanac-ranks-'));
  await mkdir(join(out, 'observations'), { recursive: true });
  const lake = join(out, 'lake.parquet');
  // Quoted: a bare number is parsed as a decimal and loses its last bits.
  const literal = (value: number | null): string => (value === null ? 'NULL' : `'${value}'`);
  // Numbers follow the order of ids.
  const slug = (number: number): string => `s${String(number).padStart(2, '0')}`;
  // Each series stands in the lake a second time, under a slug that nobody asks for.
  const rows = series.flatMap(({ figures }, number) =>
    [slug(number), `${slug(number)}x`].flatMap((named) =>
      figures.map(
        ({ iso3, year = 2018, value, low, high }) =>
          `('${named}', '${iso3}', ${year}, ${[value, low, high].map((x) => `${literal(x)}::DOUBLE`).join()})`,
      ),
    ),
  );
  await query(`COPY (
    SELECT *, NULL::BOOLEAN AS projected, NULL::VARCHAR AS status
    FROM (VALUES ${rows.join()}) AS rows(indicator, iso3, year, value, ci_lo, ci_hi)
    ORDER BY indicator, iso3, year
  ) TO '${lake}' (FORMAT parquet)`);
  const indicators = series.map(
    ({ level, higherIsBetter = true, noRank = false, figures }, number): BatchIndicator => ({
      id: `p.${slug(number)}`,
      number,
      slug: slug(number),
      lake,
      lakeRows: figures.length,
      projectedFrom: 3000,
      ciLevel: level,
      record: { higher_is_better: higherIsBetter, no_rank: noRank, topic: 'economy' },
    }),
  );
  const enabled = [...new Set(series.flatMap(({ figures }) => figures.map(({ iso3 }) => iso3)))];
  const duck = await DuckSession.open({ scratch: join(out, 'scratch') });
  try {
    await prepareTables(duck, enabled, indicators);
    for (const batch of batchIndicators(indicators)) await writeBatch(duck, out, batch);
    return await use(out, indicators, duck);
  } finally {
    await duck.close();
    await rm(out, { recursive: true });
  }
}
