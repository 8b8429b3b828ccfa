/**
 * The definitions of Eurostat, OECD and ILOSTAT, read over HTTP from answers written after the documented formats. No
 * answer of the true services was at hand, so the definitions are switched off.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findConnector } from '../../../build/connectors/registry.ts';
import { ingestProvider } from '../../../build/ingest/ingest-provider.ts';
import { ProviderLake } from '../../../build/lake/provider-lake.ts';
import { DuckSession } from '../../../build/runtime/duckdb.ts';
import { type Curated, loadCurated } from '../../../data/curated/curated.ts';
import { DATA } from '../world.ts';

const gzip = (...lines: string[]): Buffer => gzipSync(`${lines.join('\n')}\n`);
const flow = (name: string, ...cells: string[]): string =>
  [`ESTAT:${name}(1.0)`, '05/11/26 23:00:00', ...cells].join(',');
const head = (...dimensions: string[]): string =>
  ['DATAFLOW', 'LAST UPDATE', ...dimensions, 'TIME_PERIOD,OBS_VALUE,OBS_FLAG,CONF_STATUS'].join(',');
const GINI =
  'STRUCTURE,STRUCTURE_ID,STRUCTURE_NAME,ACTION,REF_AREA,Reference area,FREQ,Frequency of observation,MEASURE,Measure,' +
  'STATISTICAL_OPERATION,Statistical operation,UNIT_MEASURE,Unit of measure,AGE,Age,METHODOLOGY,Methodology,' +
  'DEFINITION,Definition,POVERTY_LINE,Poverty line,TIME_PERIOD,Time period,OBS_VALUE,Observation value,' +
  'OBS_STATUS,Observation status';
const idd = (area: string, measure: string, unit: string, line: string, rest: string): string =>
  `DATAFLOW,OECD.WISE.INE:DSD_WISE_IDD@DF_IDD(1.0),Income distribution database,I,${area},Area,A,Annual,${measure},` +
  `Measure,_Z,Not applicable,${unit},Unit,_T,Total,METH2012,New,D_CUR,Current,${line},Line,${rest}`;
const ILO =
  'ref_area,source,indicator,sex,classif1,time,obs_value,obs_status,note_classif,note_indicator,note_source';

/** By path and query below the mirror. */
const ANSWERS: Record<string, Buffer | string> = {
  '/eurostat/tps00001?format=SDMX-CSV&compressed=true': gzip(
    head('freq', 'indic_de', 'geo'),
    flow('TPS00001', 'A,JAN,EL,2024,10400720,,'),
    flow('TPS00001', 'A,JAN,EL,2025,10409547,p,'),
    flow('TPS00001', 'A,JAN,EU27_2020,2024,449306184,bep,'),
    flow('TPS00001', 'A,JAN,AM,2024,2990900,,'),
  ),
  '/eurostat/tps00199?format=SDMX-CSV&compressed=true': gzip(
    head('freq', 'indic_de', 'geo'),
    flow('TPS00199', 'A,TOTFERRT,NO,2023,1.4,b,'),
    flow('TPS00199', 'A,TOTFERRT,NO,2024,:,c,C'),
  ),
  '/eurostat/une_rt_a?format=SDMX-CSV&compressed=true': gzip(
    head('freq', 'age', 'unit', 'sex', 'geo'),
    flow('UNE_RT_A', 'A,Y15-74,PC_ACT,T,DE,2024,3.4,,'),
    flow('UNE_RT_A', 'A,Y15-74,PC_ACT,F,DE,2024,3.1,,'),
    flow('UNE_RT_A', 'A,Y15-24,PC_ACT,T,DE,2024,6.6,,'),
    flow('UNE_RT_A', 'A,Y15-74,THS_PER,T,DE,2024,1498,,'),
  ),
  '/eurostat/sdg_07_40?format=SDMX-CSV&compressed=true': gzip(
    head('freq', 'nrg_bal', 'unit', 'geo'),
    flow('SDG_07_40', 'A,REN,PC,SE,2023,66.393,,'),
    flow('SDG_07_40', 'A,REN_ELC,PC,SE,2023,87.48,,'),
  ),
  '/oecd/OECD.WISE.INE,DSD_WISE_IDD@DF_IDD,1.0/.A.INC_DISP_GINI..0_TO_1._T.METH2012.D_CUR.?dimensionAtObservation=AllDimensions&format=csvfilewithlabels': `${[
    GINI,
    idd('FRA', 'INC_DISP_GINI', '0_TO_1', '_Z', '2022,,0.297,,A,Normal value'),
    idd('CRI', 'INC_DISP_GINI', '0_TO_1', '_Z', '2023,,0.463,,B,Time series break'),
    idd('OECD', 'INC_DISP_GINI', '0_TO_1', '_Z', '2022,,0.315,,E,Estimated value'),
  ].join('\r\n')}\r\n`,
  '/oecd/OECD.WISE.INE,DSD_WISE_IDD@DF_IDD,1.0/.A.PR_INC_DISP._Z.PT_POP._T.METH2012.D_CUR.PL_50?dimensionAtObservation=AllDimensions&format=csvfilewithlabels': `${[GINI, idd('FRA', 'PR_INC_DISP', 'PT_POP', 'PL_50', '2022,,8.3,,P,Provisional value')].join('\r\n')}\r\n`,
  '/ilostat/?id=SDG_0852_SEX_AGE_RT_A&format=.csv.gz': gzip(
    ILO,
    '"JPN","BA:259","SDG_0852_SEX_AGE_RT","SEX_T","AGE_YTHADULT_YGE15","2025",2.5,,,,',
    '"JPN","BA:259","SDG_0852_SEX_AGE_RT","SEX_F","AGE_YTHADULT_YGE15","2025",2.4,,,,',
    '"KOS","BA:481","SDG_0852_SEX_AGE_RT","SEX_T","AGE_YTHADULT_YGE15","2024",10.9,"B",,,',
    '"X01","XA:2198","SDG_0852_SEX_AGE_RT","SEX_T","AGE_YTHADULT_YGE15","2024",4.9,"M",,,',
  ),
  '/ilostat/?id=UNE_2EAP_SEX_AGE_RT_A&format=.csv.gz': gzip(
    ILO,
    '"JPN","XA:1870","UNE_2EAP_SEX_AGE_RT","SEX_T","AGE_YTHADULT_YGE15","2024",2.563,"",,,',
    '"JPN","XA:1870","UNE_2EAP_SEX_AGE_RT","SEX_T","AGE_YTHADULT_YGE15","2027",2.431,"",,,',
  ),
  '/ilostat/?id=EAP_2WAP_SEX_AGE_RT_A&format=.csv.gz': gzip(
    ILO,
    '"JPN","XA:1870","EAP_2WAP_SEX_AGE_RT","SEX_T","AGE_YTHADULT_YGE15","2024",63.4,"",,,',
    '"JPN","XA:1870","EAP_2WAP_SEX_AGE_RT","SEX_T","AGE_YTHADULT_Y15-24","2024",47.1,"",,,',
  ),
};

