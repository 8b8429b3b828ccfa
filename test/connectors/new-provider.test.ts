/**
 * "A new provider of a known protocol is one definition file, no code": providers that the repository has never seen
 * are written into a curated directory at run time, served over HTTP by a local server, and ingested by the real
 * ingestion into a real lake. Each definition is the least that works.
 */
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectorFor } from '../../build/connectors/registry.ts';
import { type IngestDependencies, ingestProvider } from '../../build/ingest/ingest-provider.ts';
import { ProviderLake } from '../../build/ingest/lake.ts';
import { loadCurated } from '../../data/curated.ts';
import { filesRoute } from '../upstream/files.ts';
import { type PlayedUpstream, playUpstream } from '../upstream/server.ts';

/** What each unseen provider serves. */
const FILES: Record<string, string> = {
  // Eurostat's form of SDMX-CSV 1.0.
  'eurostat/data/nama_10_pc/A.CP_EUR_HAB.B1GQ.': [
    'DATAFLOW,LAST UPDATE,freq,unit,na_item,geo,TIME_PERIOD,OBS_VALUE,OBS_FLAG,CONF_STATUS',
    'ESTAT:NAMA_10_PC(1.0),22/05/26 11:00:00,A,CP_EUR_HAB,B1GQ,EL,2023,21640.5,p,',
    'ESTAT:NAMA_10_PC(1.0),22/05/26 11:00:00,A,CP_EUR_HAB,B1GQ,EL,2024,:,,',
    'ESTAT:NAMA_10_PC(1.0),22/05/26 11:00:00,A,CP_EUR_HAB,B1GQ,FR,2024,43000,,',
    'ESTAT:NAMA_10_PC(1.0),22/05/26 11:00:00,A,CP_EUR_HAB,B1GQ,FR,2027,45000,f,',
    'ESTAT:NAMA_10_PC(1.0),22/05/26 11:00:00,A,CP_EUR_HAB,B1GQ,EA20,2024,41000,,',
    '',
  ].join('\r\n'),
  // The OECD's form of SDMX-CSV 2.0, with labels.
  'oecd/data/health.csv': [
    'STRUCTURE,STRUCTURE_ID,STRUCTURE_NAME,ACTION,REF_AREA,Reference area,MEASURE,Measure,SEX,Sex,UNIT_MEASURE,Unit of measure,TIME_PERIOD,Time period,OBS_VALUE,Observation value,OBS_STATUS,Observation status',
    'DATAFLOW,OECD.ELS:DF_LE(1.0),Life expectancy,I,FRA,France,LE,Life expectancy at birth,_T,Total,Y,Years,2022,2022,82.3,,A,Normal value',
    'DATAFLOW,OECD.ELS:DF_LE(1.0),Life expectancy,I,FRA,France,LE,Life expectancy at birth,F,Female,Y,Years,2022,2022,85.2,,A,Normal value',
    'DATAFLOW,OECD.ELS:DF_LE(1.0),Life expectancy,I,DEU,Germany,LE,Life expectancy at birth,_T,Total,Y,Years,2022,2022,80.7,,B,Break',
    'DATAFLOW,OECD.ELS:DF_LE(1.0),Life expectancy,I,FRA,France,IM,Infant mortality,_T,Total,D,Deaths,2022,2022,3.9,,E,Estimated',
    '',
  ].join('\n'),
  'co2/datapackage.json': JSON.stringify({
    name: 'co2-fossil',
    title: 'CO2 emissions from fossil fuels',
    licenses: [{ name: 'ODC-PDDL-1.0' }],
    sources: [{ title: 'CDIAC' }],
    resources: [
      {
        name: 'by-nation',
        path: 'data/by nation, all.csv',
        schema: {
          fields: [
            { name: 'Year', type: 'year' },
            { name: 'Country', type: 'string' },
            { name: 'Total', type: 'number', unit: 'thousand tonnes of carbon' },
            { name: 'Per Capita', type: 'number' },
          ],
        },
      },
    ],
  }),
  'co2/data/by nation, all.csv':
    'Year,Country,Total,Per Capita\n2013,FRANCE,90000.10,1.4\n2014,FRANCE,82704,\n2014,"Ivory Coast",3000,0.14\n2014,ATLANTIS,1,1\n',
  'charts/forest-area.metadata.json': JSON.stringify({
    chart: { title: 'Forest area', citation: 'FAO (2025)' },
    columns: {
      'Forest (% of land)': {
        titleShort: 'Forest area',
        unit: '%',
        shortUnit: '%',
        lastUpdated: '2025-10-01',
      },
    },
  }),
  'charts/forest-area.csv':
    'Entity,Code,Year,Forest,Forest (Projected)\nFrance,FRA,2020,31.5,\nFrance,FRA,2030,,33\nKosovo,OWID_KOS,2020,41.2,\nWorld,OWID_WRL,2020,31,\n',
};

