/**
 * From a definition file to an answer: unseen providers are ingested, a snapshot is built of them alone, and the gateway
 * serves their indicators, ranks and figures over a real socket.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { buildSnapshot } from '../../../build/editions/build-snapshot.ts';
import { ingestProvider } from '../../../build/ingest/ingest-provider.ts';
import { Service } from '../../gateway/service.ts';
import { DEFINITIONS, startUnseenProviders, type UnseenProviders } from './unseen-providers.ts';

let unseen: UnseenProviders;
let service: Service;

beforeAll(async () => {
  unseen = await startUnseenProviders();
  const { dependencies, snapshotDir } = unseen;
  for (const id of Object.keys(DEFINITIONS)) {
    expect((await ingestProvider(dependencies, id)).status, id).toBe('succeeded');
  }
  const settings = { ...dependencies.settings, SNAPSHOT_DIR: snapshotDir, SNAPSHOT_KEEP: 2 };
  await buildSnapshot({ ...dependencies, settings });
  service = await Service.start({ snapshots: snapshotDir });
});

afterAll(async () => {
  await service?.stop();
  await unseen?.stop();
});

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
    ['co2', 2014, 6],
    ['eurostat', 2024, 4],
    ['oecd', 2022, 3],
  ]);
});
