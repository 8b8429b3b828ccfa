/** `inspect`: a first definition of an unknown upstream must be valid and read what the upstream holds. */
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { type InspectOptions, inspect } from '../../../build/inspect/inspect.ts';
import { loadCurated } from '../../../data/curated/curated.ts';
import { listen } from '../../listen.ts';
import { cells, ddfFiles, World } from '../world.ts';

let world: World;
beforeEach(async () => {
  world = await World.ofTest();
});

const run = async (location: string, more: Partial<InspectOptions> = {}) => {
  const { curated, log, now } = await world.dependencies();
  const { signal } = new AbortController();
  const { CURATED_DIR: curatedDir } = world.settings;
  return inspect({ location, id: 'fresh', curated, curatedDir, log, signal, now, ...more });
};
const folder = () => join(world.directory, 'mirror/fresh');

const LONG = [
  'Country,Indicator,Indicator Code,Year,Unit,Value',
  'FR,Births,B,2000,people,10',
  'FR,Deaths,D,2000,people,9',
  'DE,Births,B,2000,people,20',
  'DE,Deaths,D,2000,people,',
].join('\n');
const WIDE = 'iso_code,year,births,births_lower,births_upper\nFRA,2000,10,9,11\nDEU,2030,20,19,21\n';
const YEARS = 'Country Name,Series,1999,2000\nFrance,one,1,2\nGermany,one,3,4\n';
const SDMX =
  'DATAFLOW,REF_AREA,INDICATOR,TIME_PERIOD,OBS_VALUE\nX,FRA,A,2000,1\nX,DEU,A,2000,2\nX,FRA,B,2000,3\n';
const GHO =
  'GHO,PUBLISHSTATE,YEAR,COUNTRY,Display Value,Numeric,Low,High,Comments\nA_1,PUBLISHED,2000,FRA,1,1,,,\n';

const BANK = `"Data Source","WDI",

"Last Updated Date","2024-10-24",

"Country Name","Country Code","Indicator Name","Indicator Code","2000","2001",
"France","FRA","Births","B","1","2",
`;