let server: Server;
let directory: string;
let curated: Curated;
const unexpected: string[] = [];
beforeAll(async () => {
  server = createServer((request, response) => {
    const answer = ANSWERS[decodeURIComponent(request.url ?? '')];
    if (answer === undefined) unexpected.push(request.url ?? '');
    response.writeHead(answer === undefined ? 404 : 200).end(answer);
  }).listen(0, '127.0.0.1');
  await new Promise((listening) => server.once('listening', listening));
  directory = await mkdtemp(join(tmpdir(), 'almanac-offices-'));
  curated = await loadCurated(DATA);
});
afterAll(async () => {
  server.close();
  await rm(directory, { recursive: true, force: true });
});

/** Reads a provider, and returns its rows as text. */
async function read(id: string) {
  const settings = {
    LAKE_DIR: join(directory, 'lake'),
    LAKE_KEEP: 3,
    CURATED_DIR: DATA,
    PROVIDER_MIRROR: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
  };
  const now = () => Date.UTC(2026, 10, 22);
  const log = pino({ level: 'silent' });
  const record = await ingestProvider({ settings, curated, findConnector, now, log }, id);
  expect(unexpected).toEqual([]);
  const run = await new ProviderLake(settings.LAKE_DIR, id).current();
  const duck = await DuckSession.open({ scratch: join(directory, 'scratch') });
  try {
    const rows = await duck.rows(
      `SELECT concat_ws(' ', indicator, iso3, year, value, status) AS row FROM read_parquet($file) ORDER BY ALL`,
      { file: run?.observations ?? '' },
    );
    return { record, rows: rows.map(({ row }) => row) };
  } finally {
    await duck.close();
  }
}

describe('statistical offices', () => {
  it('are switched off until somebody has run them against their origin', () => {
    for (const id of ['eurostat', 'oecd', 'ilostat']) {
      expect(curated.providers.get(id)).toMatchObject({ enabled: false, redistributable: true });
    }
  });

  it('Eurostat: the total of each breakdown, with flags in words, for countries that may be redistributed', async () => {
    const { record, rows } = await read('eurostat');
    expect(record).toMatchObject({
      status: 'succeeded',
      failed_indicators: [],
      vintage: '05/11/26 23:00:00',
    });
    expect(record.lost_places).toBeUndefined();
    expect(rows).toEqual([
      'fertility-rate NOR 2023 1.4 break',
      expect.stringContaining('fertility-rate NOR 2024'),
      'population GRC 2024 10400720.0',
      'population GRC 2025 10409547.0 provisional',
      'renewable-energy-share SWE 2023 66.393',
      'unemployment-rate DEU 2024 3.4',
    ]);
    expect(record.rejects.other_dimension?.samples).toContain('geo=AM');
  });

  it('OECD: labelled SDMX-CSV, without the average of its members', async () => {
    const { record, rows } = await read('oecd');
    expect(record).toMatchObject({ status: 'succeeded', failed_indicators: [] });
    expect(record.rejects).toMatchObject({ aggregate_place: { rows: 1, samples: ['OECD'] } });
    expect(rows).toEqual([
      'gini-disposable-income CRI 2023 0.463 break',
      'gini-disposable-income FRA 2022 0.297',
      'poverty-rate FRA 2022 8.3 provisional',
    ]);
  });

  it('ILOSTAT: totals of both sexes aged 15 and over; regions are no countries', async () => {
    const { record, rows } = await read('ilostat');
    expect(record).toMatchObject({ status: 'succeeded', failed_indicators: [] });
    expect(record.rejects).toMatchObject({ unknown_place: { rows: 1, samples: ['X01'] } });
    expect(rows).toEqual([
      'EAP_2WAP_SEX_AGE_RT JPN 2024 63.4',
      'SDG_0852_SEX_AGE_RT JPN 2025 2.5',
      'SDG_0852_SEX_AGE_RT XKX 2024 10.9 break',
      'UNE_2EAP_SEX_AGE_RT JPN 2024 2.563',
      'UNE_2EAP_SEX_AGE_RT JPN 2027 2.431',
    ]);
  });
});
