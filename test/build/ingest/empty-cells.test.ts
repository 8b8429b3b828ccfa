/** Cells that wide tables leave empty: rows only between the first and the last measured year of a country. */
import { join } from 'node:path';
import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { findConnector } from '../../../build/connectors/registry.ts';
import { ProviderReader } from '../../../build/ingest/provider-reader.ts';
import { loadCurated } from '../../../data/curated/curated.ts';
import { providerDefinition } from '../../../data/schema/curated.ts';
import { observationsFile } from '../../../data/schema/snapshot.ts';
import { silentLog } from '../../redis.ts';
import { contextFor, memoryUpstream } from '../connectors/read-connector.ts';
import { definition, World } from '../world.ts';

const curated = await loadCurated('data');
const SLUGS = ['one', 'two'] as const;
const PLACES = ['DEU', 'FRA', 'USA'] as const;
const YEARS = [2000, 2001, 2002, 2003, 2004, 2005];
type Figure = number | null;
/** By series, place and year; a figure differs from every other. */
type Table = Map<string, Figure>;
const keyOf = (slug: string, place: string, year: number): string => `${slug} ${place} ${year}`;
const KEYS = SLUGS.flatMap((slug) =>
  PLACES.flatMap((place) => YEARS.map((year) => keyOf(slug, place, year))),
);
const anyTable: fc.Arbitrary<Table> = fc
  .array(fc.boolean(), { minLength: KEYS.length, maxLength: KEYS.length })
  .map((filled) => new Map(KEYS.map((key, at) => [key, filled[at] ? at : null])));

const cell = (table: Table, slug: string, place: string, year: number): string =>
  String(table.get(keyOf(slug, place, year)) ?? '');
const lines = (rows: readonly (readonly (string | number)[])[]): string =>
  `${rows.map((row) => row.map((one) => `"${one}"`).join(',')).join('\n')}\n`;
const placeYears = PLACES.flatMap((place) => YEARS.map((year) => ({ place, year })));

interface Layout {
  connector: string;
  source: Record<string, unknown>;
  write(table: Table): Record<string, string>;
}

const own = Object.fromEntries(SLUGS.map((slug) => [slug, { slug }]));
const byColumn = (header: string, table: Table): string => {
  const rows = placeYears.map(({ place, year }) =>
    [place, year, ...SLUGS.map((slug) => cell(table, slug, place, year))].join(','),
  );
  return [header, ...rows].join('\n');
};
const byYear = (table: Table, slug: string, place: string): string[] =>
  YEARS.map((year) => cell(table, slug, place, year));
const frictionless = (source: object, write: Layout['write']): Layout => ({
  connector: 'frictionless',
  source: { place: ['iso3'], ...source },
  write,
});
/** A table with a column per series. */
const wideCsv: Layout['write'] = (table) => ({ 't.csv': byColumn('iso3,year,one,two', table) });
/** A DDF package with a file of these measures. */
function ddf(measures: readonly string[], write: (table: Table) => string): Layout {
  const fields = ['geo', 'time', ...measures].map((name) => ({ name }));
  const resources = [
    { path: 'c.csv', schema: { fields: [], primaryKey: 'concept' } },
    { path: 'd.csv', schema: { fields, primaryKey: ['geo', 'time'] } },
  ];
  const files = {
    'datapackage.json': JSON.stringify({ resources }),
    'c.csv': ['concept,concept_type', ...measures.map((one) => `${one},measure`), ''].join('\n'),
  };
  return { connector: 'ddf', source: {}, write: (table) => ({ ...files, 'd.csv': write(table) }) };
}
const WIDE: Record<string, Layout> = {
  'a column per year': frictionless({ packages: SLUGS.map((slug) => `${slug}.csv`) }, (table) =>
    Object.fromEntries(
      SLUGS.map((slug) => {
        const rows = PLACES.map((place) => [place, ...byYear(table, slug, place)]);
        return [`${slug}.csv`, lines([['iso3', ...YEARS], ...rows])];
      }),
    ),
  ),
  'a column per series': frictionless(
    { packages: [{ path: 't.csv', columns: own }], values: SLUGS },
    wideCsv,
  ),
  'a column per series, of which one is used': frictionless(
    { packages: SLUGS.map((slug) => ({ path: 't.csv', slug, values: [slug] })) },
    wideCsv,
  ),
  'a grapher chart': {
    connector: 'owid-grapher',
    source: { charts: [{ chart: 'c', columns: own }], place: ['Code'] },
    write: (table) => ({
      'c.csv': byColumn('Code,Year,one,two', table),
      'c.metadata.json': JSON.stringify({ columns: {} }),
    }),
  },
  'a World Bank download': {
    connector: 'world-bank-csv',
    source: { files: ['a.csv'] },
    write: (table) => ({
      'a.csv': lines([
        ['Country Name', 'Country Code', 'Indicator Name', 'Indicator Code', ...YEARS],
        ...SLUGS.flatMap((slug) =>
          PLACES.map((place) => [place, place, slug, slug, ...byYear(table, slug, place)]),
        ),
      ]),
    }),
  },
  'the World Bank API': bankApi((table, slug) =>
    placeYears.map(({ place, year }) =>
      bankRow(slug, place, year, table.get(keyOf(slug, place, year)) ?? null),
    ),
  ),
  'a DDF file of several measures': ddf(SLUGS, (table) => byColumn('geo,time,one,two', table)),
};