describe('inspect', () => {
  it.each<[string, Record<string, string>, Record<string, unknown>, { series: number; rows: number }]>([
    [
      'a long table',
      { 'long.csv': LONG },
      { connector: 'frictionless', places: ['iso2'] },
      { series: 2, rows: 4 },
    ],
    [
      'a wide table',
      { 'wide.csv': WIDE },
      { places: ['iso3'], projected_from: 2027 },
      { series: 1, rows: 2 },
    ],
    ['a column per year', { 'years.csv': YEARS }, { places: ['names'] }, { series: 1, rows: 4 }],
    ['SDMX-CSV', { 'a.csv': SDMX }, { connector: 'sdmx-csv' }, { series: 2, rows: 3 }],
    [
      'an unpacked download of the World Bank',
      { 'bank.csv': BANK },
      { connector: 'world-bank-csv' },
      { series: 1, rows: 2 },
    ],
    ['exports of the GHO', { 'A_1.csv': GHO }, { connector: 'who-gho' }, { series: 1, rows: 1 }],
    [
      'DDFcsv with keys of its own',
      Object.fromEntries(
        Object.entries(ddfFiles({ one: { cells: cells(2) } })).map(([name, text]) => [
          name.replace('geo--time', 'nation--year'),
          text
            .replaceAll('geo--time', 'nation--year')
            .replaceAll('"geo"', '"nation"')
            .replaceAll('"time"', '"year"'),
        ]),
      ),
      { connector: 'ddf', source: { geo: 'nation', time: 'year' } },
      { series: 1, rows: 20 },
    ],
  ])('writes a definition that reads %s', async (_, files, expected, { series, rows }) => {
    for (const [name, text] of Object.entries(files)) await world.write(`mirror/fresh/${name}`, text);
    const { file, findings, isReadable } = await run(folder());
    expect([isReadable, findings[0]]).toEqual([
      true,
      expect.stringContaining(`${rows} rows of ${series} series`),
    ]);
    const { providers } = await loadCurated(world.settings.CURATED_DIR);
    expect(providers.get('fresh')).toMatchObject({ enabled: false, redistributable: false, ...expected });
    expect(await readFile(file, 'utf8')).toContain('# Guess: ');
    const record = await world.ingest('fresh');
    expect(record).toMatchObject({ status: 'succeeded', rows_read: rows, indicators: series, rejects: {} });
  });

  it('reads a URL', async () => {
    await using server = await listen(createServer((_, response) => response.end(LONG)));
    const { findings } = await run(`${server.url}/data/long.csv`);
    expect(findings[0]).toContain('4 rows of 2 series');
    const { providers } = await loadCurated(world.settings.CURATED_DIR);
    expect(providers.get('fresh')).toMatchObject({ origin: `${server.url}/data/` });
  });

  const LOOKUP = 'iso3,name,region\nFRA,France,EU\nDEU,Germany,EU\nJPN,Japan,AS\n';
  const FEW = 'country,year,deaths\nFRA,2000,9\nOz,2000,9\n';
  const MOST = 'country,year,births\nFRA,2000,10\nDEU,2000,20\n';

  it('takes the table with years and the most known places, with those of its form, and lists what it left out', async () => {
    const files = {
      'a.csv': LOOKUP,
      'b.csv': FEW,
      'c.csv': MOST,
      'd.csv': MOST.replaceAll('2000', '2001'),
      'e.csv': '\n',
    };
    for (const [name, text] of Object.entries(files)) await world.write(`mirror/fresh/${name}`, text);
    const { findings, file } = await run(folder());
    const left = 'Left out, for the table with the most known places: a.csv, b.csv, e.csv.';
    expect(findings).toContain(left);
    expect(findings[0]).toContain('4 rows of 2 series, 2 places, 2000 to 2001');
    expect(await readFile(file, 'utf8')).toContain(left);
  });

  it('takes the resource with the most known places of a package, and lists the others', async () => {
    const resources = ['lookup', 'few', 'most'].map((name) => ({ name, path: `${name}.csv`, format: 'csv' }));
    await world.write('mirror/fresh/datapackage.json', JSON.stringify({ name: 'fresh', resources }));
    for (const [name, text] of Object.entries({ lookup: LOOKUP, few: FEW, most: MOST }))
      await world.write(`mirror/fresh/${name}.csv`, text);
    const { findings } = await run(folder());
    expect(findings[0]).toContain('2 rows of 1 series, 2 places');
    expect(findings).toContain(
      'Left out, for the table with the most known places: datapackage.json: lookup, datapackage.json: few.',
    );
    const { providers } = await loadCurated(world.settings.CURATED_DIR);
    expect(providers.get('fresh')?.source).toEqual({
      packages: [{ path: 'datapackage.json', resource: 'most' }],
    });
  });

  it('names unknown places, and the countries that they seem to be', async () => {
    await world.write('mirror/fresh/a.csv', 'country,year,births\nFrance,2000,1\nJapann,2000,2\nOz,2000,3\n');
    const { findings } = await run(folder());
    expect(findings).toContain('Unknown places, to be listed in data/places.csv: Japann, Oz.');
    expect(findings).toContain('Countries among them: "Japann" (Japan?).');
  });

  it('writes what it can when the columns cannot be guessed, and says what is missing', async () => {
    await world.write('mirror/fresh/a.csv', 'apples,pears\n1,2\n');
    const { findings, isReadable } = await run(folder());
    expect(isReadable).toBe(false);
    expect(findings[0]).toContain('no place column found; say which of: apples, pears');
    const { providers } = await loadCurated(world.settings.CURATED_DIR);
    expect(providers.get('fresh')).toMatchObject({ connector: 'frictionless' });
  });

  it('refuses what it cannot inspect, and never replaces a definition', async () => {
    await world.write('mirror/fresh/readme.txt', 'hello');
    await expect(run(folder())).rejects.toThrow('no datapackage.json, CSV or zip file among: readme.txt');
    await expect(run(join(folder(), 'nothing'))).rejects.toThrow('there is no directory or file');
    await expect(run('http://[')).rejects.toThrow('http://[ is no URL');
    await expect(run(folder(), { id: 'The Atlas' })).rejects.toThrow('"The Atlas" cannot be a provider id');
    await expect(run(folder(), { id: 'atlas' })).rejects.toThrow(/atlas\.yaml exists; name another id/);
  });
});
