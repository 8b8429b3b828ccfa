/** GET /countries, /countries/{iso3}, /indicators/{indicator_id}, /topics, /meta/freshness, /meta/coverage. */
import { describe, expect, test } from 'vitest';
import { TOPIC_SLUGS } from '../../data/schema/curated.ts';
import * as records from '../../data/schema/records.ts';
import { codeOf, useService } from './service.ts';

const service = await useService();
const owner = await service.account();

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

  test.each([
    ['alpha.life_expectency', 'alpha.life_expectancy, beta.life_expectancy'],
    ['LIFE_EXPECTANCY', 'alpha.life_expectancy, beta.life_expectancy'],
    ['alpha.gdp.pcap.cd', 'alpha.GDP.PCAP.CD'],
  ])('404 indicator_not_found names the ids spelt most like it: %s', async (sent, nearest) => {
    const { message } = (await service.get(`/v1/indicators/${sent}`)).json.error;
    expect(message).toBe(`No indicator has the id '${sent}'. Nearest: ${nearest}.`);
    const owner = await service.account({ credits: 1 });
    const paid = await service.get(`/v1/data?indicator=${sent}`, { key: owner.key });
    expect([paid.json.error.message, paid.headers['x-credits-charged']]).toEqual([message, '0']);
  });

  test('accepts a percent-encoded id', async () => {
    expect((await service.get('/v1/indicators/alpha%2Elife%5Fexpectancy')).status).toBe(200);
  });
});

test('GET /v1/topics the 13 topics in curated order with counts', async () => {
  const { json } = await service.get('/v1/topics');
  expect(json.data.map(({ slug }: { slug: string }) => slug)).toEqual(TOPIC_SLUGS);
  for (const topic of json.data) expect(records.topicRecord.strict().safeParse(topic).success).toBe(true);
  expect(json.meta).toEqual({ generated_at: '2026-11-20T02:00:00+00:00', count: 13 });
});

test.each(['/v1/topics', '/v1/meta/freshness', '/v1/meta/coverage'])(
  '%s takes no parameters',
  async (path) => {
    const plain = await service.get(path);
    expect((await service.get(`${path}?region=x&limit=0&q=%ff`)).text).toBe(plain.text);
  },
);

const codes = (rows: { iso3: string }[]): string[] => rows.map(({ iso3 }) => iso3);

describe('GET /v1/countries', () => {
  test('data: country records of twelve fields, without `enabled`', async () => {
    const { json } = await service.get('/v1/countries');
    expect(json.data).toHaveLength(11);
    for (const record of json.data) {
      expect(Object.keys(record)).toHaveLength(12);
      expect(records.countryRecord.strict().safeParse(record).success).toBe(true);
    }
  });

  test('region: case-sensitive', async () => {
    const { json } = await service.get('/v1/countries?region=sub-saharan%20africa');
    expect(json.data).toEqual([]);
    expect(json.meta).toMatchObject({ count: 0, region: 'sub-saharan africa' });
  });

  test('income_group: exact match, and a null group matches nothing', async () => {
    const { json } = await service.get('/v1/countries?income_group=High%20income');
    expect(codes(json.data)).toEqual(['CUW', 'DEU', 'USA']);
    expect((await service.get('/v1/countries?income_group=')).json.data).toEqual([]);
    expect((await service.get('/v1/countries?income_group=null')).json.data).toEqual([]);
  });

  test('a filtered list has the same records as the complete one', async () => {
    const whole = (await service.get('/v1/countries')).json.data;
    const filtered = (await service.get('/v1/countries?region=North+America')).json.data;
    expect(filtered).toEqual(whole.filter(({ iso3 }: { iso3: string }) => iso3 === 'USA'));
  });
});