function bankRow(slug: string, place: string, year: number, value: Figure, obs_status = '') {
  return { indicator: { id: slug }, countryiso3code: place, date: String(year), value, obs_status };
}

function bankApi(rowsOf: (table: Table, slug: string) => object[], slugs: readonly string[] = SLUGS): Layout {
  const page = (rows: object[]) => JSON.stringify([{ page: 1, pages: 1, total: rows.length }, rows]);
  return {
    connector: 'world-bank-api',
    source: { indicators: slugs, series_metadata: false },
    write: (table) =>
      Object.fromEntries(
        slugs.flatMap((slug) => [
          [`indicator/${slug}`, page([{ id: slug, name: slug }])],
          [`country/all/indicator/${slug}`, page(rowsOf(table, slug))],
        ]),
      ),
  };
}

/** Tables with a row for each figure: an empty value is what upstream sends. */
const longCsv = (
  header: string,
  table: Table,
  write = (...row: [place: string, year: number, value: string]): unknown[] => row,
): string => {
  const rows = placeYears.map(({ place, year }) =>
    write(place, year, cell(table, 'one', place, year)).join(','),
  );
  return [header, ...rows].join('\n');
};
const LONG: Record<string, Layout> = {
  'a file of one series': frictionless({ packages: ['one.csv'], values: ['value'] }, (table) => ({
    'one.csv': longCsv('iso3,year,value', table),
  })),
  'a column that names the series': frictionless(
    { packages: ['t.csv'], values: ['value'], series: { code: 'code' } },
    (table) => ({ 't.csv': longCsv('iso3,year,value,code', table, (...row) => [...row, 'one']) }),
  ),
  'a wide table whose definition says so': frictionless(
    { packages: [{ path: 't.csv', slug: 'one', values: ['one'] }], empty: 'null' },
    wideCsv,
  ),
  'SDMX without OBS_VALUE': {
    connector: 'sdmx-csv',
    source: { files: ['s.csv'] },
    write: (table) => ({
      's.csv': longCsv('INDICATOR,REF_AREA,TIME_PERIOD,OBS_VALUE', table, (...row) => ['one', ...row]),
    }),
  },
  'a DDF file of one measure': ddf(['one'], (table) => longCsv('geo,time,one', table)),
  'the WHO\'s "No data"': {
    connector: 'who-gho',
    source: { format: 'csv', indicators: ['one'] },
    write: (table) => ({
      'one.csv': longCsv('GHO,YEAR,COUNTRY,Display Value,Numeric,Low,High', table, (place, year, value) => [
        ...['one', year, place, value === '' ? 'No data' : value, value, '', ''],
      ]),
    }),
  },
};

interface ReadLayout {
  rows: Table;
  emptyCells: number;
}

/** What ingestion keeps of a table. */
async function readLayout({ connector, source, write }: Layout, table: Table): Promise<ReadLayout> {
  const rows: Table = new Map();
  const reader = new ProviderReader({
    definition: providerDefinition.parse(JSON.parse(definition('atlas', { places: ['iso3'] }))),
    curated: { ...curated, overlay: () => ({}) },
    currentYear: 2026,
    writer: {
      add: (slug, added) => {
        for (const { iso3, year, value } of added) rows.set(keyOf(slug, iso3, year), value);
      },
    },
    log: silentLog,
    onProgress: () => {},
  });
  const context = contextFor(findConnector(connector), source, memoryUpstream(write(table)));
  await reader.readAll(findConnector(connector).read(context));
  expect([...reader.failed]).toEqual([]);
  expect(reader.rowsRead).toBe(reader.rows + reader.rejects.rows + reader.emptyCells);
  return { rows, emptyCells: reader.emptyCells };
}

