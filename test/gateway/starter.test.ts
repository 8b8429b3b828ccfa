/** What `npm start` serves on a fresh machine: the starter data, through the gateway. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { ProviderLake } from '../../build/lake/provider-lake.ts';
import { loadCurated } from '../../data/curated/curated.ts';
import { TOPIC_SLUGS } from '../../data/schema/curated.ts';
import type { IndicatorRecord, ObservationRow } from '../../data/schema/records.ts';
import { buildStarter } from '../shared-builds.ts';
import { readStarterManifest } from '../starter-manifest.ts';
import { expectComputedAsPrerendered, openBothWays } from './computed-bodies.ts';
import { useService } from './service.ts';

const manifest = readStarterManifest();

const built = await buildStarter();
const service = await useService({ snapshots: built.snapshots });
const { key } = await service.account({ credits: 10_000_000 });
const records: IndicatorRecord[] = (await service.get('/v1/indicators')).json.data;

const rowsOf = async (query: string): Promise<ObservationRow[]> =>
  (await service.get(`/v1/data?${query}`, { key })).json.data;

describe('the starter data, served', () => {
  it('are exactly the indicators of the manifest, under its licences', () => {
    const promised = manifest.map(({ indicator, licence }) => `${indicator}: ${licence}`);
    expect(records.map(({ id, licence }) => `${id}: ${licence}`).toSorted()).toEqual(promised.toSorted());
    expect(records.length).toBeGreaterThanOrEqual(150);
  });

  it('give the same answers computed from kept files, as later nights will', async () => {
    const both = await openBothWays(built.snapshots, service.snapshots.current()?.id ?? '');
    await expectComputedAsPrerendered(both);
    both.close();
  });

  it('come from at least five providers and fill all 13 topics, each with featured ones', async () => {
    expect(new Set(records.map(({ provider }) => provider.id)).size).toBeGreaterThanOrEqual(5);
    for (const topic of TOPIC_SLUGS) {
      const own = records.filter((record) => record.topic === topic);
      expect(own.length, topic).toBeGreaterThanOrEqual(4);
      expect(own.filter(({ featured }) => featured).length, topic).toBeGreaterThanOrEqual(1);
    }
  });

  it('are all open, with a unit, our description and a credit line', () => {
    for (const { id, access_tier, unit, description, attribution } of records) {
      expect(access_tier, id).toBe('open');
      for (const text of [unit, description, attribution]) expect(text, id).toMatch(/\S/);
    }
  });

  it('cover most countries and recent years', () => {
    const wide = records.filter(({ coverage }) => (coverage?.n_countries ?? 0) >= 150);
    expect(wide.length).toBeGreaterThan(0.8 * records.length);
    const recent = records.filter(({ coverage }) => (coverage?.latest_year ?? 0) >= 2022);
    expect(recent.length).toBeGreaterThan(0.8 * records.length);
  });

  it('have confidence bounds around their values', async () => {
    const rows = await rowsOf('indicator=owid-datasets.government-transparency');
    expect(rows.length).toBeGreaterThan(3_000);
    for (const { iso3, year, value, ci_lo, ci_hi } of rows) {
      const figures = [ci_lo, value, ci_hi];
      expect(figures, `${iso3} ${year}`).toEqual(figures.toSorted((a, b) => Number(a) - Number(b)));
      expect(figures).not.toContain(null);
    }
  });

  it('have projections, marked as such and not counted as measured', async () => {
    const rows = await rowsOf('indicator=owid.population-total&countries=BRA&from=2000&to=2100');
    expect(rows.filter(({ projected }) => projected).map(({ year }) => year)).toContain(2050);
    expect(rows.filter(({ projected }) => !projected).map(({ year }) => year)).toContain(2020);
    const projecting = records.filter(
      ({ coverage }) => (coverage?.yr_max ?? 0) > (coverage?.latest_year ?? 0),
    );
    expect(projecting.length).toBeGreaterThanOrEqual(10);
  });

  it('have series of one concept from several providers, related to each other', async () => {
    const { json } = await service.get('/v1/indicators/world-bank.SP.POP.TOTL');
    const same = json.data.related.filter(
      ({ relation }: { relation: string }) => relation === 'same_concept',
    );
    const providers = same.map(({ id }: { id: string }) => id.split('.')[0]);
    expect(new Set(providers)).toEqual(new Set(['owid', 'owid-datasets']));
  });

  it("are the figures of Gapminder's committed file, each", async () => {
    const slug = 'gdppercapita_us_inflation_adjusted';
    const path = `gapminder/countries-etc-datapoints/ddf--datapoints--${slug}--by--geo--time.csv.gz`;
    const text = gunzipSync(await readFile(join('data/starter', path))).toString();
    const { places } = await loadCurated('data');
    const upstream = text.trim().split('\n').slice(1);
    const expected = upstream.map((line) => {
      const [geo = '', year, value] = line.trim().split(',');
      const place = places.resolve(['iso3', 'gapminder'], geo);
      return `${place.kind === 'country' && place.iso3} ${year} ${Number(value)}`;
    });
    const rows = await rowsOf(`indicator=gapminder.${slug}`);
    expect(rows.length).toBeGreaterThan(10_000);
    const figures = rows.map(({ iso3, year, value }) => `${iso3} ${year} ${value}`);
    expect(figures.toSorted()).toEqual(expected.toSorted());
  });

  it('leave nothing out: no row is rejected and no series fails', async () => {
    for (const provider of new Set(manifest.map((one) => one.provider))) {
      const record = (await new ProviderLake(built.lake, provider).current())?.record;
      expect(record, provider).toMatchObject({ starter: true, rejects: {}, failed_indicators: [] });
    }
  });
});
