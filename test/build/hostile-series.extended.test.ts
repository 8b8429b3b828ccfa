/** Whatever figures and names a provider lawfully publishes, each step of the build takes them and the gateway shows them. */
import { afterAll, describe, expect, it } from 'vitest';
import { verifyPublished } from '../../build/editions/verify.ts';
import { loadCurated } from '../../data/curated/curated.ts';
import type { IndicatorRecord } from '../../data/schema/records.ts';
import { SEED } from '../environment.ts';
import { call } from '../gateway/api/mcp/mcp-client.ts';
import { useService } from '../gateway/service.ts';
import { hostileNights, isExtreme } from './hostile-series.ts';

const NIGHTS = 3;

const built = await hostileNights(SEED ?? 35, NIGHTS);
afterAll(() => built.world.remove());
const service = await useService({ snapshots: built.world.settings.SNAPSHOT_DIR });
const key = await service.account({ credits: 100_000_000 });
const records: IndicatorRecord[] = (await service.get('/v1/indicators?limit=500')).json.data;

it('publishes every figure, as the double that upstream wrote', async () => {
  for (const [slug, { cells }] of Object.entries(built.series)) {
    const rows = await built.world.observations(`hostile.${slug}`);
    const published = rows.map(({ iso3, year, value }) => [iso3, year, value]);
    expect(published, slug).toEqual(cells.map(([place, year, value]) => [place, year, Number(value) + 0]));
  }
});

it('is verified against the lake', async () => {
  const { settings, clock } = built.world;
  const verified = await verifyPublished(settings, await loadCurated(settings.CURATED_DIR), clock);
  expect(verified).toMatchObject({ traced: 2 * Object.keys(built.series).length + 1, outdated: 0 });
});

it('fails no check, and finds each series whose figures cannot be computed with', async () => {
  expect(built.errors).toEqual([]);
  const extreme = Object.entries(built.series).filter(([, { cells }]) =>
    cells.some(([, , value]) => isExtreme(Number(value))),
  );
  const findings = await built.findings();
  const found = findings.flatMap(({ kind, indicator }) =>
    kind === 'figures_not_checked' ? [indicator] : [],
  );
  expect(found.filter((id) => !id?.startsWith('bounded.')).sort()).toEqual(
    extreme.map(([slug]) => `hostile.${slug}`).sort(),
  );
  expect(extreme.length).toBeGreaterThan(3);
});

describe('the gateway', () => {
  const isNumber = (text: string): boolean => !/NaN|Infinity|∞|undefined/.test(text);

  const pagesOf = (id: string): string[] => [
    ...['', '/map.svg', '/lines.svg', '/bars.svg'].map((part) => `/indicators/${id}${part}`),
    `/embed/indicators/${id}?picture=lines`,
    `/compare?countries=FRA,AGO,ALB&indicators=${id},plain.harmless`,
    `/compare/scatter.svg?indicators=plain.harmless,${id}`,
    `/compare/scatter.svg?indicators=${id},plain.harmless`,
  ];
  const callsOf = (id: string): string[] => [
    ...['csv', 'ndjson', 'xlsx', 'arrow', 'parquet', 'sdmx-csv'].map(
      (format) => `/v1/data?indicator=${id}&format=${format}`,
    ),
    ...[`/v1/rankings/${id}`, `/v1/revisions?indicator=${id}`, `/v1/files/${id}.parquet`],
    ...['', '/croissant.json', '/citation.bib'].map((file) => `/v1/indicators/${id}${file}`),
  ];
  const OTHERS = [
    ...['/', '/indicators', '/countries/AGO', '/countries/AGO/card.png', '/topics/economy', '/sitemap.xml'],
    ...['/v1/countries/AGO', '/v1/bundles/hostile.parquet', '/v1/catalog.jsonld', '/v1/changes'],
  ];

  it('draws and writes numbers on every page and picture', async () => {
    for (const { id } of records)
      for (const path of pagesOf(id)) {
        const { status, text } = await service.get(path);
        expect([path, status]).toEqual([path, 200]);
        expect(isNumber(text), path).toBe(true);
      }
  });

  it('answers every call', async () => {
    for (const path of [...records.flatMap(({ id }) => callsOf(id)), ...OTHERS]) {
      const { status } = await service.get(path, { key: key.key });
      expect([path, status]).toEqual([path, 200]);
    }
    for (const [slug, { cells }] of Object.entries(built.series)) {
      const { data } = (await service.get(`/v1/data?indicator=hostile.${slug}`, { key: key.key })).json;
      const values = cells.map(([, , value]) => Number(value) + 0);
      expect(data.map(({ value }: { value: number }) => value)).toEqual(values);
    }
  });

  it('summarises, ranks, compares and verifies for agents', async () => {
    const countries = ['Angola', 'Albania'];
    for (const { id: indicator, name } of records) {
      const claim = { indicator, country: 'Angola', year: 2024, value: '1e308' };
      const calls: [string, Record<string, unknown>][] = [
        ['get_data', { indicators: [indicator], countries }],
        ['rank_countries', { indicator }],
        ['compare_countries', { indicators: [indicator], countries }],
        ['describe_indicator', { indicator }],
        ['find_indicators', { query: name.slice(0, 100).trim() || 'x' }],
        ['verify_claims', { claims: [claim] }],
      ];
      for (const [tool, args] of calls) {
        const { isError, text } = await call(service, tool, args, { key });
        expect(isError, `${tool} ${indicator}: ${text}`).toBe(false);
      }
    }
    expect((await call(service, 'country_profile', { country: 'Angola' }, { key })).isError).toBe(false);
  });
});
