/**
 * The definitions of Eurostat, OECD, ILOSTAT, WHO and UNICEF, read over HTTP from answers of the recorded shape. The first
 * three were never run against their origin, so they are switched off.
 */
import { createServer } from 'node:http';
import { join } from 'node:path';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { findConnector } from '../../../build/connectors/registry.ts';
import { ingestProvider } from '../../../build/ingest/ingest-provider.ts';
import { ProviderLake } from '../../../build/lake/provider-lake.ts';
import { DuckSession } from '../../../build/runtime/duckdb.ts';
import { type Curated, loadCurated } from '../../../data/curated/curated.ts';
import { stopAfterTests, useDirectory } from '../../after-tests.ts';
import { listen } from '../../listen.ts';
import { DATA } from '../world.ts';
import { type Answers, EUROSTAT, ILOSTAT, NO_ROWS, OECD, UNICEF, WHO } from './recorded-answers.ts';

const ANSWERS: Record<string, Answers> = {
  eurostat: EUROSTAT,
  oecd: OECD,
  ilostat: ILOSTAT,
  'who-gho': WHO,
  unicef: UNICEF,
};

const unexpected: string[] = [];
const offices = createServer((request, response) => {
  const [, id = '', reference = ''] = /^\/([^/]+)(.*)$/.exec(decodeURIComponent(request.url ?? '')) ?? [];
  const answer = ANSWERS[id]?.[reference] ?? (id === 'who-gho' ? NO_ROWS : undefined);
  if (answer === undefined) unexpected.push(`${id}${reference}`);
  response.writeHead(answer === undefined ? 404 : 200).end(answer);
});
const server = await stopAfterTests(listen(offices));
const directory = await useDirectory();
const curated = await loadCurated(DATA);

/** The curated data, with the server as the origin of a provider. */
function atServer(id: string): Curated {
  const definition = curated.providers.get(id);
  if (!definition) throw new Error(`no provider ${id}`);
  const origin = `${server.url}/${id}/`;
  return { ...curated, providers: new Map([[id, { ...definition, origin }]]) };
}

/** Reads a provider as from its origin, and returns its rows as text. */
async function read(id: string) {
  const settings = { LAKE_DIR: join(directory, 'lake'), LAKE_KEEP: 3, CURATED_DIR: DATA };
  unexpected.length = 0;
  const now = () => Date.UTC(2026, 10, 22);
  const log = pino({ level: 'silent' });
  const record = await ingestProvider({ settings, curated: atServer(id), findConnector, now, log }, id);
  expect(record.rejects.unknown_place).toBeUndefined();
  expect(record.lost_places).toBeUndefined();
  const run = await new ProviderLake(settings.LAKE_DIR, id).current();
  await using duck = await DuckSession.open({ scratch: join(directory, 'scratch') });
  const rows = await duck.rows(
    `SELECT concat_ws(' ', indicator, iso3, year, value, status) AS row FROM read_parquet($file) ORDER BY ALL`,
    { file: run?.observations ?? '' },
  );
  return { record, rows: rows.map(({ row }) => row) };
}

