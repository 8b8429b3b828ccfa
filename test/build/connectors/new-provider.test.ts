/**
 * A new provider of a known protocol needs a definition file and no code: fictitious providers pass through ingestion,
 * the build and the gateway.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildSnapshot } from '../../../build/editions/build-snapshot.ts';
import { ingestProvider } from '../../../build/ingest/ingest-provider.ts';
import { ProviderLake } from '../../../build/lake/provider-lake.ts';
import { loadCurated } from '../../../data/curated/curated.ts';
import { Service } from '../../gateway/service.ts';
import { DEFINITIONS, definitionFile, type NewProviders, startNewProviders } from './new-providers.ts';

let providers: NewProviders;
const ingested = new Map<string, Awaited<ReturnType<typeof ingest>>>();

beforeAll(async () => {
  providers = await startNewProviders();
  for (const id of Object.keys(DEFINITIONS)) ingested.set(id, await ingest(id));
});
afterAll(() => providers?.stop());

async function ingest(id: string) {
  const record = await ingestProvider(providers.dependencies, id);
  expect(record.reason).toBeNull();
  expect(record.status).toBe('succeeded');
  const lake = new ProviderLake(providers.dependencies.settings.LAKE_DIR, id);
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

function stored(id: string): Awaited<ReturnType<typeof ingest>> {
  const result = ingested.get(id);
  if (!result) throw new Error(`${id} was not ingested`);
  return result;
}

describe('ingestion with a minimal definition', () => {
  it('reads Eurostat from a file name and a place scheme', () => {
    const { record, catalogue, rows } = stored('eurostat');
    expect(catalogue).toMatchObject([{ slug: 'NAMA_10_PC', unit: 'CP_EUR_HAB' }]);
    expect(record.vintage).toBe('22/05/26 11:00:00');
    expect(rows).toEqual([
      ['NAMA_10_PC', 'FRA', 2024, 43_000, null, null, false, null],
      ['NAMA_10_PC', 'FRA', 2027, 45_000, null, null, true, 'forecast'],
      ['NAMA_10_PC', 'GRC', 2023, 21_640.5, null, null, false, 'provisional'],
      ['NAMA_10_PC', 'GRC', 2024, null, null, null, false, null],
    ]);
    expect(record.rejects.unknown_place?.samples).toEqual(['EA20']);
    expect(providers.server.requests).toContain(
      '/eurostat/data/nama_10_pc/A.CP_EUR_HAB.B1GQ.?format=SDMX-CSV&lang=en',
    );
  });

  it('reads the OECD from a file name and an indicator dimension, and pins the total', () => {
    const { record, catalogue, rows } = stored('oecd');
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

  it('reads a Frictionless package from its URL', () => {
    const { record, catalogue, rows } = stored('co2');
    expect(
      catalogue.map(({ slug, name, unit, source, licence }) => [slug, name, unit, source, licence]),
    ).toEqual([
      ['co2-fossil-total', 'Total', 'thousand tonnes of carbon', 'CDIAC', 'ODC-PDDL-1.0'],
      ['co2-fossil-per-capita', 'Per Capita', null, 'CDIAC', 'ODC-PDDL-1.0'],
    ]);
    expect(rows).toEqual([
      ['co2-fossil-per-capita', 'CIV', 2014, 0.14, null, null, false, null],
      ['co2-fossil-per-capita', 'FRA', 2013, 1.4, null, null, false, null],
      ['co2-fossil-total', 'CIV', 2014, 3000, null, null, false, null],
      ['co2-fossil-total', 'FRA', 2013, 90_000.1, null, null, false, null],
      ['co2-fossil-total', 'FRA', 2014, 82_704, null, null, false, null],
    ]);
    expect(record.rejects.unknown_place).toMatchObject({ rows: 2, samples: ['ATLANTIS'] });
  });

  it('reads a grapher chart from its name, pairs forecasts, and counts regions', () => {
    const { record, catalogue, rows } = stored('charts');
    expect(catalogue).toMatchObject([
      { slug: 'forest-area', name: 'Forest area', unit: '%', source: 'Forest Survey (2025)' },
    ]);
    expect(record.vintage).toBe('2025-10-01');
    expect(rows).toEqual([
      ['forest-area', 'FRA', 2020, 31.5, null, null, false, null],
      ['forest-area', 'FRA', 2030, 33, null, null, true, 'forecast'],
      ['forest-area', 'XKX', 2020, 41.2, null, null, false, null],
    ]);
    expect(record.rejects.aggregate_place?.samples).toEqual(['OWID_WRL']);
  });
});

describe('a snapshot of new providers only', () => {
  let service: Service;
  beforeAll(async () => {
    const { dependencies, snapshotDir } = providers;
    const settings = {
      ...dependencies.settings,
      SNAPSHOT_DIR: snapshotDir,
      SNAPSHOT_KEEP: 2,
      SIGNING_DIR: `${snapshotDir}-signing`,
    };
    await buildSnapshot({ ...dependencies, settings });
    service = await Service.start({ snapshots: snapshotDir });
  });
  afterAll(() => service?.stop());

  it('lists their indicators by provider', async () => {
    const { json } = await service.get('/v1/indicators?sort=source');
    expect(json.data.map(({ id }: { id: string }) => id)).toEqual([
      'charts.forest-area',
      'co2.co2-fossil-per-capita',
      'co2.co2-fossil-total',
      'eurostat.NAMA_10_PC',
      'oecd.IM',
      'oecd.LE',
    ]);
    expect((await service.get('/v1/indicators?projections=true&sort=name')).json.data).toMatchObject([
      { id: 'charts.forest-area', coverage: { latest_year: 2020, yr_max: 2030 } },
      { id: 'eurostat.NAMA_10_PC', coverage: { latest_year: 2024, yr_max: 2027 } },
    ]);
  });

  it('serves their figures and ranks, with gaps and forecasts', async () => {
    const { key } = await service.account();
    const { json } = await service.get('/v1/data?indicator=eurostat.NAMA_10_PC', { key });
    const none = { ci_lo: null, ci_hi: null };
    expect(json.data).toEqual([
      { iso3: 'FRA', year: 2024, value: 43_000, ...none, rank: 1, projected: false },
      { iso3: 'FRA', year: 2027, value: 45_000, ...none, rank: 1, projected: true },
      { iso3: 'GRC', year: 2023, value: 21_640.5, ...none, rank: 1, projected: false },
      { iso3: 'GRC', year: 2024, value: null, ...none, rank: null, projected: false },
    ]);
    const ranking = await service.get('/v1/rankings/oecd.LE', { key });
    expect(ranking.json.meta).toMatchObject({ year: 2022, ranked: 2 });
    expect(ranking.json.data.slice(0, 2)).toMatchObject([
      { rank: 1, iso3: 'FRA', value: 82.3 },
      { rank: 2, iso3: 'DEU', value: 80.7 },
    ]);
  });

  it('serves their freshness', async () => {
    const { json } = await service.get('/v1/meta/freshness');
    expect(
      json.data.map((one: Record<string, unknown>) => [
        one.provider_id,
        one.latest_data_year,
        one.last_ok_rows,
      ]),
    ).toEqual([
      ['charts', 2020, 3],
      ['co2', 2014, 5],
      ['eurostat', 2024, 4],
      ['oecd', 2022, 3],
    ]);
  });
});

it('ends a run of an unchanged upstream as unchanged', async () => {
  expect((await ingestProvider(providers.dependencies, 'co2')).status).toBe('unchanged');
});

it('names the wrong setting of a definition', async () => {
  const source = { file: 'x' };
  const wrong = definitionFile('wrong', providers.server.url, {
    connector: 'sdmx-csv',
    places: ['iso3'],
    source,
  });
  await writeFile(join(providers.curatedDir, 'providers', 'wrong.yaml'), wrong);
  const curated = await loadCurated(providers.curatedDir);
  const record = await ingestProvider({ ...providers.dependencies, curated }, 'wrong');
  expect(record.status).toBe('failed');
  expect(record.reason).toContain('is not valid for connector sdmx-csv: source.files');
});