/** The cells from the first to the last measured year of each country and series. */
function measuredSpans(table: Table): Table {
  const kept: Table = new Map();
  for (const slug of SLUGS) {
    for (const place of PLACES) {
      const measured = YEARS.filter((year) => table.get(keyOf(slug, place, year)) !== null);
      for (const year of YEARS) {
        const key = keyOf(slug, place, year);
        if (year >= Math.min(...measured) && year <= Math.max(...measured))
          kept.set(key, table.get(key) ?? null);
      }
    }
  }
  return kept;
}

const sorted = (table: Table) => [...table].sort(([a], [b]) => (a < b ? -1 : 1));

describe('of any wide table', () => {
  it.each(Object.entries(WIDE))(
    'with %s, exactly the measured years of each country stay',
    async (_, layout) => {
      await fc.assert(
        fc.asyncProperty(anyTable, async (table) => {
          const { rows, emptyCells } = await readLayout(layout, table);
          const expected = measuredSpans(table);
          expect(sorted(rows)).toEqual(sorted(expected));
          expect(emptyCells).toBe(KEYS.length - expected.size);
        }),
        { numRuns: 25, examples: [[new Map(KEYS.map((key) => [key, null]))]] },
      );
    },
  );
});

describe('of any long table', () => {
  it.each(Object.entries(LONG))('with %s, every null stays', async (_, layout) => {
    await fc.assert(
      fc.asyncProperty(anyTable, async (table) => {
        const { rows, emptyCells } = await readLayout(layout, table);
        expect(sorted(rows)).toEqual(sorted(table).filter(([key]) => key.startsWith('one ')));
        expect(emptyCells).toBe(0);
      }),
      { numRuns: 10 },
    );
  });
});

it('of the World Bank API, a null with a status stays', async () => {
  const rows = PLACES.map((place) => bankRow('one', place, 2000, null, place === 'FRA' ? 'O' : ''));
  const read = await readLayout(
    bankApi(() => rows, ['one']),
    new Map(),
  );
  expect([...read.rows.keys()]).toEqual(['one FRA 2000']);
  expect(read.emptyCells).toBe(2);
});

describe('in lake and snapshot', () => {
  const SOURCE = {
    packages: [{ path: 't.csv', columns: { a: { slug: 'a' }, b: { slug: 'b' } } }],
    place: ['iso3'],
  };
  /** 60 measured cells of `a`, and of `b` one for France in 2010; 170 empty cells. */
  const FIGURES = ['DEU', 'FRA', 'USA', 'BRA', 'CHN', 'IND', 'JPN', 'KEN', 'NZL', 'ALB', 'AND'].flatMap(
    (place, at) =>
      Array.from({ length: 10 }, (_, index): [string, number, string, string] => [
        place,
        2005 + index,
        // Every other country has figures; Germany's have a gap.
        at % 2 === 0 && !(place === 'DEU' && index === 4) ? String(index + 1) : '',
        place === 'FRA' && index === 5 ? '7' : '',
      ]),
  );
  const table = (rows = FIGURES): string => ['iso3,year,a,b', ...rows.map((row) => row.join(','))].join('\n');

  let world: World;
  const define = (empty?: string) =>
    world.define('atlas', { connector: 'frictionless', source: { ...SOURCE, ...(empty && { empty }) } });
  const night = async (csv = table()) => {
    world.tomorrow();
    await world.write('mirror/atlas/t.csv', csv);
    return world.ingest('atlas');
  };
  beforeEach(async () => {
    world = await World.ofTest();
    await define();
  });

  it('they are no rows, so that nobody pays for them, and the run counts them', async () => {
    expect(await night()).toMatchObject({
      status: 'succeeded',
      rows_read: 220,
      rows_written: 61,
      empty_cells: 159,
      countries: 7,
      rejects: {},
    });
    await world.build();
    const { directory } = await world.served();
    const { readObservations } = await import('../parquet-readers.ts');
    const rows = async (id: string) => readObservations(join(directory, observationsFile(id)));
    expect(await rows('atlas.a')).toHaveLength(60);
    expect((await rows('atlas.a')).filter(({ value }) => value === null)).toMatchObject([
      { iso3: 'DEU', year: 2009 },
    ]);
    expect(await rows('atlas.b')).toMatchObject([{ iso3: 'FRA', year: 2010, value: 7 }]);
    const { data } = await world.body('routes/coverage.json');
    const covered = data as { iso3: string; n_observations: number }[];
    expect(covered.find(({ iso3 }) => iso3 === 'FRA')?.n_observations).toBe(1);
    expect(covered.find(({ iso3 }) => iso3 === 'DEU')?.n_observations).toBe(10);
  });

  it('the next run is compared by what is left', async () => {
    await night();
    const record = await night(table(FIGURES.filter(([, year]) => year < 2012)));
    expect(record.reason).toMatch(/rows fell by 29\.5 % \(61 to 43;/);
  });
});