describe('statistical offices', () => {
  it('are switched off until somebody has run them against their origin', () => {
    for (const id of ['eurostat', 'oecd', 'ilostat']) {
      expect(curated.providers.get(id)).toMatchObject({ enabled: false, redistributable: true });
    }
  });

  it('Eurostat: the total of each breakdown, with flags in words, for countries that may be redistributed', async () => {
    const { record, rows } = await read('eurostat');
    expect(unexpected).toEqual([]);
    expect(record).toMatchObject({
      status: 'succeeded',
      failed_indicators: [],
      vintage: '10/09/26 23:00:00',
    });
    expect(rows).toEqual([
      'fertility-rate NOR 2023 1.4 break',
      expect.stringContaining('fertility-rate NOR 2024'),
      'population GRC 2024 10400720.0',
      'population GRC 2025 10409547.0 provisional',
      'renewable-energy-share SWE 2023 66.393',
      'unemployment-rate DEU 2020 3.6 break',
      'unemployment-rate DEU 2025 3.8',
      'unemployment-rate FRA 2025 7.7 definition differs',
      'unemployment-rate GRC 2025 8.9',
    ]);
    expect(record.rejects.other_dimension?.samples).toEqual(
      expect.arrayContaining(['geo=AM', 'geo=EU27_2020']),
    );
  });

  it('OECD: labelled SDMX-CSV, without the average of its members', async () => {
    const { record, rows } = await read('oecd');
    expect(unexpected).toEqual([]);
    expect(record).toMatchObject({ status: 'succeeded', failed_indicators: [] });
    expect(record.rejects).toEqual({ aggregate_place: { rows: 1, distinct: 1, samples: ['OECD'] } });
    expect(rows).toEqual([
      'gini-disposable-income CRI 2023 0.463 break',
      'gini-disposable-income FRA 2022 0.297',
      'gini-disposable-income FRA 2023 0.29899999499321',
      'poverty-rate FRA 2022 8.3 provisional',
    ]);
  });

  it('ILOSTAT: totals of both sexes aged 15 and over, with its own words for statuses; regions are no countries', async () => {
    const { record, rows } = await read('ilostat');
    expect(unexpected).toEqual([]);
    expect(record).toMatchObject({ status: 'succeeded', failed_indicators: [] });
    expect(record.rejects).toMatchObject({
      aggregate_place: { rows: 3, samples: ['X01', 'X36'] },
      historical_place: { rows: 1, samples: ['ANT'] },
    });
    expect(rows).toEqual([
      'EAP_2WAP_SEX_AGE_RT JPN 2024 63.4',
      'SDG_0852_SEX_AGE_RT JPN 2025 2.5',
      'SDG_0852_SEX_AGE_RT KEN 2005 9.957 break',
      'SDG_0852_SEX_AGE_RT KEN 2020 low reliability',
      'SDG_0852_SEX_AGE_RT USA 2024 4.022 reported',
      'SDG_0852_SEX_AGE_RT USA 2025 4.282 adjusted',
      'SDG_0852_SEX_AGE_RT XKX 2024 10.9 modelled',
      'UNE_2EAP_SEX_AGE_RT JPN 2024 2.563',
      'UNE_2EAP_SEX_AGE_RT JPN 2027 2.431',
    ]);
  });

  it('WHO: suicides of all ages by sex, beside bands of age', async () => {
    const { record, rows } = await read('who-gho');
    expect(record).toMatchObject({ status: 'succeeded', failed_indicators: [] });
    expect(record.rejects).toMatchObject({
      aggregate_place: { rows: 1, samples: ['EUR'] },
      other_dimension: { rows: 2, samples: ['AGEGROUP=YEARS50-69', 'AGEGROUP=YEARS15-29'] },
    });
    expect(rows).toEqual([
      'SDGSUICIDE RUS 2021 21.37479131',
      'SDGSUICIDE_FMLE LTU 2000 12.83071684',
      'SDGSUICIDE_MLE RUS 2021 36.68325073',
    ]);
  });

  it('UNICEF: both sexes, all wealth quintiles; regions are no countries', async () => {
    const { record, rows } = await read('unicef');
    expect(unexpected).toEqual([]);
    expect(record).toMatchObject({ status: 'succeeded', failed_indicators: [] });
    expect(record.rejects).toMatchObject({
      aggregate_place: { rows: 1, samples: ['UNICEF_EAP'] },
      other_dimension: { rows: 1, samples: ['SEX=F'] },
    });
    expect(rows).toEqual([
      'CME_MRM0 USA 2020 3.63811577117753',
      'CME_MRY0 USA 2020 5.4',
      'CME_MRY0T4 BRA 2020 14.8690551',
      'CME_TMM0 USA 2020 13400.0',
      'CME_TMY0T4 USA 2020 23900.0',
      'IM_MCV1 USA 2023 92.0 estimated',
    ]);
  });

  it.each([
    ['eurostat', ['EU27_2020', 'EU28', 'EU27_2007', 'EA20', 'EEA31', 'EFTA']],
    ['ilostat', ['X01', 'X02', 'X06', 'X36', 'X82']],
  ])('%s: its groups of countries are known as such, not unknown places', (id, codes) => {
    const schemes = curated.providers.get(id)?.places ?? [];
    for (const code of codes)
      expect(curated.places.resolve(schemes, code), code).toEqual({ kind: 'aggregate' });
  });
});
