/** The content of a snapshot: observations with ranks, and the bodies of the free routes. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib';
import { beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  countryDetail,
  countryRecord,
  coverageRecord,
  freshnessRecord,
  indicatorDetail,
  indicatorRecord,
  topicRecord,
} from '../../../data/schema/records.ts';
import { observationsFile, ROUTE_FILES } from '../../../data/schema/snapshot.ts';
import { readObservations, readWithHyparquet, readWithParquetjs } from '../parquet-readers.ts';
import { type Cell, makeSeries, ONE as one, SERVED, type Series, World } from '../world.ts';

let world: World;
beforeEach(async () => {
  world = await World.ofTest();
});

const publish = (series: Record<string, Series>, id?: string) => world.ingestSeries(series, id);
const observations = (id: string) => world.observations(id);

describe('observations', () => {
  it('read equally with parquetjs-lite and hyparquet', async () => {
    await publish({ one });
    await world.build();
    const { directory } = await world.served();
    const file = join(directory, observationsFile('atlas.one'));
    const rows = await readObservations(file);
    expect(rows).toHaveLength(10);
    expect(await readWithHyparquet(file)).toEqual(rows);
    expect(await readWithParquetjs(file)).toEqual(rows);
  });

  it('exclude disabled countries, also from ranks', async () => {
    await publish({
      one: makeSeries(['ATA', 2000, 9], ['FRA', 2000, 1]),
    });
    await world.build();
    expect((await observations('atlas.one')).map(({ iso3, rank }) => [iso3, rank])).toEqual([['FRA', 1]]);
  });

  it('are projected from the curated year where rows have no flag', async () => {
    await world.define('atlas', { indicators: { one: { projected_from: 2001 } } });
    await publish({ one });
    await world.build();
    const { data } = await world.body('routes/indicators/atlas.one.json');
    expect(data).toMatchObject({
      coverage: { n_countries: 4, yr_min: 2000, yr_max: 2003, latest_year: 2000 },
    });
    expect((await observations('atlas.one')).filter(({ projected }) => projected)).toHaveLength(5);
    const france = countryDetail.parse((await world.body('routes/countries/FRA.json')).data);
    expect(france.topics.economy).toMatchObject([{ year: 2000, value: 5, rank: 2 }]);
  });
});

describe('bodies', () => {
  const meta = { generated_at: '2026-11-20T12:00:00+00:00' };

  it('are complete responses of the free routes in the public schemas', async () => {
    await publish({ one, empty: { cells: [['world', 2000, 1]] } });
    await world.build();
    const check = async (path: string, schema: z.ZodType, more: Record<string, unknown>) => {
      const body = await world.body(path);
      expect(Object.keys(body)).toEqual(['data', 'meta']);
      expect(body.meta).toEqual({ ...meta, ...more });
      return schema.parse(body.data);
    };
    const credit = { licence: 'CC BY 4.0', attribution: 'Figures of the atlas' };
    await check(ROUTE_FILES.countries, z.array(z.strictObject(countryRecord.shape)), {
      count: SERVED.length,
    });
    await check(ROUTE_FILES.coverage, z.array(z.strictObject(coverageRecord.shape)), {
      count: SERVED.length,
    });
    await check(ROUTE_FILES.topics, z.array(z.strictObject(topicRecord.shape)).length(13), { count: 13 });
    await check(ROUTE_FILES.freshness, z.array(z.strictObject(freshnessRecord.shape)), { count: 1 });
    await check(ROUTE_FILES.indicators, z.array(z.strictObject(indicatorRecord.shape)), {
      count: 2,
      total: 2,
    });
    await check('routes/indicators/atlas.one.json', z.strictObject(indicatorDetail.shape), credit);
    await check('routes/countries/USA.json', z.strictObject(countryDetail.shape), {
      count: 1,
      topic_counts: { economy: 1 },
    });
  });

  it('have equal variants in br, zstd and gzip', async () => {
    await publish({ one });
    await world.build();
    const { directory } = await world.served();
    for (const path of [
      ROUTE_FILES.indicators,
      'routes/indicators/atlas.one.json',
      'routes/countries/FRA.json',
    ]) {
      const read = (suffix: string) => readFile(join(directory, path + suffix));
      const plain = await read('');
      expect(brotliDecompressSync(await read('.br')).equals(plain)).toBe(true);
      expect(zstdDecompressSync(await read('.zst')).equals(plain)).toBe(true);
      expect(gunzipSync(await read('.gz')).equals(plain)).toBe(true);
    }
  });

  it('have empty coverage for an indicator without values and null without rows', async () => {
    await publish({ one, gaps: { cells: [['FRA', 2000, '']] }, empty: { cells: [['world', 2000, 1]] } });
    await world.build();
    const { data } = await world.body(ROUTE_FILES.indicators);
    const coverage = new Map(
      (data as { id: string; coverage: unknown }[]).map((record) => [record.id, record.coverage]),
    );
    expect(coverage.get('atlas.gaps')).toEqual({
      n_countries: 0,
      yr_min: null,
      yr_max: null,
      latest_year: null,
    });
    expect(coverage.get('atlas.empty')).toBeNull();
    expect(await observations('atlas.empty')).toEqual([]);
    const france = countryDetail.parse((await world.body('routes/countries/FRA.json')).data);
    expect(france.topics.economy).toMatchObject([
      { indicator: 'atlas.gaps', year: 2000, value: null, rank: null },
      { indicator: 'atlas.one', year: 2001, value: 9, rank: 1, rank_delta_1y: 1 },
    ]);
  });

  it('count the rows of a country and the years with values', async () => {
    await publish({ one });
    await world.build();
    const { data } = await world.body(ROUTE_FILES.coverage);
    const rows = new Map((data as { iso3: string }[]).map((record) => [record.iso3, record]));
    expect(rows.get('USA')).toMatchObject({ n_observations: 3, n_indicators: 1, yr_min: 2000, yr_max: 2003 });
    expect(rows.get('BRA')).toMatchObject({ n_observations: 1, n_indicators: 0, yr_min: null, yr_max: null });
    expect(rows.get('AND')).toMatchObject({ n_observations: 0, n_indicators: 0, yr_min: null, yr_max: null });
    expect([...rows.keys()]).toEqual([...rows.keys()].toSorted());
  });

  it('sort names by collation, and the items of a country by topic, curated order and name', async () => {
    await world.define('atlas', {
      indicators: { b: { order: 2 }, a: { order: 3 }, c: { order: 2 }, h: { topic: 'population' } },
    });
    const cells: Cell[] = [['FRA', 2000, 1]];
    await publish({
      a: { name: 'Zebra', cells },
      b: { name: 'Omega', cells },
      c: { name: 'Ärger', cells },
      d: { name: 'Alpha', cells },
      h: { name: 'Heads', cells },
    });
    await world.build();
    const france = countryDetail.parse((await world.body('routes/countries/FRA.json')).data);
    expect(Object.keys(france.topics)).toEqual(['population', 'economy']);
    expect(france.topics.economy?.map(({ name }) => name)).toEqual(['Ärger', 'Omega', 'Zebra', 'Alpha']);
    const countries = (await world.body(ROUTE_FILES.countries)).data as { name: string }[];
    const names = countries.map(({ name }) => name);
    expect(names.indexOf('Åland Islands')).toBeLessThan(names.indexOf('Albania'));
  });

  it('take freshness from the last good run, including unchanged ones', async () => {
    await publish({ one });
    world.tomorrow();
    expect(await world.ingest('atlas')).toMatchObject({ status: 'unchanged' });
    await world.build();
    expect((await world.body(ROUTE_FILES.freshness)).data).toMatchObject([
      {
        provider_id: 'atlas',
        last_ok_finished_at: '2026-11-21T12:00:00+00:00',
        last_ok_rows: 10,
        latest_data_year: 2003,
      },
    ]);
  });
});
