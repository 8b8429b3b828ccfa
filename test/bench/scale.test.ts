/** The scale bench: properties of its synthetic lakes, and the growth per doubling. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { useDirectory } from '../after-tests.ts';
import { query } from '../build/parquet-readers.ts';
import type { Size } from './scale/measure.ts';
import { Replicator } from './scale/replica.ts';
import { judge } from './scale/table.ts';

const SLUGS = ['median_age_years', 'total_population_with_projections'];
const COUNTRIES = 60;

describe('copies of a lake', async () => {
  const dir = await useDirectory();
  const run = join(dir, 'lake/gapminder/r');
  await mkdir(run, { recursive: true });
  await query(`COPY (
    SELECT unnest(['${SLUGS.join("','")}']) AS indicator, 'C' || lpad(country::VARCHAR, 2, '0') AS iso3, year::INTEGER AS year,
      (country * 100 + year)::DOUBLE AS value, NULL::DOUBLE AS ci_lo, NULL::DOUBLE AS ci_hi,
      NULL::BOOLEAN AS projected, NULL::VARCHAR AS status
    FROM range(${COUNTRIES}) AS c(country), range(2000, 2003) AS y(year)
  ) TO '${join(run, 'observations.parquet')}' (FORMAT parquet)`);
  const entry = {
    description: null,
    unit: 'years',
    source: null,
    source_url: null,
    tags: [],
    licence: null,
  };
  const facts = { rows: 180, countries: 60, newest_year: 2002, median: 1, unit: null, digest: 'd' };
  await writeFile(
    join(run, 'catalogue.json'),
    JSON.stringify(SLUGS.map((slug) => ({ ...entry, slug, name: slug }))),
  );
  await writeFile(
    join(run, 'series.json'),
    JSON.stringify(Object.fromEntries(SLUGS.map((slug) => [slug, facts]))),
  );
  await writeFile(join(run, 'run.json'), JSON.stringify({ rows_written: 360, indicators: 2 }));
  await writeFile(join(dir, 'lake/gapminder/current'), 'r');
  const replicator = await Replicator.open(join(dir, 'lake'), join(dir, 'copies'));
  expect(await replicator.fill(join(dir, 'many'), 5)).toEqual({ rows: 1800, series: 10 });
  replicator.close();
  const rows = await query(
    `SELECT indicator, iso3, year, value FROM read_parquet('${join(dir, 'many/lake/*/*/observations.parquet')}', file_row_number = true)
     ORDER BY indicator, iso3, year`,
  );

  const byCountry = (slug: string): Map<unknown, number[]> => {
    const own = rows.filter(({ indicator }) => indicator === slug);
    const groups = Map.groupBy(own, ({ iso3 }) => iso3);
    return new Map([...groups].map(([iso3, cells]) => [iso3, cells.map(({ value }) => Number(value))]));
  };

  it('hold every series complete, most with countries permuted, equally for all series of a copy', () => {
    const original = byCountry(`v00_${SLUGS[0]}`);
    expect(original.get('C07')).toEqual([2700, 2701, 2702]);
    for (const copy of [1, 2, 3, 4]) {
      const [first, second] = SLUGS.map((slug) => byCountry(`v0${copy}_${slug}`));
      expect(second).toEqual(first);
      expect([...(first ?? [])].map(([, cells]) => cells).sort()).toEqual(
        [...original].map(([, cells]) => cells).sort(),
      );
      const moved = [...original].filter(([iso3, cells]) => `${first?.get(iso3)}` !== `${cells}`).length;
      expect(moved / COUNTRIES).toBeGreaterThan(0.35);
      expect(moved / COUNTRIES).toBeLessThan(0.85);
    }
  });
});

it('growth meets its goal when no step between two sizes grows faster', () => {
  const size = (copies: number, seconds: number): Size => ({
    copies,
    indicators: copies,
    observations: copies,
    build: { seconds, peak_mb: 1000 },
    snapshot: { files: 1, megabytes: 1 },
    gateway: { ready_s: [1], ready_mb: 1 },
  });
  const verdict = (sizes: Size[], name: string) => judge(sizes).find((row) => row.name === name)?.isMet;
  expect(verdict([size(1, 10), size(2, 20)], 'build: peak memory')).toBe(true);
  const growth = judge([size(1, 10), size(2, 21), size(4, 44)]).filter(({ name }) =>
    name.startsWith('… for'),
  );
  expect(growth.map(({ isMet }) => isMet)).toEqual([true, true]);
  const steep = judge([size(1, 10), size(2, 21), size(4, 45)]).filter(({ name }) => name.startsWith('… for'));
  expect(steep.map(({ isMet }) => isMet)).toEqual([false, true]);
});
