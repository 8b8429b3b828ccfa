/**
 * Our World in Data against an independent reading of its files, cell by cell. The tables below state which columns
 * belong together.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { beforeAll, expect, it } from 'vitest';
import { parse as parseYaml } from 'yaml';
import { frictionless } from '../../../build/connectors/frictionless.ts';
import { owidGrapher } from '../../../build/connectors/owid-grapher.ts';
import { describeWithMirror } from '../../mirror.ts';
import { directoryUpstream, type ReadProvider, readAll } from './read-connector.ts';

type Row = Record<string, string>;
const table = (file: string): Row[] => parse(readFileSync(file), { columns: true, bom: true });
const source = (id: string): unknown => parseYaml(readFileSync(`data/providers/${id}.yaml`, 'utf8')).source;
const cell = (row: Row, column: string): string | null => (row[column] === '' ? null : (row[column] ?? null));

/** The series of a chart with several columns. */
const ofOneChart = (slug: string, chart: string, unit: string, columns: string[]) =>
  Object.fromEntries(
    columns.map((column): [string, [string, string, string]] => [
      `${slug}-${column.toLowerCase().replaceAll(' ', '-').replace('+', '')}`,
      [chart, column, unit],
    ]),
  );

/** Slug → chart, column and unit. */
const CHARTS: Record<string, [string, string, string]> = {
  'access-to-clean-fuels-and-technologies-for-cooking': [
    'access-to-clean-fuels-and-technologies-for-cooking',
    'Proportion of population with primary reliance on clean fuels and technologies for cooking (%) - Residence area type: Total',
    '%',
  ],
  'child-mortality': [
    'child-mortality',
    'Under-five mortality rate (selected)',
    'deaths per 100 live births',
  ],
  ...ofOneChart('energy-per-capita', 'per-capita-energy-stacked', 'kilowatt-hours', [
    ...['Coal', 'Oil', 'Gas', 'Nuclear', 'Hydropower', 'Wind', 'Solar', 'Other renewables'],
  ]),
  ...ofOneChart('meat-supply', 'per-capita-meat-type', 'kilograms per year per capita', [
    ...['Poultry', 'Beef and buffalo', 'Sheep and goat', 'Pork', 'Other meats', 'Fish and seafood'],
  ]),
  ...ofOneChart('population', 'population-by-age-group-with-projections', 'people', [
    ...['Total', 'Ages 65+', 'Ages 25-64', 'Under-25s', 'Under-15s', 'Under-5s'],
  ]),
  'share-electricity-renewables': ['share-electricity-renewables', 'Renewables', '%'],
  'share-of-adults-defined-as-obese': [
    'share-of-adults-defined-as-obese',
    'Prevalence of obesity among adults, BMI >= 30 (crude estimate) (%) - Sex: both sexes - Age group: 18+  years of age',
    '%',
  ],
  'share-of-adults-who-smoke': [
    'share-of-adults-who-smoke',
    'Share of adults who smoke or use tobacco (age-standardized)',
    '% of adults',
  ],
  'share-of-children-immunized-dtp3': [
    'share-of-children-immunized-dtp3',
    'Diphtheria/tetanus/pertussis (DTP3)',
    '%',
  ],
  'share-of-individuals-using-the-internet': [
    'share-of-individuals-using-the-internet',
    'Share of the population using the Internet',
    '% of population',
  ],
  'share-of-population-urban': [
    'share-of-population-urban',
    'Urban population (% of total population)',
    '% of total',
  ],
  'share-of-the-population-with-access-to-electricity': [
    'share-of-the-population-with-access-to-electricity',
    'Share of the population with access to electricity',
    '% of population',
  ],
};

