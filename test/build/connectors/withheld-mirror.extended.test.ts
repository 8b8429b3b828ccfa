/**
 * What no published figure shows of the mirror: each cell of the OWID series, most of which are withheld, as their connectors
 * read them, and the topic that is curated for each series of the IMF. Expectations come from the files and the table below.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { expect, it } from 'vitest';
import { findConnector } from '../../../build/connectors/registry.ts';
import { loadCurated } from '../../../data/curated/curated.ts';
import { describeWithMirror } from '../../mirror.ts';
import { directoryUpstream, readAll } from './read-connector.ts';

type Row = Record<string, string>;
const table = (...path: string[]): Row[] => parse(readFileSync(join(...path)), { columns: true, bom: true });
const cell = (row: Row, column: string | undefined): string | null => row[column ?? ''] || null;

/** Chart of withheld series → its unit and its columns; of a chart with several, the last words of their slugs. */
const CHARTS: Record<string, { unit: string; columns: Record<string, string> }> = {
  'access-to-clean-fuels-and-technologies-for-cooking': {
    unit: '%',
    columns: {
      '': 'Proportion of population with primary reliance on clean fuels and technologies for cooking (%) - Residence area type: Total',
    },
  },
  'per-capita-energy-stacked': {
    unit: 'kilowatt-hours',
    columns: {
      ...{ coal: 'Coal', oil: 'Oil', gas: 'Gas', nuclear: 'Nuclear', hydropower: 'Hydropower', wind: 'Wind' },
      ...{ solar: 'Solar', 'other-renewables': 'Other renewables' },
    },
  },
  'per-capita-meat-type': {
    unit: 'kilograms per year per capita',
    columns: {
      ...{ poultry: 'Poultry', 'beef-and-buffalo': 'Beef and buffalo', 'sheep-and-goat': 'Sheep and goat' },
      ...{ pork: 'Pork', 'other-meats': 'Other meats', 'fish-and-seafood': 'Fish and seafood' },
    },
  },
  'share-electricity-renewables': { unit: '%', columns: { '': 'Renewables' } },
  'share-of-adults-defined-as-obese': {
    unit: '%',
    columns: {
      '': 'Prevalence of obesity among adults, BMI >= 30 (crude estimate) (%) - Sex: both sexes - Age group: 18+  years of age',
    },
  },
  'share-of-adults-who-smoke': {
    unit: '% of adults',
    columns: { '': 'Share of adults who smoke or use tobacco (age-standardized)' },
  },
  'share-of-children-immunized-dtp3': { unit: '%', columns: { '': 'Diphtheria/tetanus/pertussis (DTP3)' } },
};
const SLUGS: Record<string, string> = {
  'per-capita-energy-stacked': 'energy-per-capita-',
  'per-capita-meat-type': 'meat-supply-',
};

describeWithMirror('series that no edition shows', async (mirror) => {
  const curated = await loadCurated('data');
  const read = (provider: string, ...path: string[]) => {
    const { connector = '', source } = curated.providers.get(provider) ?? {};
    return readAll(findConnector(connector), source, directoryUpstream(join(mirror, ...path)));
  };

  it('OWID: every cell and the unit of each withheld chart', async () => {
    const { series, failed } = await read('owid', 'owid', 'grapher');
    expect([...failed]).toEqual([]);
    for (const [chart, { unit, columns }] of Object.entries(CHARTS))
      for (const [end, column] of Object.entries(columns)) {
        const slug = end === '' ? chart : `${SLUGS[chart]}${end}`;
        const rows = table(mirror, 'owid', 'grapher', `${chart}.csv`).map((row) => {
          const value = cell(row, column);
          const blank = end !== '' && value === null ? { blank: true } : {};
          return { place: row.Code || row.Entity, year: row.Year, value, ...blank };
        });
        expect([slug, series.get(slug)?.entry.unit]).toEqual([slug, unit]);
        expect(series.get(slug)?.rows, slug).toEqual(rows);
      }
  });

  it('OWID data sets: all of them, every cell, and no markup in descriptions', async () => {
    const directory = join(mirror, 'owid', 'owid-datasets');
    const { series, failed } = await read('owid-datasets', 'owid', 'owid-datasets');
    expect([...failed]).toEqual([]);
    const definition = curated.providers.get('owid-datasets')?.source as {
      packages: { path: string; slug: string }[];
    };
    expect(definition.packages.map(({ path }) => path).sort()).toEqual(readdirSync(directory).sort());
    for (const { path, slug: base } of definition.packages) {
      // Its bounds are held by its published figures.
      if (base === 'government-transparency') continue;
      const file = readdirSync(join(directory, path)).find((name) => name.endsWith('.csv')) ?? '';
      const rows = table(directory, path, file);
      const columns = Object.keys(rows[0] ?? {}).slice(2);
      const found = [...series.values()].filter(({ entry }) => entry.slug.startsWith(base));
      expect([base, found.length]).toEqual([base, columns.length]);
      for (const [index, column] of columns.entries())
        expect(found[index]?.rows, `${base}: ${column}`).toEqual(
          rows.map((row) => {
            const value = cell(row, column);
            const blank = columns.length > 1 && value === null ? { blank: true } : {};
            return { place: row.Entity, year: row.Year, value, ...blank };
          }),
        );
    }
    const descriptions = [...series.values()].map(({ entry }) => entry.description ?? '');
    expect(descriptions.filter((text) => /<\/?[a-z]+[ >]|href=/i.test(text))).toEqual([]);
  });

  it('IMF: each series has a curated topic', async () => {
    const { series } = await read('imf', 'imf-weo');
    const topics = [...series.values()].map(({ entry }) => curated.overlay('imf', entry).topic);
    expect([topics.length, topics.filter((topic) => !topic)]).toEqual([45, []]);
  });
});
