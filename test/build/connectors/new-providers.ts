/**
 * Fictitious providers, each with a minimal definition: their files, a fake server, and temporary directories for
 * curated data, lake and snapshots.
 */
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { findConnector } from '../../../build/connectors/registry.ts';
import type { IngestDependencies } from '../../../build/ingest/ingest-provider.ts';
import { loadCurated } from '../../../data/curated/curated.ts';
import { filesRoute } from '../fakes/files.ts';
import { type FakeUpstream, startFakeUpstream } from '../fakes/server.ts';

/** The files of each provider. */
const FILES: Record<string, string> = {
  // SDMX-CSV 1.0 of Eurostat.
  'eurostat/data/nama_10_pc/A.CP_EUR_HAB.B1GQ.': [
    'DATAFLOW,LAST UPDATE,freq,unit,na_item,geo,TIME_PERIOD,OBS_VALUE,OBS_FLAG,CONF_STATUS',
    'ESTAT:NAMA_10_PC(1.0),22/05/26 11:00:00,A,CP_EUR_HAB,B1GQ,EL,2023,21640.5,p,',
    'ESTAT:NAMA_10_PC(1.0),22/05/26 11:00:00,A,CP_EUR_HAB,B1GQ,EL,2024,:,,',
    'ESTAT:NAMA_10_PC(1.0),22/05/26 11:00:00,A,CP_EUR_HAB,B1GQ,FR,2024,43000,,',
    'ESTAT:NAMA_10_PC(1.0),22/05/26 11:00:00,A,CP_EUR_HAB,B1GQ,FR,2027,45000,f,',
    'ESTAT:NAMA_10_PC(1.0),22/05/26 11:00:00,A,CP_EUR_HAB,B1GQ,EA20,2024,41000,,',
    '',
  ].join('\r\n'),
  // SDMX-CSV 2.0 of the OECD, with labels.
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
    chart: { title: 'Forest area', citation: 'Forest Survey (2025)' },
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

export const DEFINITIONS: Record<string, Definition> = {
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

/** JSON is valid YAML. */
export const definitionFile = (id: string, origin: string, definition: Definition): string =>
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

export interface NewProviders {
  server: FakeUpstream;
  curatedDir: string;
  snapshotDir: string;
  dependencies: IngestDependencies;
  stop(): Promise<void>;
}

/** Starts the server and writes the definitions into an otherwise empty set of providers. */
export async function startNewProviders(): Promise<NewProviders> {
  const server = await startFakeUpstream([filesRoute(FILES)]);
  const root = await mkdtemp(join(tmpdir(), 'almanac-new-provider-'));
  const curatedDir = join(root, 'data');
  await mkdir(join(curatedDir, 'providers'), { recursive: true });
  for (const name of ['countries.csv', 'topics.yaml', 'places.csv', 'packs.yaml', 'collectors.csv']) {
    await cp(join('data', name), join(curatedDir, name));
  }
  const empty = {
    'concepts.csv': 'id,name,topic,higher_is_better,preferred,projected_from\n',
    'concept-series.csv': 'concept,indicator,factor,deviates,reason\n',
    'links.csv': 'from,to,relation\n',
  };
  for (const [name, text] of Object.entries(empty)) await writeFile(join(curatedDir, name), text);
  for (const [id, definition] of Object.entries(DEFINITIONS)) {
    await writeFile(join(curatedDir, 'providers', `${id}.yaml`), definitionFile(id, server.url, definition));
  }
  const settings = {
    LAKE_DIR: join(root, 'lake'),
    LAKE_KEEP: 3,
    CURATED_DIR: curatedDir,
    PROVIDER_MIRROR: undefined,
  };
  const log = pino({ level: 'silent' });
  return {
    server,
    curatedDir,
    snapshotDir: join(root, 'snapshots'),
    dependencies: { settings, curated: await loadCurated(curatedDir), findConnector, now: Date.now, log },
    async stop() {
      await server.stop();
      await rm(root, { recursive: true, force: true });
    },
  };
}