describeWithMirror('the grapher charts', (mirror) => {
  const directory = join(mirror, 'owid', 'grapher');
  let read: ReadProvider;
  beforeAll(async () => {
    read = await readAll(owidGrapher, source('owid'), directoryUpstream(directory));
  });

  it('reads the series of every chart, and no others', () => {
    expect(read.failed.size).toBe(0);
    expect([...read.series.keys()].sort()).toEqual(Object.keys(CHARTS).sort());
  });

  it.each(Object.entries(CHARTS))(
    '%s: reads every row, value, gap and forecast, and the unit',
    (slug, [chart, column, unit]) => {
      const series = read.series.get(slug);
      expect(series?.entry.unit).toBe(unit);
      const isWide = Object.values(CHARTS).filter(([other]) => other === chart).length > 1;
      expect(series?.rows).toEqual(
        table(join(directory, `${chart}.csv`)).map((row) => {
          const forecastColumn = `${column} (Projected)`;
          const observed = cell(row, column);
          const forecast = observed === null ? cell(row, forecastColumn) : null;
          const value = observed ?? forecast;
          const flag =
            forecastColumn in row && value !== null
              ? { projected: observed === null, ...(observed === null && { status: 'forecast' }) }
              : {};
          const blank = isWide && value === null ? { blank: true } : {};
          return { place: row.Code || row.Entity, year: row.Year, value, ...blank, ...flag };
        }),
      );
    },
  );

  it('marks population forecasts from 2024 on', () => {
    const rows = read.series.get('population-total')?.rows ?? [];
    expect(rows.filter((row) => row.projected).length).toBe(19_712);
    expect(Math.min(...rows.filter((row) => row.projected).map((row) => Number(row.year)))).toBe(2024);
  });
});

/** Slug → the columns of the lower and upper bound, by their figures. */
const BOUNDS: Record<string, [string, string]> = {
  'government-transparency': ['gov_transparency_upper', 'gov_transparency_lower'],
};

describeWithMirror('the archived data sets', (mirror) => {
  const directory = join(mirror, 'owid', 'owid-datasets');
  const sets = readdirSync(directory);
  let read: ReadProvider;
  beforeAll(async () => {
    read = await readAll(frictionless, source('owid-datasets'), directoryUpstream(directory));
  });

  it('lists every data set in the definition', () => {
    const { packages } = source('owid-datasets') as { packages: { path: string }[] };
    expect(packages.map(({ path }) => path).sort()).toEqual(sets.sort());
    expect(read.failed.size).toBe(0);
  });

  it.each(sets)('%s: reads every row, value, gap and bound', (set) => {
    const { packages } = source('owid-datasets') as { packages: { path: string; slug: string }[] };
    const base = packages.find(({ path }) => path === set)?.slug ?? '';
    const file = readdirSync(join(directory, set)).find((name) => name.endsWith('.csv')) ?? '';
    const rows = table(join(directory, set, file));
    const columns = Object.keys(rows[0] ?? {}).slice(2);
    const bounds = columns.filter((column) => Object.values(BOUNDS).flat().includes(column));
    const series = [...read.series.values()].filter(({ entry }) => entry.slug.startsWith(base));
    const values = columns.filter((column) => !bounds.includes(column));
    expect(series).toHaveLength(values.length);
    for (const [index, column] of values.entries()) {
      const found = series[index];
      const [lower, upper] = BOUNDS[found?.entry.slug ?? ''] ?? [];
      expect(found?.rows).toEqual(
        rows.map((row) => ({
          place: row.Entity,
          year: row.Year,
          value: cell(row, column),
          ...(values.length > 1 && cell(row, column) === null && { blank: true }),
          ...(lower ? { ci_lo: cell(row, lower) } : {}),
          ...(upper ? { ci_hi: cell(row, upper) } : {}),
        })),
      );
    }
  });

  it('pairs bounds in ascending order', () => {
    const rows = read.series.get('government-transparency')?.rows ?? [];
    expect(rows).toHaveLength(3_875);
    const ordered = rows.every(
      ({ ci_lo, value, ci_hi }) => Number(ci_lo) <= Number(value) && Number(value) <= Number(ci_hi),
    );
    expect(ordered).toBe(true);
  });

  it('removes markup from descriptions', () => {
    const marked = [...read.series.values()].filter(({ entry }) =>
      /<\/?[a-z]+[ >]|href=/i.test(entry.description ?? ''),
    );
    expect(marked.map(({ entry }) => entry.slug)).toEqual([]);
  });
});
