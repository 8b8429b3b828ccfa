/** GET /ping and GET /usage. */
import { describe, expect, test } from 'vitest';
import { NOON, useService } from './service.ts';

const service = await useService();

const DAY_MS = 86_400_000;

describe('GET /v1/ping', () => {
  test('reports key id, environment, scopes, tier and balance; free', async () => {
    const owner = await service.account({ credits: 42 });
    const answer = await service.get('/v1/ping', { key: owner.key });
    expect(answer.json.data).toEqual({
      key_id: owner.key_id,
      environment: 'live',
      scopes: ['read'],
      tier: 'free',
      balance: 42,
    });
    expect(answer.json.meta).toEqual({ generated_at: '2026-11-21T12:00:20+00:00' });
    expect(answer.headers['x-credits-charged']).toBe('0');
  });

  test('works with an empty balance', async () => {
    const { key } = await service.account({ credits: 0 });
    expect((await service.get('/v1/ping', { key })).status).toBe(200);
  });
});

describe('GET /v1/usage', () => {
  test('reports credits, totals, one entry per day, and endpoints by route, busiest first', async () => {
    const owner = await service.account({ credits: 100 });
    const get = (path: string) => service.get(path, { key: owner.key });
    await get('/v1/data?indicator=alpha.life_expectancy'); // 9 rows
    await get('/data/api/v1/rankings/alpha.life_expectancy'); // 1 credit, 11 rows
    await get('/v1/rankings/none.such'); // an error
    await get('/v1/rankings/alpha.child_mortality?year=x'); // an error
    await get('/v1/countries');
    const { json } = await get('/v1/usage?days=3');
    expect(json.meta).toEqual({ generated_at: '2026-11-21T12:00:20+00:00', days: 3 });
    expect(json.data.credits).toEqual({ balance: 90, lifetime_granted: 100, lifetime_spent: 10 });
    const quiet = { requests: 0, errors: 0, rows: 0, credits: 0 };
    const today = { requests: 6, errors: 2, rows: 20, credits: 10 };
    expect(json.data.daily).toEqual([
      { date: '2026-11-19', ...quiet },
      { date: '2026-11-20', ...quiet },
      { date: '2026-11-21', ...today },
    ]);
    expect(json.data.totals).toEqual(today);
    expect(json.data.endpoints).toEqual([
      { route: '/v1/rankings/{indicator}', requests: 3, errors: 2, rows: 11, credits: 1 },
      { route: '/v1/countries', requests: 1, errors: 0, rows: 0, credits: 0 },
      { route: '/v1/data', requests: 1, errors: 0, rows: 9, credits: 9 },
      { route: '/v1/usage', requests: 1, errors: 0, rows: 0, credits: 0 },
    ]);
  });

  test('days defaults to 30, is echoed in meta, and counts today', async () => {
    const { key } = await service.account();
    const plain = (await service.get('/v1/usage', { key })).json;
    expect(plain.meta.days).toBe(30);
    expect(plain.data.daily).toHaveLength(30);
    const today = (await service.get('/v1/usage?days=1', { key })).json;
    expect(today.data.daily.map(({ date }: { date: string }) => date)).toEqual(['2026-11-21']);
  });

  test('totals cover only the reported days', async () => {
    const { key } = await service.account();
    await service.get('/v1/countries/KEN', { key });
    service.clock.ms = NOON + 2 * DAY_MS;
    const one = (await service.get('/v1/usage?days=2', { key })).json.data;
    const all = (await service.get('/v1/usage?days=3', { key })).json.data;
    service.clock.ms = NOON;
    expect(one.totals.credits).toBe(0);
    expect(all.totals.credits).toBe(1);
    expect(all.credits).toEqual({ balance: 999, lifetime_granted: 1000, lifetime_spent: 1 });
  });

  test.each([
    ['0', 'greater_than_equal'],
    ['91', 'less_than_equal'],
    ['x', 'int_parsing'],
    ['', 'int_parsing'],
    ['1.5', 'int_parsing'],
  ])('days=%s gives 422 %s', async (days, type) => {
    const { key } = await service.account();
    const answer = await service.get(`/v1/usage?days=${days}`, { key });
    expect(answer.status).toBe(422);
    expect(answer.json.detail[0]).toMatchObject({ loc: ['query', 'days'], type });
  });

  test.each(['1', '90'])('days=%s is accepted', async (days) => {
    const { key } = await service.account();
    expect((await service.get(`/v1/usage?days=${days}`, { key })).json.data.daily).toHaveLength(Number(days));
  });
});
