/**
 * "A new provider of a known protocol is one definition file, no code": unseen providers, served over HTTP by a local
 * server, go through the real ingestion into a real lake.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ingestProvider } from '../../../build/ingest/ingest-provider.ts';
import { ProviderLake } from '../../../build/lake/lake.ts';
import { loadCurated } from '../../../data/curated/curated.ts';
import { definitionFile, startUnseenProviders, type UnseenProviders } from './unseen-providers.ts';

describe('a new provider is one definition file', () => {
  let unseen: UnseenProviders;
  beforeAll(async () => {
    unseen = await startUnseenProviders();
  });
  afterAll(() => unseen.stop());

  async function ingest(id: string) {
    const record = await ingestProvider(unseen.dependencies, id);
    expect(record.reason).toBeNull();
    expect(record.status).toBe('succeeded');
    const lake = new ProviderLake(unseen.dependencies.settings.LAKE_DIR, id);
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

  it('reads Eurostat from a file name and a place scheme', async () => {
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
    expect(unseen.played.requests).toContain(
      '/eurostat/data/nama_10_pc/A.CP_EUR_HAB.B1GQ.?format=SDMX-CSV&lang=en',
    );
  });

  it('reads the OECD from a file name and an indicator dimension, and pins the total', async () => {
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

  it('reads a Frictionless package from its URL', async () => {
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

  it('reads a grapher chart from its name, pairs forecasts, and counts regions', async () => {
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

  it('ends a run of an unchanged upstream as unchanged', async () => {
    expect((await ingestProvider(unseen.dependencies, 'co2')).status).toBe('unchanged');
  });

  it('names the wrong setting of a definition', async () => {
    const source = { file: 'x' };
    const wrong = definitionFile('wrong', unseen.played.url, {
      connector: 'sdmx-csv',
      places: ['iso3'],
      source,
    });
    await writeFile(join(unseen.curatedDir, 'providers', 'wrong.yaml'), wrong);
    const curated = await loadCurated(unseen.curatedDir);
    const record = await ingestProvider({ ...unseen.dependencies, curated }, 'wrong');
    expect(record.status).toBe('failed');
    expect(record.reason).toContain('does not suit connector sdmx-csv: source.files');
  });
});