interface Definition {
  connector: string;
  places: string[];
  source: object;
}

const DEFINITIONS: Record<string, Definition> = {
  eurostat: {
    connector: 'sdmx-csv',
    places: ['iso2'],
    source: { files: ['data/nama_10_pc/A.CP_EUR_HAB.B1GQ.?format=SDMX-CSV&lang=en'] },
  },
  oecd: {
    connector: 'sdmx-csv',
    places: ['iso3'],
    source: { files: ['data/health.csv'], indicator: 'MEASURE' },
  },
  co2: { connector: 'frictionless', places: ['names'], source: {} },
  charts: { connector: 'owid-grapher', places: ['iso3', 'owid'], source: { charts: ['forest-area'] } },
};

/** YAML takes JSON as it is. */
const definitionFile = (id: string, origin: string, definition: Definition): string =>
  JSON.stringify({
    id,
    name: `The ${id}`,
    licence: 'CC BY 4.0',
    licence_url: 'https://creativecommons.org/licenses/by/4.0/',
    attribution: `The ${id}`,
    redistributable: true,
    access_tier: 'open',
    default_topic: 'economy',
    origin: `${origin}${id}/`,
    ...definition,
  });

describe('a new provider is one definition file', () => {
  let played: PlayedUpstream;
  let root: string;
  let dependencies: IngestDependencies;

  beforeAll(async () => {
    played = await playUpstream([filesRoute(FILES)]);
    root = await mkdtemp(join(tmpdir(), 'almanac-new-provider-'));
    const curatedDir = join(root, 'data');
    await mkdir(join(curatedDir, 'providers'), { recursive: true });
    for (const name of ['countries.csv', 'topics.yaml', 'places.csv', 'packs.yaml']) {
      await cp(join('data', name), join(curatedDir, name));
    }
    await writeFile(join(curatedDir, 'links.csv'), 'from,to,relation\n');
    for (const [id, definition] of Object.entries(DEFINITIONS)) {
      await writeFile(
        join(curatedDir, 'providers', `${id}.yaml`),
        definitionFile(id, played.url, definition),
      );
    }
    dependencies = {
      settings: {
        LAKE_DIR: join(root, 'lake'),
        LAKE_KEEP: 3,
        CURATED_DIR: curatedDir,
        PROVIDER_MIRROR: undefined,
      },
      curated: await loadCurated(curatedDir),
      connectorFor,
      now: Date.now,
      log: pino({ level: 'silent' }),
    };
  });

  afterAll(async () => {
    await played.stop();
    await rm(root, { recursive: true, force: true });
  });

  async function ingest(id: string) {
    const record = await ingestProvider(dependencies, id);
    expect(record.reason).toBeNull();
    expect(record.status).toBe('succeeded');
    const lake = new ProviderLake(dependencies.settings.LAKE_DIR, id);
    const run = await lake.current();
    if (!run) throw new Error('no current run');
    const catalogue = await lake.catalogue(run);
    const database = await DuckDBInstance.create(':memory:');
    const connection = await database.connect();
    const query = `SELECT indicator, iso3, year, value, ci_lo, ci_hi, coalesce(projected, false), status FROM read_parquet('${run.observations}') ORDER BY ALL`;
    const rows = (await connection.runAndReadAll(query)).getRows();
    connection.closeSync();
    return { record, catalogue, rows };
  }

  it('Eurostat: one file and its places', async () => {
    const { record, catalogue, rows } = await ingest('eurostat');
    expect(catalogue).toMatchObject([{ slug: 'NAMA_10_PC', unit: 'CP_EUR_HAB' }]);
    expect(record.vintage).toBe('22/05/26 11:00:00');
    expect(rows).toEqual([
      ['NAMA_10_PC', 'FRA', 2024, 43_000, null, null, false, null],
      ['NAMA_10_PC', 'FRA', 2027, 45_000, null, null, true, 'forecast'],
      ['NAMA_10_PC', 'GRC', 2023, 21_640.5, null, null, false, 'provisional'],
      ['NAMA_10_PC', 'GRC', 2024, null, null, null, false, null],
    ]);
    expect(record.rejects.unknown_place?.samples).toEqual(['EA20']);
    expect(played.requests).toContain('/eurostat/data/nama_10_pc/A.CP_EUR_HAB.B1GQ.?format=SDMX-CSV&lang=en');
  });

  it('OECD: one file and its indicator dimension; the whole population is found', async () => {
    const { record, catalogue, rows } = await ingest('oecd');
    expect(catalogue.map(({ slug, name, unit }) => [slug, name, unit])).toEqual([
      ['LE', 'Life expectancy at birth', 'Years'],
      ['IM', 'Infant mortality', 'Deaths'],
    ]);
    expect(rows).toEqual([
      ['IM', 'FRA', 2022, 3.9, null, null, false, 'estimated'],
      ['LE', 'DEU', 2022, 80.7, null, null, false, 'break'],
      ['LE', 'FRA', 2022, 82.3, null, null, false, null],
    ]);
    expect(record.rejects.other_dimension).toMatchObject({ rows: 1, samples: ['SEX=F'] });
  });

  it('a Frictionless package: nothing but its address', async () => {
    const { record, catalogue, rows } = await ingest('co2');
    expect(
      catalogue.map(({ slug, name, unit, source, licence }) => [slug, name, unit, source, licence]),
    ).toEqual([
      ['co2-fossil-total', 'Total', 'thousand tonnes of carbon', 'CDIAC', 'ODC-PDDL-1.0'],
      ['co2-fossil-per-capita', 'Per Capita', null, 'CDIAC', 'ODC-PDDL-1.0'],
    ]);
    expect(rows).toEqual([
      ['co2-fossil-per-capita', 'CIV', 2014, 0.14, null, null, false, null],
      ['co2-fossil-per-capita', 'FRA', 2013, 1.4, null, null, false, null],
      ['co2-fossil-per-capita', 'FRA', 2014, null, null, null, false, null],
      ['co2-fossil-total', 'CIV', 2014, 3000, null, null, false, null],
      ['co2-fossil-total', 'FRA', 2013, 90_000.1, null, null, false, null],
      ['co2-fossil-total', 'FRA', 2014, 82_704, null, null, false, null],
    ]);
    expect(record.rejects.unknown_place).toMatchObject({ rows: 2, samples: ['ATLANTIS'] });
  });

  it('a grapher chart: its name; forecasts join, regions are counted', async () => {
    const { record, catalogue, rows } = await ingest('charts');
    expect(catalogue).toMatchObject([
      { slug: 'forest-area', name: 'Forest area', unit: '%', source: 'FAO (2025)' },
    ]);
    expect(record.vintage).toBe('2025-10-01');
    expect(rows).toEqual([
      ['forest-area', 'FRA', 2020, 31.5, null, null, false, null],
      ['forest-area', 'FRA', 2030, 33, null, null, true, null],
      ['forest-area', 'XKX', 2020, 41.2, null, null, false, null],
    ]);
    expect(record.rejects.aggregate_place?.samples).toEqual(['OWID_WRL']);
  });

  it('asked again, an unchanged upstream is an unchanged run', async () => {
    expect((await ingestProvider(dependencies, 'co2')).status).toBe('unchanged');
  });

  it('a definition that does not suit its connector fails with what is wrong', async () => {
    const file = join(dependencies.settings.CURATED_DIR, 'providers', 'wrong.yaml');
    const text = definitionFile('wrong', played.url, {
      connector: 'sdmx-csv',
      places: ['iso3'],
      source: { file: 'x' },
    });
    await writeFile(file, text);
    expect(JSON.parse(await readFile(file, 'utf8')).id).toBe('wrong');
    const curated = await loadCurated(dependencies.settings.CURATED_DIR);
    const record = await ingestProvider({ ...dependencies, curated }, 'wrong');
    expect(record.status).toBe('failed');
    expect(record.reason).toContain('does not suit connector sdmx-csv: source.files');
  });
});
