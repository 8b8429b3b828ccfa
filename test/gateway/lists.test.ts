/** GET /indicators/{indicator_id}, /topics, /meta/freshness, /meta/coverage. */
import { describe, expect, test } from 'vitest';
import { TOPIC_SLUGS } from '../../data/schema/curated.ts';
import * as records from '../../data/schema/records.ts';
import { stopAfterTests } from '../after-tests.ts';
import { codeOf, Service } from './service.ts';

const service = await stopAfterTests(Service.start());

describe('GET /v1/indicators/{indicator_id}', () => {
  test('data: the record of the list plus related; meta: generated_at, licence, attribution', async () => {
    const listed = (await service.get('/v1/indicators')).json.data;
    for (const record of listed) {
      const { json } = await service.get(`/v1/indicators/${record.id}`);
      const { related, ...rest } = json.data;
      expect(rest).toEqual(record);
      expect(related.length).toBeGreaterThan(0);
      expect(related.length).toBeLessThanOrEqual(12);
      expect(json.meta).toEqual({
        generated_at: '2026-11-20T02:00:00+00:00',
        licence: record.licence,
        attribution: record.attribution,
      });
    }
  });

  test('coverage is null when there is none yet', async () => {
    expect((await service.get('/v1/indicators/beta.empty_series')).json.data.coverage).toBeNull();
  });

  test.each([
    ['ALPHA.life_expectancy', 'ALPHA.life_expectancy'],
    ['alpha.Life_Expectancy', 'alpha.Life_Expectancy'],
    ['alpha.gdp.pcap.cd', 'alpha.gdp.pcap.cd'],
    ['life_expectancy', 'life_expectancy'],
    ['alpha.life_expectancy%20', 'alpha.life_expectancy '],
    ['alpha.life', 'alpha.life'],
    ['%F0%9F%87%B0%F0%9F%87%AA', '🇰🇪'],
    ['__proto__', '__proto__'],
  ])('404 indicator_not_found repeats the id: %s', async (sent, named) => {
    const answer = await service.get(`/v1/indicators/${sent}`);
    expect(answer.status).toBe(404);
    expect(codeOf(answer)).toBe('indicator_not_found');
    expect(answer.json.error.message).toContain(`'${named}'`);
    expect(answer.headers['x-snapshot']).toBe(service.snapshots.current()?.id);
  });

  test('accepts a percent-encoded id', async () => {
    expect((await service.get('/v1/indicators/alpha%2Elife%5Fexpectancy')).status).toBe(200);
  });
});

describe('GET /v1/topics', () => {
  test('the 13 topics in curated order with counts', async () => {
    const { json } = await service.get('/v1/topics');
    expect(json.data.map(({ slug }: { slug: string }) => slug)).toEqual(TOPIC_SLUGS);
    for (const topic of json.data) expect(records.topicRecord.strict().safeParse(topic).success).toBe(true);
    expect(json.meta).toEqual({ generated_at: '2026-11-20T02:00:00+00:00', count: 13 });
  });
});

describe('GET /v1/meta/freshness', () => {
  test('one record per provider by provider_id', async () => {
    const { json } = await service.get('/v1/meta/freshness');
    expect(json.data.map(({ provider_id }: { provider_id: string }) => provider_id)).toEqual([
      'alpha',
      'beta',
      'gamma',
    ]);
    for (const row of json.data) expect(records.freshnessRecord.strict().safeParse(row).success).toBe(true);
    expect(json.meta.count).toBe(3);
  });
});

describe('GET /v1/meta/coverage', () => {
  test('one record per country by iso3', async () => {
    const { json } = await service.get('/v1/meta/coverage');
    const codes = json.data.map(({ iso3 }: { iso3: string }) => iso3);
    expect(codes).toEqual(codes.toSorted());
    for (const row of json.data) expect(records.coverageRecord.strict().safeParse(row).success).toBe(true);
    expect(json.meta.count).toBe(11);
  });
});

test.each(['/v1/topics', '/v1/meta/freshness', '/v1/meta/coverage'])(
  '%s takes no parameters',
  async (path) => {
    const plain = await service.get(path);
    expect((await service.get(`${path}?region=x&limit=0&q=%ff`)).text).toBe(plain.text);
  },
);