describe('GET /v1/countries/{iso3}', () => {
  const get = (path: string) => service.get(path, { key: owner.key });

  test('case-insensitive: lower, upper and mixed case are one request', async () => {
    const upper = await get('/v1/countries/KEN');
    expect(upper.status).toBe(200);
    for (const code of ['ken', 'Ken', 'kEN'])
      expect((await get(`/v1/countries/${code}`)).text).toBe(upper.text);
  });

  test('data: the country record plus topics', async () => {
    const { json } = await get('/v1/countries/KEN');
    const listed = (await service.get('/v1/countries')).json.data;
    const { topics, ...record } = json.data;
    expect(record).toEqual(listed.find(({ iso3 }: { iso3: string }) => iso3 === 'KEN'));
    expect(Object.keys(topics)).toEqual(['population', 'economy', 'health']);
  });

  test('a forecast is not the latest value', async () => {
    const { json } = await get('/v1/countries/KEN');
    expect(json.data.topics.population[0]).toMatchObject({ year: 2020, value: 51 });
  });

  test('a country with gaps only shows the newest observed year with null', async () => {
    const { json } = await get('/v1/countries/AFG?topic=trade');
    expect(json.data.topics.trade[0]).toMatchObject({
      indicator: 'beta.gaps_only',
      year: 2002,
      value: null,
      rank: null,
    });
  });

  test('rank is null for a series that is not ranked', async () => {
    const { json } = await get('/v1/countries/DEU?topic=governance');
    expect(json.data.topics.governance[0]).toMatchObject({ value: 2, rank: null, rank_delta_1y: null });
  });

  test('featured=false gives the complement', async () => {
    const { json } = await get('/v1/countries/KEN?featured=false');
    expect(json.meta).toMatchObject({ count: 2, featured: false });
    const whole = (await get('/v1/countries/KEN')).json.data.topics;
    const chosen = (await get('/v1/countries/KEN?featured=true')).json.data.topics;
    const sorted = (topics: object) =>
      Object.values(topics)
        .flat()
        .map((item) => item.indicator)
        .sort();
    expect(sorted(json.data.topics).concat(sorted(chosen)).sort()).toEqual(sorted(whole));
  });

  test('an unknown topic is no error: empty topics, count 0, full topic_counts, 1 credit', async () => {
    const answer = await get('/v1/countries/KEN?topic=astrology');
    expect(answer.status).toBe(200);
    expect(answer.json.data.topics).toEqual({});
    expect(answer.json.meta).toMatchObject({
      count: 0,
      topic_counts: { population: 1, economy: 1, health: 3 },
    });
    expect(answer.headers['x-credits-charged']).toBe('1');
  });

  test.each([
    ['XYZ', 'XYZ'],
    ['xyz', 'xyz'],
    ['ATA', 'ATA'],
    ['K', 'K'],
    ['KENYYA', 'KENYYA'],
    ['999', '999'],
    ['K%20N', 'K N'],
    ['%C5%BFen', 'ſen'], // its upper case would be SEN
    ['%E6%9D%B1%E4%BA%AC%E9%83%BD', '東京都'],
    ['..%2f..%2fetc', '../../etc'],
    ['constructor', 'constructor'],
  ])('404 country_not_found names the code sent: %s', async (code, named) => {
    const answer = await get(`/v1/countries/${code}`);
    expect(answer.status).toBe(404);
    expect(codeOf(answer)).toBe('country_not_found');
    expect(answer.json.error.message).toContain(`'${named}'`);
    expect(answer.headers['x-credits-charged']).toBe('0');
  });

  test.each(['KENYA', 'Republic%20of%20Kenya', 'ke', '404'])(
    'is found by any usual name and code: %s',
    async (name) => {
      const answer = await get(`/v1/countries/${name}?topic=health`);
      expect([answer.status, answer.text]).toEqual([200, (await get('/v1/countries/KEN?topic=health')).text]);
    },
  );

  test.each([
    ['KENYYA', 'Candidates: Kenya (KEN).'],
    ['Congo', 'Candidates: DR Congo (COD), Congo (COG).'],
  ])('404 country_not_found names those that may be meant: %s', async (sent, hint) => {
    expect((await get(`/v1/countries/${sent}`)).json.error.message).toBe(
      `No country has the code or name '${sent}'. ${hint}`,
    );
  });

  test('includes values of display indicators', async () => {
    const { json } = await get('/v1/countries/BRA?topic=economy');
    const ids = json.data.topics.economy.map(({ indicator }: { indicator: string }) => indicator);
    expect(ids).toContain('gamma.reserves');
  });

  test.each(['maybe', '', '2', 'tru'])('featured=%s gives 422 and costs nothing', async (value) => {
    const answer = await get(`/v1/countries/KEN?featured=${value}`);
    expect(answer.status).toBe(422);
    expect(answer.json.detail[0]).toMatchObject({ loc: ['query', 'featured'], type: 'bool_parsing' });
    expect(answer.headers['x-credits-charged']).toBe('0');
  });
});
